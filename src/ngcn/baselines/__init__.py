"""The other rows of the paper's tables, a file each, one protocol: ``fit(graph, seed)``, ``predict_proba(graph)``.

Libraries that take long to import (scikit-learn, gensim) are imported where they are used.
"""

from ngcn.baselines.label_propagation import LabelPropagation, LabelSpreading
from ngcn.baselines.protocol import Baseline, BaselineError

BASELINES: dict[str, type[Baseline]] = {
    "lp": LabelPropagation,
    "label-spreading": LabelSpreading,
}

__all__ = ["BASELINES", "Baseline", "BaselineError", "LabelPropagation", "LabelSpreading"]

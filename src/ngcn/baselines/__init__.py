"""The other rows of the paper's tables, a file each, one protocol: ``fit(graph, seed)``, ``predict_proba(graph)``.

Libraries that take long to import (scikit-learn, gensim) are imported where they are used.
"""

from ngcn.baselines.deepwalk import DeepWalk
from ngcn.baselines.label_propagation import LabelPropagation, LabelSpreading
from ngcn.baselines.protocol import Baseline, BaselineError
from ngcn.baselines.semi_embedding import SemiEmbedding

BASELINES: dict[str, type[Baseline]] = {
    "lp": LabelPropagation,
    "label-spreading": LabelSpreading,
    "semiemb": SemiEmbedding,
    "deepwalk": DeepWalk,
}

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineError",
    "DeepWalk",
    "LabelPropagation",
    "LabelSpreading",
    "SemiEmbedding",
]

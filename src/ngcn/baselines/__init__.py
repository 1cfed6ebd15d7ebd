"""The other rows of the paper's tables, a file each, one protocol: ``fit(graph, seed)``, ``predict_proba(graph)``.

Libraries that take long to import (scikit-learn, gensim) are imported where they are used.
"""

from ngcn.baselines.deepwalk import DeepWalk
from ngcn.baselines.gcn_kipf import KipfGCN
from ngcn.baselines.ica import ICA
from ngcn.baselines.label_propagation import LabelPropagation, LabelSpreading
from ngcn.baselines.manifold import ManifoldRegularization
from ngcn.baselines.planetoid import Planetoid
from ngcn.baselines.protocol import Baseline, BaselineError
from ngcn.baselines.sampled_sage import SageLSTM, SagePool
from ngcn.baselines.semi_embedding import SemiEmbedding

BASELINES: dict[str, type[Baseline]] = {  # in the order of the paper's table
    "lp": LabelPropagation,
    "label-spreading": LabelSpreading,
    "manireg": ManifoldRegularization,
    "semiemb": SemiEmbedding,
    "deepwalk": DeepWalk,
    "ica": ICA,
    "planetoid": Planetoid,
    "gcn-kipf": KipfGCN,
    "sage-lstm": SageLSTM,
    "sage-pool": SagePool,
}

__all__ = [
    "BASELINES",
    "ICA",
    "Baseline",
    "BaselineError",
    "DeepWalk",
    "KipfGCN",
    "LabelPropagation",
    "LabelSpreading",
    "ManifoldRegularization",
    "Planetoid",
    "SageLSTM",
    "SagePool",
    "SemiEmbedding",
]

"""Feature preparation: what happens to the features of a graph before a model takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.config import Config
from ngcn.errors import GraphError
from ngcn.graph import Graph
from ngcn.memory import check_memory
from ngcn.ops import bag_of_words, normalize_rows
from ngcn.registry import MODELS, load

LONG_ROWS = 64  # features per node above which entries of 1 / (row sum) are too small to learn from; Pubmed has 50

Matrix = Any  # (nodes, features), scipy sparse or dense


class Preparation(NamedTuple):
    """How features become X. Fixed on the graph trained on, and applied alike to every other graph.

    ``how`` is one of the values of `Config.features` except auto; ``mean`` and ``deviation`` are those of standard.
    """

    how: str
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None

    def __call__(self, features: Matrix) -> Matrix:
        if self.how == "standard":
            return (_dense(features) - self.mean) / self.deviation
        return {"bag": bag_of_words, "unit": _unit, "row": normalize_rows, "none": lambda X: X}[self.how](features)


def prepare(graph: Graph, config: Config) -> Preparation:
    """The preparation that the config asks for, with auto resolved for this graph.

    auto is a bag of words for sparse and for 0/1 features, else standardisation. Sparse features with negative entries
    stay as they are: they are no bag, and standardisation would make them dense. The rows of a bag have length 1; in
    the paper's recipe they sum to 1, unless nodes have many features: that would leave little of each entry.

    Standardisation takes mean and standard deviation over all nodes but the validation and test nodes, which may belong
    to graphs that training must not see. It skips 0/1 columns, where a rare 1 would become a large number.
    """
    X, how = graph.features, config.features
    if how == "auto" and _is_sparse(X):
        how = _bag(X, config) if X.min() >= 0 else "none"
    elif how == "auto":
        how = _bag(X, config) if _is_zero_one(X) else "standard"
    if how != "standard":
        return Preparation(how)
    dense, seen = _dense(X), ~(graph.val | graph.test)
    dense = dense[seen] if seen.any() else dense
    mean, deviation = dense.mean(axis=0, dtype=np.float64), dense.std(axis=0, dtype=np.float64)
    zero_one = ((dense == 0) | (dense == 1)).all(axis=0)
    constant = deviation <= 1e-12 * np.abs(mean)  # not exactly 0, due to rounding
    mean, deviation = np.where(zero_one, 0, mean), np.where(zero_one | constant, 1, deviation)
    return Preparation(how, mean.astype(np.float32), deviation.astype(np.float32))


def ignores_values(graph: Graph, config: Config) -> bool:
    """Whether auto replaces values other than 0 and 1 by 1, which the user may not expect."""
    baseline = load(MODELS[config.model].baseline)
    if config.features != "auto" or (baseline is not None and not baseline.reads_features):
        return False
    return prepare(graph, config).how in ("bag", "unit") and not _is_zero_one(graph.features)


def _is_sparse(features: Any) -> bool:
    return sp.issparse(features) and 2 * features.count_nonzero() <= features.shape[0] * features.shape[1]


def _is_zero_one(features: Any) -> bool:
    values = features.data if sp.issparse(features) else features
    return bool(((values == 0) | (values == 1)).all())


def _bag(features: Any, config: Config) -> str:
    if config.recipe not in (None, "paper"):
        return "unit"
    entries = features.nnz if sp.issparse(features) else np.count_nonzero(features)
    return "unit" if entries > LONG_ROWS * features.shape[0] else "bag"


def _unit(features: Any) -> Any:
    from sklearn.preprocessing import normalize  # here: scikit-learn takes a second to import

    return normalize((features != 0).astype(np.float32))


def _dense(features: Any) -> np.ndarray:
    if not sp.issparse(features):
        return features
    needed = 4 * features.shape[0] * features.shape[1]
    check_memory(needed, "Standardising sparse features", "use `features='unit'`, or another of its values", GraphError)
    return features.toarray()

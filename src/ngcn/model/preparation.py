"""Feature preparation: what happens to the features of a graph before a model takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.config import Config
from ngcn.errors import GraphError
from ngcn.graph import Graph, StoredGraph, describe_missing
from ngcn.large.rows import take_rows
from ngcn.memory import check_memory
from ngcn.model.missing import column_means, fill_missing, has_missing
from ngcn.ops import normalize_rows
from ngcn.registry import MODELS, load

SAMPLE = 1 << 18  # rows of a large graph that decide how it is prepared
LONG_ROWS = 64  # features per node above which entries of 1 / (row sum) are too small to learn from; Pubmed has 50

Matrix = Any  # (nodes, features), scipy sparse or dense


class Preparation(NamedTuple):
    """How features become X. Fixed on the graph trained on, and applied alike to every other graph.

    ``how`` is one of the values of `Config.features` except auto; ``mean`` and ``deviation`` are those of standard.
    ``missing`` is `Config.missing`, and ``fill`` the mean of each column, which missing values begin with.
    """

    how: str
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None
    missing: str = "propagate"
    fill: np.ndarray | None = None

    def fits(self, features: int) -> bool:
        """Whether there is what the preparation needs, for so many features."""
        arrays = [array for array in (self.mean, self.deviation, self.fill) if array is not None]
        needed = (self.how == "standard",) * 2
        return (self.mean is not None, self.deviation is not None) == needed and all(len(a) == features for a in arrays)

    def __call__(self, features: Matrix, adjacency: Any = None, *, directed: bool = False) -> Matrix:
        """X. Missing values are propagated along the edges of ``adjacency``; without it, each is the column's mean."""
        X = _present(features) if self.how in ("bag", "unit") else features
        if has_missing(X):
            _check_may_be_missing(self.missing, X)
            means = column_means(X) if self.fill is None else self.fill
            X = fill_missing(X, means, adjacency if self.missing == "propagate" else None, directed=directed)
        if self.how == "standard":
            return (_dense(X) - self.mean) / self.deviation
        return X if self.how == "none" else _unit(X) if self.how == "unit" else normalize_rows(X)


def prepare(graph: Graph, config: Config) -> Preparation:
    """The preparation that the config asks for, with auto resolved for this graph.

    auto is a bag of words for sparse and for 0/1 features, else standardisation. Sparse features with negative entries
    stay as they are: they are no bag, and standardisation would make them dense. The rows of a bag have length 1; in
    the paper's recipe they sum to 1, unless nodes have many features: that would leave little of each entry.

    Standardisation takes mean and standard deviation over all nodes but the validation and test nodes, which may belong
    to graphs that training must not see. It skips 0/1 columns, where a rare 1 would become a large number, and the
    TF-IDF of text, likewise. Means and standard deviations are those of the known values. Of a graph on disk, they are
    taken over evenly spaced nodes.
    """
    X, seen = graph.features, ~(graph.val | graph.test)
    if isinstance(graph, StoredGraph) and graph.nodes > SAMPLE:
        rows = np.arange(0, graph.nodes, -(-graph.nodes // SAMPLE))
        X, seen = take_rows(X, rows), seen[rows]
    missing = has_missing(X)
    if missing:
        _check_may_be_missing(config.missing, X, graph)
    text = {feature for column in graph.columns for feature in column.features}
    how = _automatic(X, config, bool(text)) if config.features == "auto" else config.features
    if how != "standard" and sp.issparse(X) and not missing:  # a graph that is used later may lack columns, not entries
        return Preparation(how, missing=config.missing)
    X = X[seen] if seen.any() else X
    fill = column_means(_present(X) if how in ("bag", "unit") else X)
    if how != "standard":
        return Preparation(how, missing=config.missing, fill=fill)
    mean, deviation = _mean_and_deviation(_dense(X))
    if text:
        as_is = np.array([name in text for name in graph.feature_names])
        mean, deviation = np.where(as_is, 0, mean), np.where(as_is, 1, deviation)
    return Preparation(how, mean.astype(np.float32), deviation.astype(np.float32), config.missing, fill)


def _automatic(X: Matrix, config: Config, text: bool) -> str:
    """How features are prepared that nobody gave instructions for; ``text`` is whether TF-IDF is among them."""
    if not _is_sparse(X):
        return _bag(X, config) if _is_zero_one(X) else "standard"
    if text or np.nanmin(X.data, initial=0) < 0:
        return "none"  # TF-IDF is prepared already
    return _bag(X, config)


@np.errstate(invalid="ignore")  # infinite features are an error elsewhere
def _mean_and_deviation(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each column, over its known values; 0 and 1 for a column that is to stay as it is."""
    unknown = np.isnan(X)
    zero_one = ((X == 0) | (X == 1) | unknown).all(axis=0)
    if unknown.any():
        known = np.ma.masked_array(X, unknown)
        mean, deviation = (np.ma.filled(of(axis=0, dtype=np.float64), 0) for of in (known.mean, known.std))
    else:
        mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    constant = deviation <= 1e-12 * np.abs(mean)  # not exactly 0, due to rounding
    return np.where(zero_one, 0, mean), np.where(zero_one | constant, 1, deviation)


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
    return bool(((values == 0) | (values == 1) | np.isnan(values)).all())


def _bag(features: Any, config: Config) -> str:
    if config.recipe not in (None, "paper"):
        return "unit"
    entries = features.nnz if sp.issparse(features) else np.count_nonzero(features)
    return "unit" if entries > LONG_ROWS * features.shape[0] else "bag"


def _unit(features: Any) -> Any:
    from sklearn.preprocessing import normalize  # here: scikit-learn takes a second to import

    return normalize(features)


def _present(features: Any) -> Any:
    """1 where a node has a feature; a missing value stays unknown."""
    present = (features != 0).astype(np.float32)
    if has_missing(features):
        present = present + 0 * features  # NaN stays NaN
    return sp.csr_array(present) if sp.issparse(present) else present


def _check_may_be_missing(how: str, features: Any, graph: Graph | None = None) -> None:
    if how == "error":
        what, names = ("The graph", None) if graph is None else (graph.name, graph.feature_names)
        raise GraphError(
            f"{what} lacks feature values: {describe_missing(features, names)}; fill them in, or use "
            "`missing='propagate'` or `missing='mean'`."
        )


def _dense(features: Any) -> np.ndarray:
    if not sp.issparse(features):
        return features
    needed = 4 * features.shape[0] * features.shape[1]
    check_memory(needed, "Standardising sparse features", "use `features='unit'`, or another of its values", GraphError)
    return features.toarray()

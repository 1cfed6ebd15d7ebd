"""From a graph and a config to what the loop needs: Â, X and a fresh network."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ngcn.baselines import BASELINES
from ngcn.baselines.predictions import prediction_network
from ngcn.graph import Graph
from ngcn.nn import MODELS, Network, build_network
from ngcn.ops import Features, Operator, bag_of_words, normalize_rows
from ngcn.training.config import FILE_SETTINGS, Config, ConfigError

LONG_ROWS = 64  # features of a node from which on shares of 1 are too small to learn from; Pubmed's have 50


class Preparation(NamedTuple):
    """How features become X: ``how`` as in `Config.features` but never auto, and what standardising subtracts and
    divides by. Decided by the graph trained on; other graphs that the network is used on are prepared alike."""

    how: str
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None

    def __call__(self, features: sp.csr_array | np.ndarray) -> sp.csr_array | np.ndarray:
        if self.how == "standard":
            return (_dense(features) - self.mean) / self.deviation
        return {"bag": bag_of_words, "unit": _unit, "row": normalize_rows, "none": lambda X: X}[self.how](features)


def prepare(graph: Graph, config: Config) -> Preparation:
    """What the config says, with auto decided: a bag of words for what is sparse, in a sparse matrix with more zeros
    than not, and for 0/1; else each column standardised.

    Sparse numbers of which one is negative are no bag, and would fill up if standardised: they stay as they are.
    Where nodes have many features each, rows of a bag have length 1 instead of sum 1, which would leave little of each.
    Mean and deviation are those over all nodes but the validation and test nodes, which may be of graphs that training
    is not to see. Standardising leaves columns of 0/1 as they are: a rare value would become a large one.
    """
    X, how = graph.features, config.features
    if how == "auto" and config.model in BASELINES:
        how = BASELINES[config.model].auto_features
    if how == "auto" and _is_sparse(X):
        how = _bag(X) if X.min() >= 0 else "none"
    elif how == "auto":
        how = _bag(X) if _is_zero_one(X) else "standard"
    if how != "standard":
        return Preparation(how)
    dense, seen = _dense(X), ~(graph.val | graph.test)
    dense = dense[seen] if seen.any() else dense
    mean, deviation = dense.mean(axis=0, dtype=np.float64), dense.std(axis=0, dtype=np.float64)
    zero_one = ((dense == 0) | (dense == 1)).all(axis=0)
    constant = deviation <= 1e-12 * np.abs(mean)  # rounding leaves a little
    mean, deviation = np.where(zero_one, 0, mean), np.where(zero_one | constant, 1, deviation)
    return Preparation(how, mean.astype(np.float32), deviation.astype(np.float32))


def ignores_values(graph: Graph, config: Config) -> bool:
    """Whether auto makes a bag of features that have values of their own, which somebody may have meant to count."""
    if config.features != "auto" or (config.is_baseline and not BASELINES[config.model].reads_features):
        return False
    return prepare(graph, config).how in ("bag", "unit") and not _is_zero_one(graph.features)


def _is_sparse(features: Any) -> bool:
    return sp.issparse(features) and 2 * features.count_nonzero() <= features.shape[0] * features.shape[1]


def _is_zero_one(features: Any) -> bool:
    values = features.data if sp.issparse(features) else features
    return bool(((values == 0) | (values == 1)).all())


def _bag(features: Any) -> str:
    there = features.nnz if sp.issparse(features) else np.count_nonzero(features)
    return "unit" if there > LONG_ROWS * features.shape[0] else "bag"


def _unit(features: Any) -> Any:
    from sklearn.preprocessing import normalize

    return normalize((features != 0).astype(np.float32))


def _dense(features: Any) -> np.ndarray:
    return features.toarray() if sp.issparse(features) else features


def work(graph: Graph, config: Config) -> int:
    """How much there is to do in a step, roughly: the non-zeros of the adjacency and the features, for every tower."""
    return config.towers * int(graph.adjacency.nnz + sp.csr_array(graph.features).nnz)


def build_inputs(graph: Graph, config: Config, preparation: Preparation | None = None) -> tuple[Operator, Features]:
    """Â as the model wants it normalised, and the features as the config wants them.

    ``preparation`` is that of the graph trained on, where this is another one.
    """
    preset = MODELS.get(config.model, MODELS["gcn"])  # a baseline looks at neither
    return preset.operator(graph.adjacency), Features((preparation or prepare(graph, config))(graph.features))


def load_graph(config: Config) -> Graph:
    """The graph that the config names, with its split."""
    from ngcn.graph import load_dataset

    files = {name: getattr(config, name) for name in FILE_SETTINGS}
    return load_dataset(config.dataset, split=config.split, seed=config.seed, **files)


def neighbours_close(graph: Graph) -> Graph:
    """The graph with its nodes in an order that puts neighbours close to each other (reverse Cuthill-McKee).

    A sparse product gathers the rows of neighbours: this way they are mostly in the cache already.
    """
    return graph.reordered(_reverse_cuthill_mckee(graph.adjacency))


def _reverse_cuthill_mckee(adjacency: sp.csr_array) -> np.ndarray:
    """Component by component, from a node of least degree: breadth first, neighbours by degree; then backwards.

    Nodes of one degree stay in the order they have. In SciPy's own function that depends on the processor, and with
    it, since masks of dropout are drawn by the place of a node, what comes of a seed.
    """
    both_ways = sp.csr_array(adjacency.maximum(adjacency.T))
    by_degree = np.argsort(np.diff(both_ways.indptr), kind="stable")
    both_ways = both_ways[by_degree][:, by_degree]
    both_ways.sort_indices()  # neighbours by degree
    component = connected_components(both_ways)[1]
    starts = np.unique(component, return_index=True)[1]
    hub = len(by_degree)  # one more node, which leads to every start
    both_ways.resize(hub + 1, hub + 1)
    leads = sp.csr_array((np.ones(len(starts)), (np.full(len(starts), hub), starts)), shape=both_ways.shape)
    order = breadth_first_order(both_ways + leads, hub, return_predecessors=False)[1:]
    return by_degree[order[np.argsort(component[order], kind="stable")]][::-1]


def build(graph: Graph, config: Config) -> Network:
    """A network with fresh parameters, drawn from torch's default generator; for a baseline, one to be filled."""
    if config.model in BASELINES:
        return prediction_network(graph)
    try:
        network = build_network(
            config.model,
            graph.features.shape[1],
            graph.classes,
            powers=config.powers,
            replicas=config.replicas,
            classifier=config.classifier,
            hidden=config.hidden,
            layers=config.layers,
            dropout=config.dropout,
            multilabel=graph.multilabel,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if config.intermediate and not network.classifier.mixes_classes:
        raise ConfigError(
            "intermediate supervision needs towers that each predict the classes, and those of a fully-connected "
            "classifier do not; use attention, harmonic, linear or identity."
        )
    return network

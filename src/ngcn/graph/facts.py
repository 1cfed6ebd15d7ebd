"""`facts`: sizes of a graph, its connections and its labels, and whether neighbours share them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.graph.graph import Graph
from ngcn.graph.stored import StoredGraph
from ngcn.text import percent

MOST_COMPONENTS = 10  # in component_sizes
LARGE = 10**7  # nodes and entries of the adjacency of a graph on disk, whose components are not looked for
SAMPLE = 10**5  # of its labelled nodes
CLEAR = 0.1  # homophily differs from that of random labels if it is this share of the way to 1, or to 0


class Facts(NamedTuple):
    """What :func:`facts` finds. As text it is one or two lines for people."""

    nodes: int
    edges: int  # undirected, each counted once, self-loops included
    mean_degree: float  # the degree is the number of distinct neighbours, without the node itself
    max_degree: int
    isolated: float  # share of the nodes that have no neighbour
    components: int  # 0 for a large graph on disk: they are not counted
    largest_component: float  # share of the nodes
    labelled_edges: int  # between two different nodes that are for training or validation
    homophily: float | None  # share of these edges whose ends have the same label; None if there are none
    random_homophily: float | None  # the same, expected for these labels in random places
    labelled: int  # nodes
    train: int
    train_share: float
    rarest_class: int  # training nodes of the class that has fewest
    largest_class: int
    degrees: tuple[tuple[int, int, int], ...] = ()  # (fewest neighbours, most, nodes), in bins of powers of two
    component_sizes: tuple[int, ...] = ()  # nodes of the largest ones

    def __str__(self) -> str:
        return "\n".join(filter(None, (self._edges_text(), self._labels_text())))

    def _edges_text(self) -> str:
        nodes = _count(self.nodes, "node")
        if not self.edges:
            return f"{nodes}, no edges."
        isolated = f", none for {_share(self.isolated)} of the nodes" if self.isolated else ""
        connected = "; the graph is connected" if self.components else ""
        if self.components > 1:
            share = _share(self.largest_component)
            connected = f"; {_count(self.components, 'component')}, the largest has {share} of the nodes"
        return (
            f"{nodes}, {_count(self.edges, 'edge')}: {self.mean_degree:.1f} neighbours on average, "
            f"{self.max_degree:,} at most{isolated}{connected}."
        )

    def _labels_text(self) -> str:
        if not self.train:  # there is no split
            return f"Labels: {_count(self.labelled, 'labelled node')}." if self.labelled else ""
        few, many = f"{self.rarest_class:,}", f"{self.largest_class:,}"
        text = (
            f"Labels: {_count(self.train, 'training node')} ({_share(self.train_share)}), "
            f"{few if few == many else f'{few} to {many}'} per class."
        )
        if self.homophily is None or self.random_homophily is None:
            return text
        return (
            f"{text} Homophily {self.homophily:.2f} over {_count(self.labelled_edges, 'edge')} "
            f"({self.random_homophily:.2f} if labels were random): neighbours "
            f"{_meaning(self.homophily, self.random_homophily)}."
        )


def facts(graph: Graph) -> Facts:
    r"""Return facts about a graph that help to choose a model. Labels of test nodes are not used.

    The homophily is the share of edges whose two ends have the same label, over the edges between two nodes that are
    for training or validation. If the same labels were in random places, it would be :math:`\sum_c p_c^2`, with
    :math:`p_c` the share of class c among the ends of these edges. Multi-label nodes share
    :math:`|Y_u \cap Y_v| / |Y_u \cup Y_v|`, on average over the edges with a label at either end; for random places,
    the ends of the edges are shuffled.

    Example:
        >>> from ngcn import load_dataset
        >>> print(facts(load_dataset("cora")))  # doctest: +NORMALIZE_WHITESPACE
        2,708 nodes, 5,278 edges: 3.9 neighbours on average, 168 at most; 78 components, the largest has 92 % of the
        nodes.
        Labels: 140 training nodes (5 %), 20 per class. Homophily 0.82 over 345 edges (0.16 if labels were random):
        neighbours mostly share their class.
    """
    if isinstance(graph, StoredGraph) and graph.nodes + graph.adjacency.nnz > LARGE:
        return _large(graph)
    from scipy.sparse.csgraph import connected_components  # here: its import takes a while

    pattern: Any = graph.adjacency.astype(bool)
    once = sp.triu(pattern + pattern.T, k=1)  # every edge, in one direction
    u, v = once.row, once.col
    degrees = np.bincount(u, minlength=graph.nodes) + np.bincount(v, minlength=graph.nodes)
    components, component = connected_components(once, directed=False)
    known = graph.train | graph.val
    labelled = known[u] & known[v]
    same, at_random = (_same_sets if graph.multilabel else _same_classes)(graph.labels, u[labelled], v[labelled])
    connected = np.sort(np.bincount(component))[::-1]
    return Facts(
        nodes=graph.nodes,
        edges=len(u) + int(pattern.diagonal().sum()),
        mean_degree=float(degrees.mean()),
        max_degree=int(degrees.max()),
        isolated=float((degrees == 0).mean()),
        components=components,
        largest_component=float(connected[0] / graph.nodes),
        labelled_edges=int(labelled.sum()),
        homophily=same,
        random_homophily=at_random,
        **_of_labels(graph),
        degrees=_bins(degrees),
        component_sizes=tuple(connected[:MOST_COMPONENTS].tolist()),
    )


def _large(graph: StoredGraph) -> Facts:
    """The facts that take neither much memory nor much time: homophily is that of some of the labelled nodes."""
    indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
    degrees, known = np.diff(indptr), graph.train | graph.val
    some = np.flatnonzero(known)
    some = some[:: -(-len(some) // SAMPLE)] if len(some) else some
    u = np.repeat(some, degrees[some])
    v = np.concatenate([indices[:0], *(indices[indptr[node] : indptr[node + 1]] for node in some)])
    labelled = known[v]
    same, at_random = (_same_sets if graph.multilabel else _same_classes)(graph.labels, u[labelled], v[labelled])
    return Facts(
        nodes=graph.nodes,
        edges=graph.edges,
        mean_degree=float(degrees.mean()),
        max_degree=int(degrees.max()),
        isolated=float((degrees == 0).mean()),
        components=0,
        largest_component=0.0,
        labelled_edges=int(labelled.sum()),
        homophily=same,
        random_homophily=at_random,
        **_of_labels(graph),
        degrees=_bins(degrees),
    )


def _of_labels(graph: Graph) -> dict[str, Any]:
    labels = graph.labels[graph.train]
    sizes = labels.sum(axis=0) if graph.multilabel else np.bincount(labels, minlength=graph.classes)
    return {
        "labelled": graph.nodes - int(graph.unlabelled.sum()),
        "train": len(labels),
        "train_share": len(labels) / graph.nodes,
        "rarest_class": int(sizes.min(initial=len(labels))),  # a graph may have no classes
        "largest_class": int(sizes.max(initial=0)),
    }


def _bins(degrees: np.ndarray) -> tuple[tuple[int, int, int], ...]:
    """The number of nodes by degree: 0, 1, 2, 3 to 4, 5 to 8, ...

    >>> _bins(np.array([1, 1, 6]))
    ((0, 0, 0), (1, 1, 2), (2, 2, 0), (3, 4, 0), (5, 8, 1))
    """
    exponents = np.ceil(np.log2(np.maximum(degrees, 1))).astype(int) + (degrees > 0)  # 0 for 0, 1 for 1, 2 for 2, ...
    ends = [0, *(2**k for k in range(exponents.max()))]
    starts = [0, *(end + 1 for end in ends)]
    return tuple(zip(starts, ends, np.bincount(exponents).tolist(), strict=False))


def _same_classes(labels: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[float | None, float | None]:
    """Return the homophily of edges from u to v, and the expected one for random places."""
    if not len(u):
        return None, None
    ends = np.bincount(np.concatenate([labels[u], labels[v]]))
    return float((labels[u] == labels[v]).mean()), float(((ends / ends.sum()) ** 2).sum())


def _same_sets(labels: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[float | None, float | None]:
    """The same for multi-label nodes."""
    bits = np.packbits(labels != 0, axis=1)  # so that many edges fit into memory
    ones = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)  # in a byte
    sizes = ones[bits].sum(axis=1)

    def overlap(a: np.ndarray, b: np.ndarray) -> float | None:
        both = ones[bits[a] & bits[b]].sum(axis=1)
        either = sizes[a] + sizes[b] - both
        return float((both[either > 0] / either[either > 0]).mean()) if either.any() else None

    return overlap(u, v), overlap(u, np.random.default_rng(0).permutation(v))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _share(share: float) -> str:
    """In percent, with a decimal where it would be rounded to 0 or 100."""
    return percent(share, 1 if 0 < share < 0.01 or 0.99 < share < 1 else 0)


def _meaning(homophily: float, at_random: float) -> str:
    if at_random - homophily > CLEAR * at_random:
        return "mostly differ in class" if homophily < 0.5 else "differ in class more often than at random"
    if homophily - at_random > CLEAR * (1 - at_random):
        return "mostly share their class" if homophily > 0.5 else "share their class more often than at random"
    return "hardly tell the class"


def is_identity(graph: Graph) -> bool:
    """Whether every node is a feature of its own, as in a graph without features."""
    X: Any = graph.features
    return bool(X.shape[0] == X.shape[1] == X.nnz and (X.diagonal() == 1).all()) if sp.issparse(X) else False

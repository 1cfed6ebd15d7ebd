"""`Neighbourhood`: what lies around a node of a large graph, small enough to be explained in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.graph import Graph, StoredGraph
from ngcn.large import Links, links_of, sampled_kinds
from ngcn.large.rows import take_rows
from ngcn.model import Model
from ngcn.nn.mixed import Mixed
from ngcn.ops import Features, Operator, Operators

MOST = 20_000  # nodes
HOPS = 8  # at most


class Neighbourhood:
    """The nodes nearest to some nodes, with rows of Â as in the whole graph: only what lies further away is missing.

    Args:
        model: the model to explain.
        graph: the graph.
        nodes: whose neighbourhood.

    Attributes:
        graph: the neighbourhood as a graph.
        nodes: the numbers of its nodes in the whole graph, ascending.
        inputs: Â and X.
    """

    def __init__(self, model: Model, graph: StoredGraph, nodes: np.ndarray) -> None:
        self.nodes = _nearest(graph, nodes)
        A = _between(graph, self.nodes)
        of_nodes = ("labels", "train", "val", "test", "node_ids")
        of_graph = ("class_names", "feature_names", "name", "node_columns")
        fields: dict[str, Any] = {name: np.array(getattr(graph, name)[self.nodes]) for name in of_nodes}
        fields |= {name: getattr(graph, name) for name in of_graph}
        X = take_rows(graph.features, self.nodes)
        self.graph = Graph(A, X, **fields)
        self.inputs = _operator(model, links_of(graph), A, self.nodes), Features(model.card.preparation(X, A))

    def position(self, node: int) -> int:
        """The position of a node of the whole graph."""
        return int(np.searchsorted(self.nodes, node))


def _nearest(graph: StoredGraph, nodes: np.ndarray) -> np.ndarray:
    """The nodes within some hops; of the last hop some, if there are too many."""
    indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
    found = ring = np.unique(nodes)
    for _ in range(HOPS):
        lists = [indices[indptr[node] : indptr[node + 1]] for node in ring]
        ring = np.setdiff1d(np.concatenate([indices[:0], *lists]), found)
        if len(found) + len(ring) > MOST:
            kept = np.random.default_rng(0).permutation(ring)[: max(0, MOST - len(found))]
            return np.sort(np.concatenate([found, kept]))
        if not len(ring):
            break
        found = np.union1d(found, ring)
    return found


def _between(graph: StoredGraph, nodes: np.ndarray) -> sp.csr_array:
    """The edges between some nodes."""
    A: Any = take_rows(graph.adjacency, nodes)
    place = np.minimum(np.searchsorted(nodes, A.indices), len(nodes) - 1)
    inside = nodes[place] == A.indices
    row = np.repeat(np.arange(len(nodes)), np.diff(A.indptr))
    return sp.csr_array((A.data[inside], (row[inside], place[inside])), shape=(len(nodes), len(nodes)))


def _operator(model: Model, links: Links, A: sp.csr_array, nodes: np.ndarray) -> Operator | Operators:
    """The operators between the nodes, with the degrees that they have in the whole graph."""
    found = Operators(A)
    for how, _ in sampled_kinds(model.network):
        inner, outer = links.scales(how)
        loops = A if how == "walk" else A + sp.eye_array(len(nodes))
        scaled = sp.diags_array(outer[nodes]) @ loops
        scaled = scaled if inner is None else scaled @ sp.diags_array(inner[nodes])
        found[how] = Operator(sp.csr_array(scaled, dtype=np.float32), symmetric=how == "symmetric")
    return found if isinstance(model.network.graph_models, Mixed) else found[model.network.normalization]

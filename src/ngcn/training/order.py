"""The order of nodes that makes sparse products fast."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ngcn.graph import Graph


def neighbours_close(graph: Graph) -> Graph:
    """The graph with its nodes in reverse Cuthill-McKee order, which puts neighbours close to each other.

    A sparse product gathers the rows of neighbours; in this order most of them are in the cache already.
    """
    return graph.reordered(reverse_cuthill_mckee(graph.adjacency))


def reverse_cuthill_mckee(adjacency: sp.csr_array) -> np.ndarray:
    """Component by component, from a node of least degree: breadth first, neighbours by degree; then reversed.

    Nodes of equal degree keep their order. In SciPy's own function that order depends on the processor, and so would
    the result of a seed, because the dropout mask of a node depends on its position.
    """
    both_ways = sp.csr_array(adjacency.maximum(adjacency.T))
    by_degree = np.argsort(np.diff(both_ways.indptr), kind="stable")
    both_ways = both_ways[by_degree][:, by_degree]
    both_ways.sort_indices()  # neighbours by degree
    component = connected_components(both_ways)[1]
    starts = np.unique(component, return_index=True)[1]
    hub = len(by_degree)  # an extra node with an edge to every start
    both_ways.resize(hub + 1, hub + 1)
    leads = sp.csr_array((np.ones(len(starts)), (np.full(len(starts), hub), starts)), shape=both_ways.shape)
    order = breadth_first_order(both_ways + leads, hub, return_predecessors=False)[1:]
    return by_degree[order[np.argsort(component[order], kind="stable")]][::-1]

"""Adjacency matrices from pairs of nodes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def one_way(sources: np.ndarray, targets: np.ndarray, nodes: int, weights: np.ndarray | None = None) -> sp.csr_array:
    """Return the adjacency of directed edges. The weights of repeated edges add up; without weights, each is 1."""
    given = np.ones(len(sources), np.float32) if weights is None else weights
    adjacency = sp.csr_array((given, (sources, targets)), shape=(nodes, nodes))
    adjacency.sum_duplicates()
    if weights is None:
        adjacency.data[:] = 1
    return adjacency


def both_ways(sources: np.ndarray, targets: np.ndarray, nodes: int) -> sp.csr_array:
    """Return the symmetric 0/1 adjacency of undirected edges. Edges may be repeated in either direction.

    Example:
        >>> both_ways(np.array([0, 1, 0]), np.array([1, 0, 1]), nodes=2).toarray()
        array([[0., 1.],
               [1., 0.]], dtype=float32)
    """
    adjacency = one_way(sources, targets, nodes)
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1
    return adjacency

"""From pairs of nodes to an adjacency."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def both_ways(sources: np.ndarray, targets: np.ndarray, nodes: int) -> sp.csr_array:
    """1 for every pair that is named, in whatever order and however often.

    Example:
        >>> both_ways(np.array([0, 1, 0]), np.array([1, 0, 1]), nodes=2).toarray()
        array([[0., 1.],
               [1., 0.]], dtype=float32)
    """
    one_way = sp.csr_array((np.ones(len(sources), np.float32), (sources, targets)), shape=(nodes, nodes))
    adjacency = one_way + one_way.T
    adjacency.data[:] = 1
    return adjacency

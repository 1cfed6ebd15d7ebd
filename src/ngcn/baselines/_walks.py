"""Random walks from many nodes at once, uniform or with node2vec's p and q. Compiled.

Each walk has its own random stream, derived from the seed and the index of the walk. The result does not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ngcn.ops.cpu.compile import helper, kernel
from ngcn.ops.cpu.walk_kernels import mix64, uniform

U64 = np.uint64


def random_walks(
    adjacency: sp.csr_array, starts: np.ndarray, length: int, seed: int, *, p: float = 1.0, q: float = 1.0
) -> np.ndarray:
    r"""A walk of ``length`` nodes from each of ``starts``, along edges in proportion to their weights.

    If the walk is at v and came from t, the probability of the next node x is proportional to

    .. math::
        w_{vx} \cdot (1/p \text{ if } x = t,\; 1 \text{ if } t \text{ and } x \text{ are neighbours},\; 1/q
        \text{ otherwise})

    (Grover and Leskovec, *node2vec*, 2016); p = q = 1 is the plain walk of DeepWalk. The adjacency is symmetric.

    Returns:
        ``(walks, length)`` node numbers, including the start; a walk from a node without edges stays there.

    Example:
        >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> random_walks(path, np.array([0, 2]), length=2, seed=0)
        array([[0, 1],
               [2, 1]], dtype=int32)
    """
    A = adjacency.sorted_indices()
    walks = np.empty((len(starts), length), np.int32)
    walks[:, 0] = starts
    ends = np.concatenate([[0.0], np.cumsum(A.data, dtype=np.float64)])  # cumulative weights
    key = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    _walk(-(-len(starts) // 64), (A.indptr, A.indices, ends, key, np.array([1 / p, 1 / q]), walks))
    return walks


@helper
def _factor(x: int, t: int, indptr: np.ndarray, indices: np.ndarray, factors: np.ndarray) -> float:
    """The factor of x after t, see :func:`random_walks`."""
    if x == t:
        return factors[0]
    place = indptr[t] + np.searchsorted(indices[indptr[t] : indptr[t + 1]], x)
    return 1.0 if place < indptr[t + 1] and indices[place] == x else factors[1]


@kernel
def _walk(
    share: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    ends: np.ndarray,
    key: np.ndarray,
    factors: np.ndarray,
    walks: np.ndarray,
) -> None:
    """``ends[e]`` is the sum of the weights before edge e. Steps of node2vec use rejection sampling: a plain step is
    accepted with a probability proportional to its factor. This needs no tables of pairs of edges."""
    most = max(1.0, factors[0], factors[1])
    plain = factors[0] == 1.0 and factors[1] == 1.0
    for w in range(64 * share, min(walks.shape[0], 64 * share + 64)):
        stream = mix64(U64(key[0] + mix64(U64(w))))
        draw = 0
        v = walks[w, 0]
        for step in range(1, walks.shape[1]):
            begin, end = indptr[v], indptr[v + 1]
            if begin == end:
                walks[w, step] = v
                continue
            while True:
                target = ends[begin] + uniform(stream, draw) * (ends[end] - ends[begin])
                x = indices[begin + np.searchsorted(ends[begin + 1 : end], target, side="right")]
                draw += 1
                if step == 1 or plain:
                    break
                kept = uniform(stream, draw) * most < _factor(x, walks[w, step - 2], indptr, indices, factors)
                draw += 1
                if kept:
                    break
            v = walks[w, step] = x

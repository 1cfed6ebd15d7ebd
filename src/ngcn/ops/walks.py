"""`Walks`: random walks that estimate rows of the powers of Â, at a cost that does not depend on the graph's size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.errors import ConfigError
from ngcn.ops.cpu import walk_kernels

WALKED = ("symmetric", "row", "walk")  # the operators whose powers are transition matrices, up to scale


class Rows(NamedTuple):
    """Estimated rows of a power of Â, a row for each of some nodes.

    Args:
        columns: ``(nodes, walks)`` the columns of the entries; a column may occur several times.
        entries: ``(nodes, walks)``.
    """

    columns: np.ndarray
    entries: np.ndarray


class Walks:
    r"""Random walks from nodes of a graph.

    With :math:`T = D^{-1} A`, entry (i, j) of :math:`\hat{A}^k = D^{1/2} T^k D^{-1/2}` is
    :math:`\sqrt{d_i / d_j}` times the probability that a walk of k hops from i ends at j. So the mean over walks of
    that factor, in the column where the walk is after k hops, is an unbiased estimate of row i. One walk serves all
    powers. For the row-stochastic operators the factor is 1; the row of an isolated node of ``"walk"`` is 0.

    Args:
        adjacency: ``(nodes, nodes)`` symmetric edge weights, see :func:`ngcn.ops.undirected`. The diagonal is ignored.
        normalization: ``"symmetric"``, ``"row"`` or ``"walk"``, as in :func:`ngcn.ops.normalize`.
        degrees: the sums of the rows of an adjacency without a diagonal; they are computed if not given.

    Example:
        >>> walks = Walks(sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]])), "walk")
        >>> walks.stops(np.array([0]), walks=1, hops=3, key=(0, 0))
        array([[[0, 1, 0, 1]]], dtype=int32)
    """

    def __init__(
        self, adjacency: sp.csr_array, normalization: str = "symmetric", degrees: np.ndarray | None = None
    ) -> None:
        if normalization not in WALKED:
            raise ConfigError(f"Random walks estimate the operators {', '.join(WALKED)}, not {normalization!r}.")
        A: Any = adjacency
        self.normalization, self.loops = normalization, int(normalization != "walk")
        self.indptr, self.indices = A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
        self.ends = np.zeros(0)
        shares = -(-A.shape[0] // walk_kernels.BLOCK)
        uniform = A.data.strides == (0,) or bool((A.data == 1).all())  # strides of 0: a stored graph without weights
        if not uniform:
            self.ends = np.empty(len(A.data))
            walk_kernels.cumulative(shares, (self.indptr, self.indices, A.data, self.ends))
        self.degrees = self._degrees(A, uniform) if degrees is None else degrees

    def _degrees(self, A: Any, uniform: bool) -> np.ndarray:
        """``(nodes,)`` the sums of the rows of A without its diagonal."""
        count = np.diff(self.indptr)
        if uniform:
            return count - (A.diagonal() != 0)
        last = self.ends[np.maximum(self.indptr[1:] - 1, 0)]
        return np.where(count > 0, last, 0)

    def stops(self, nodes: np.ndarray, walks: int, hops: int, key: tuple[int, int]) -> np.ndarray:
        """The nodes of ``walks`` walks from each of ``nodes``: ``(nodes, walks, hops + 1)``, with the node itself.

        A walk depends on the key, its number and the node where it begins: not on the other nodes, nor on threads.
        """
        stops = np.empty((len(nodes), walks, hops + 1), np.int32)
        words = np.random.SeedSequence(key).generate_state(1, np.uint64)
        shares = -(-len(nodes) * walks // walk_kernels.BLOCK)
        starts = np.ascontiguousarray(nodes, np.int64)
        walk_kernels.walk(shares, (self.indptr, self.indices, self.ends, words, starts, stops), self.loops)
        return stops

    def rows(self, stops: np.ndarray, k: int) -> Rows:
        r"""The rows of :math:`\hat{A}^k` that walks estimate, given what :meth:`stops` returned."""
        at, walks = stops[:, :, k], stops.shape[1]
        if self.normalization == "symmetric":
            factor = np.sqrt((self.degrees[stops[:, :, 0]] + 1) / (self.degrees[at] + 1))
        elif self.normalization == "walk" and k > 0:
            factor = np.where(self.degrees[stops[:, :, 0]] > 0, 1.0, 0.0)
        else:
            factor = np.ones(at.shape)
        return Rows(at, (factor / walks).astype(np.float32))

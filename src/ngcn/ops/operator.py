"""`Operator`: the sparse matrix Â, ready for the kernels, and `Power`: one of its powers, never formed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor


class Operator:
    """A normalised adjacency Â in CSR form: row v says what flows into node v.

    Args:
        matrix: ``(nodes, nodes)``.
        symmetric: Â equals its transpose, so that backward need not keep another copy.
    """

    def __init__(self, matrix: sp.csr_array, *, symmetric: bool = False) -> None:
        self.matrix = sp.csr_array(matrix)
        self.matrix.sort_indices()
        self.symmetric = symmetric
        self._distances: dict[tuple[str, bytes, int], np.ndarray] = {}
        self._powers: dict[tuple[int, int | None], sp.csr_array] = {}

    @property
    def nodes(self) -> int:
        return self.matrix.shape[0]

    @cached_property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(indptr, indices, weights)`` as the kernels take them."""
        return (
            self.matrix.indptr.astype(np.int64),
            self.matrix.indices.astype(np.int32),
            np.ascontiguousarray(self.matrix.data),
        )

    @cached_property
    def T(self) -> Operator:
        return self if self.symmetric else Operator(self.matrix.T.tocsr())

    def double(self) -> Operator:
        """The same operator with weights in float64."""
        return Operator(self.matrix.astype(np.float64), symmetric=self.symmetric)

    def power(self, k: int) -> Power:
        return Power(self, k)

    def distances(self, rows: np.ndarray, most: int) -> np.ndarray:
        """How many hops each node is away from the nearest of `rows`, along what flows into them; `most` at most."""
        key = (rows.dtype.str, rows.tobytes(), most)
        if key not in self._distances:
            inflow = self.T.matrix != 0
            reached = np.zeros(self.nodes, dtype=bool)
            reached[rows] = True
            distance = np.where(reached, 0, most).astype(np.int32)
            for hops in range(1, most):
                now = reached | (inflow @ reached)
                distance[now & ~reached] = hops
                reached = now
            if len(self._distances) == 16:  # somebody asks for ever different rows: keep the newest
                del self._distances[next(iter(self._distances))]
            self._distances[key] = distance
        return self._distances[key]

    @cached_property
    def all_wanted(self) -> np.ndarray:
        """The distances where every row is wanted: always the same array, which others remember work by."""
        return np.zeros(self.nodes, np.int32)

    def __repr__(self) -> str:
        return f"Operator(nodes={self.nodes}, entries={self.matrix.nnz}, symmetric={self.symmetric})"


@dataclass(frozen=True)
class Power:
    """Â^k as a graph model of the user's own sees it: a matrix to multiply with, formed only when asked for.

    Example:
        >>> from ngcn.ops import normalize
        >>> A_hat = normalize(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), "row")
        >>> A_hat.power(3) @ torch.eye(2)
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """

    operator: Operator
    k: int

    def __matmul__(self, Z: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes columns"]:
        from ngcn.ops.propagate import propagate  # an operation on operators: it imports this file

        return propagate(self.operator, Z[None], (self.k,))[0]

    def matrix(self, largest: int | None = None) -> sp.csr_array:
        """Â^k itself, which is dense for large k; with `largest`, only so many of the largest entries of each row."""
        known = self.operator._powers
        if (self.k, largest) not in known:
            A = self.operator.matrix
            result = sp.csr_array(sp.eye_array(A.shape[0], dtype=A.dtype))
            for _ in range(self.k):
                result = sp.csr_array(A @ result)
            known[self.k, largest] = result if largest is None else _largest_of_each_row(result, largest)
        return known[self.k, largest]

    def edges(self, largest: int | None = None) -> tuple[Int[Tensor, "2 edges"], Float[Tensor, " edges"]]:
        """Â^k as PyG's ``(edge_index, edge_weight)``: an edge from u to v for the entry in row v, column u."""
        entries = self.matrix(largest).tocoo()
        return torch.from_numpy(np.stack([entries.col, entries.row]).astype(np.int64)), torch.from_numpy(entries.data)


def _largest_of_each_row(matrix: sp.csr_array, keep: int) -> sp.csr_array:
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((-abs(matrix.data), row))
    rank = np.arange(len(row)) - matrix.indptr[row[order]]
    kept = np.sort(order[rank < keep])
    return sp.csr_array((matrix.data[kept], (row[kept], matrix.indices[kept])), shape=matrix.shape)

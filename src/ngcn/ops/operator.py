"""`Operator`, the sparse matrix Â; `propagate`, products with its powers; and `Power`, one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ngcn.ops._checks import FLOATS, checked, checked_reach
from ngcn.ops.backend import backend
from ngcn.ops.reach import Reach


class Operator:
    """A normalised adjacency Â in CSR form. Row v has the weights of what flows into node v.

    Args:
        matrix: ``(nodes, nodes)``.
        symmetric: Â equals its transpose, so that the backward pass needs no second copy.

    Attributes:
        matrix: Â as a scipy matrix.
        cache: what operators derive from Â and use again.

    Example:
        >>> from ngcn import load_dataset, normalize
        >>> A_hat = normalize(load_dataset("cora").adjacency)
        >>> A_hat.nodes, A_hat.symmetric, (A_hat.power(2) @ torch.ones(2708, 1)).shape
        (2708, True, torch.Size([2708, 1]))
    """

    def __init__(self, matrix: sp.csr_array, *, symmetric: bool = False) -> None:
        self.matrix = sp.csr_array(matrix)
        self.matrix.sort_indices()
        self.symmetric = symmetric
        self.cache: dict[str, Any] = {}

    @property
    def nodes(self) -> int:
        return self.matrix.shape[0]

    @cached_property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(indptr, indices, weights)`` with the types that the kernels take."""
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
        """The number of hops from each node to the nearest of `rows`, in the direction of the flow; at most `most`."""
        inflow = self.T.matrix != 0
        reached = np.zeros(self.nodes, dtype=bool)
        reached[rows] = True
        distance = np.where(reached, 0, most).astype(np.int32)
        for hops in range(1, most):
            now = reached | (inflow @ reached)
            distance[now & ~reached] = hops
            reached = now
        return distance

    def __repr__(self) -> str:
        return f"Operator(nodes={self.nodes}, entries={self.matrix.nnz}, symmetric={self.symmetric})"


def propagate(
    A_hat: Operator, Z: Float[Tensor, "powers nodes columns"], powers: tuple[int, ...], reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r"""Multiply block p by :math:`\hat{A}^{k_p}`, without forming a power.

    .. math:: (Z_0, Z_1, \dots) \;\mapsto\; (\hat{A}^{k_0} Z_0, \hat{A}^{k_1} Z_1, \dots)

    Args:
        A_hat: the operator.
        Z: a block for each power, its towers side by side.
        powers: the power of each block, ascending.
        reach: the rows that are wanted, by default all. Other rows are zero.

    Example:
        >>> A_hat = Operator(sp.csr_array(np.array([[0.0, 1.0], [0.5, 0.5]], dtype=np.float32)))
        >>> propagate(A_hat, torch.tensor([[[1.0], [2.0]]]).expand(3, 2, 1), (0, 1, 2)).squeeze()
        tensor([[1.0000, 2.0000],
                [2.0000, 1.5000],
                [1.5000, 1.7500]])
    """
    Z = checked("Z", Z, (len(powers), A_hat.nodes, None), FLOATS[A_hat.matrix.dtype])
    reach = checked_reach("Z", reach or Reach.of(A_hat, None, powers), len(Z), A_hat.nodes)
    result: Tensor = backend(Z).propagate(A_hat, Z, powers, reach)
    return result


@dataclass(frozen=True)
class Power:
    """Â^k, for graph models: a matrix to multiply with. It is formed only when asked for.

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
        return propagate(self.operator, Z[None], (self.k,))[0]

    def matrix(self, largest: int | None = None) -> sp.csr_array:
        """Â^k itself, which is dense for large k. With `largest`, keep that many of the largest entries per row."""
        cache = self.operator.cache.setdefault("powers", {})
        if (self.k, largest) not in cache:
            A = self.operator.matrix
            result = sp.csr_array(sp.eye_array(A.shape[0], dtype=A.dtype))
            for _ in range(self.k):
                result = sp.csr_array(A @ result)
            cache[self.k, largest] = result if largest is None else _largest_of_each_row(result, largest)
        return cache[self.k, largest]

    def edges(
        self, largest: int | None = None, device: torch.device | str | None = None
    ) -> tuple[Int[Tensor, "2 edges"], Float[Tensor, " edges"]]:
        """Â^k as PyG's ``(edge_index, edge_weight)``: an edge from u to v for the entry in row v, column u.

        Args:
            largest: keep that many of the largest entries per row, by default all.
            device: where to put the tensors, by default the CPU.
        """
        entries = self.matrix(largest).tocoo()
        edge_index = torch.from_numpy(np.stack([entries.col, entries.row]).astype(np.int64))
        return edge_index.to(device), torch.from_numpy(entries.data).to(device)


def _largest_of_each_row(matrix: sp.csr_array, keep: int) -> sp.csr_array:
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((-abs(matrix.data), row))
    rank = np.arange(len(row)) - matrix.indptr[row[order]]
    kept = np.sort(order[rank < keep])
    return sp.csr_array((matrix.data[kept], (row[kept], matrix.indices[kept])), shape=matrix.shape)

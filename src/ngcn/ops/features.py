"""`Features`: the input X, and X W for all towers with dropout on X, each tower with a mask of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops._compile import BLOCK
from ngcn.ops._memory import empty
from ngcn.ops._sparse_kernels import blocks_to_wide, sparse_times_towers, wide_to_blocks
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach


class Features:
    """The node features X in CSR form and its transpose, with the non-zeros numbered alike in both.

    Args:
        matrix: ``(nodes, features)``, scipy sparse or dense.
    """

    def __init__(self, matrix: sp.csr_array | np.ndarray) -> None:
        X = sp.csr_array(matrix)
        self.shape: tuple[int, int] = X.shape
        self.matrix = X
        # Each is (parts, indptr, indices, values, number of the entry), as `sparse_times_towers` takes it.
        self.rows = (1, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, np.arange(X.nnz))
        self.columns = _transposed_in_parts(X, rows_per_part=1024)

    def dense(self) -> Float[Tensor, "nodes features"]:
        return torch.from_numpy(self.matrix.toarray())

    def double(self) -> Features:
        """The same features in float64."""
        return Features(self.matrix.astype(np.float64))

    def times(
        self,
        W: Float[Tensor, "features columns"],
        powers: int,
        replicas: int,
        dropout: Dropout = NONE,
        reach: Reach | None = None,
    ) -> Float[Tensor, "powers nodes columns_of_power"]:
        r"""The product :math:`\mathrm{drop}_t(X) W_t` for each tower t, in a block per power.

        Example:
            >>> X = Features(np.array([[1.0, 0.0], [0.0, 2.0]]))
            >>> X.times(torch.ones(2, 3, dtype=torch.float64), powers=3, replicas=1)[2]
            tensor([[1.],
                    [2.]], dtype=torch.float64)
        """
        if reach is None:
            reach = Reach(np.zeros(self.shape[0], dtype=np.int32), (1,) * powers, layers=1)
        result: Tensor = _Times.apply(W, self, powers, replicas, dropout, reach)
        return result

    def __repr__(self) -> str:
        return f"Features(nodes={self.shape[0]}, features={self.shape[1]}, entries={self.matrix.nnz})"


def _transposed_in_parts(X: sp.csr_array, rows_per_part: int) -> tuple[Any, ...]:
    """X^T for the weight gradient X^T G, in vertical parts: the rows of G that a part needs fit into the cache."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    parts = -(-X.shape[0] // rows_per_part)
    line = row // rows_per_part * X.shape[1] + X.indices  # of the stacked CSR matrices
    order = np.argsort(line, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=parts * X.shape[1]))])
    return parts, indptr, row[order].astype(np.int32), X.data[order], order


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, X: Features, powers: int, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        nodes, features = X.shape
        mask = powers * replicas, dropout.key, dropout.keep
        first_tower = reach.first_block * replicas
        ctx.settings = X, mask, reach.distance, first_tower
        wide = empty((nodes, W.shape[1]), X.matrix.dtype)
        everywhere = np.zeros(features, dtype=np.int32)
        shares = -(-nodes // BLOCK)
        sparse_times_towers(*X.rows, W.detach().numpy(), wide, *mask, reach.distance, everywhere, first_tower, shares)
        out = empty((powers, nodes, W.shape[1] // powers), wide.dtype)
        wide_to_blocks(wide, out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, mask, distance, first_tower = ctx.settings
        blocks = grads[0].contiguous().numpy()
        powers, nodes, columns = blocks.shape
        G = empty((nodes, powers * columns), blocks.dtype)
        blocks_to_wide(blocks, G)
        out = empty((X.shape[1], powers * columns), G.dtype)
        everywhere = np.zeros(X.shape[1], dtype=np.int32)
        sparse_times_towers(*X.columns, G, out, *mask, everywhere, distance, first_tower, torch.get_num_threads())
        return torch.from_numpy(out), None, None, None, None, None

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
from ngcn.ops._sparse_kernels import sparse_times_towers
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
        # Each is (blocks, indptr, indices, values, number of the entry), as `sparse_times_towers` takes it.
        self.rows = (1, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, np.arange(X.nnz))
        self.columns = _transposed_in_blocks(X, rows_per_block=1024)

    def dense(self) -> Float[Tensor, "nodes features"]:
        return torch.from_numpy(self.matrix.toarray())

    def double(self) -> Features:
        """The same features in float64."""
        return Features(self.matrix.astype(np.float64))

    def times(
        self,
        W: Float[Tensor, "features columns"],
        towers: tuple[int, ...],
        dropout: Dropout = NONE,
        reach: Reach | None = None,
    ) -> Float[Tensor, "nodes columns"]:
        r"""The product :math:`[\,\mathrm{drop}_0(X) W_0 \mid \mathrm{drop}_1(X) W_1 \mid \dots\,]` over all towers.

        Example:
            >>> X = Features(np.array([[1.0, 0.0], [0.0, 2.0]]))
            >>> X.times(torch.ones(2, 3, dtype=torch.float64), (0, 1, 2))
            tensor([[1., 1., 1.],
                    [2., 2., 2.]], dtype=torch.float64)
        """
        if reach is None:
            reach = Reach(np.zeros(self.shape[0], dtype=np.uint8), layers=1)
        result: Tensor = _Times.apply(W, self, towers, dropout, reach)
        return result

    def __repr__(self) -> str:
        return f"Features(nodes={self.shape[0]}, features={self.shape[1]}, entries={self.matrix.nnz})"


def _transposed_in_blocks(X: sp.csr_array, rows_per_block: int) -> tuple[Any, ...]:
    """X^T for the weight gradient X^T G, in vertical blocks: the rows of G that a block needs fit into the cache."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    block = row // rows_per_block
    blocks = -(-X.shape[0] // rows_per_block)
    line = block * X.shape[1] + X.indices  # of the stacked CSR matrices
    order = np.argsort(line, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=blocks * X.shape[1]))])
    return blocks, indptr, row[order].astype(np.int32), X.data[order], order


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, X: Features, towers: tuple[int, ...], dropout: Dropout, reach: Reach) -> Tensor:
        first = reach.first_tower(towers) * (W.shape[1] // len(towers))
        ctx.settings = X, len(towers), dropout, reach.distance, first
        nodes, features = X.shape
        out = empty((nodes, W.shape[1]), X.matrix.dtype)
        mask = (len(towers), dropout.key, dropout.keep)
        anywhere = np.zeros(features, dtype=np.uint8)
        shares = -(-nodes // BLOCK)
        sparse_times_towers(*X.rows, W.detach().numpy(), out, *mask, reach.distance, anywhere, first, shares)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, towers, dropout, distance, first = ctx.settings
        G = grads[0].contiguous().numpy()
        out = empty((X.shape[1], G.shape[1]), G.dtype)
        mask = (towers, dropout.key, dropout.keep)
        anywhere = np.zeros(X.shape[1], dtype=np.uint8)
        sparse_times_towers(*X.columns, G, out, *mask, anywhere, distance, first, torch.get_num_threads())
        return torch.from_numpy(out), None, None, None, None

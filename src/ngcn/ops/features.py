"""`Features`: the input X, and X W for all towers with dropout on X, each tower with a mask of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops import plain
from ngcn.ops._memory import empty
from ngcn.ops._sparse_kernels import features_times, transposed_features_times
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach

DENSE_FROM = 0.4  # share of non-zeros from which a dense product is faster, measured by benchmarks/dense.py


class Features:
    """The node features X in CSR form and its transpose, with the non-zeros numbered alike in both.

    Products without dropout (evaluation, above all) use dense matrices instead where those are faster.

    Args:
        matrix: ``(nodes, features)``, scipy sparse or dense.
    """

    def __init__(self, matrix: sp.csr_array | np.ndarray) -> None:
        X = sp.csr_array(matrix)
        self.shape: tuple[int, int] = X.shape
        self.matrix = X
        # (indptr, indices, values, number of the entry) as the kernels take them; of X^T, the number of parts first
        self.rows = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, np.arange(X.nnz))
        self.columns = _transposed_in_parts(X)
        self.entries_before = np.concatenate([[0], np.cumsum(np.bincount(X.indices, minlength=X.shape[1]))])

    def dense(self) -> Float[Tensor, "nodes features"]:
        return torch.from_numpy(self.matrix.toarray())

    @cached_property
    def _dense(self) -> Tensor:
        return self.dense()

    @property
    def dense_is_faster(self) -> bool:
        nodes, features = self.shape
        return self.matrix.nnz > DENSE_FROM * nodes * features

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
        if plain.is_needed_for(W):
            return plain.features_times(self, W, powers, replicas, dropout)
        if reach is None:
            reach = Reach(np.zeros(self.shape[0], dtype=np.int32), (1,) * powers, layers=1)
        if self.dense_is_faster and dropout.keep == NONE.keep:
            return torch.stack([self._dense @ W_p for W_p in W.chunk(powers, dim=1)])
        result: Tensor = _Times.apply(W, self, powers, replicas, dropout, reach)
        return result

    def __repr__(self) -> str:
        kind = "dense" if self.dense_is_faster else "sparse"
        return f"Features(nodes={self.shape[0]}, features={self.shape[1]}, entries={self.matrix.nnz}, {kind})"


def _transposed_in_parts(X: sp.csr_array) -> tuple[Any, ...]:
    """X^T for the weight gradient X^T G, in vertical parts: the rows of G that a part needs fit into the cache."""
    nodes, features = X.shape
    parts = max(1, min(nodes // 256, X.nnz // (4 * features)))  # a line of a part should have some entries
    part = np.repeat(np.arange(nodes) * parts // nodes, np.diff(X.indptr))
    line = part * features + X.indices  # of the stacked CSR matrices
    order = np.argsort(line, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=parts * features))])
    row = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(X.indptr))
    return parts, indptr, row[order], X.data[order], order


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, X: Features, powers: int, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        ctx.settings = X, powers * replicas, dropout.key, dropout.keep, reach.distance, reach.first_block
        out = empty((powers, X.shape[0], W.shape[1] // powers), X.matrix.dtype)
        features_times(*X.rows, W.detach().numpy(), out, *ctx.settings[1:])
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, *mask_and_reach = ctx.settings
        G = grads[0].contiguous().numpy()
        out = empty((X.shape[1], G.shape[0] * G.shape[2]), G.dtype)
        shares = np.searchsorted(X.entries_before, np.linspace(0, X.matrix.nnz, numba.get_num_threads() + 1))
        shares[0], shares[-1] = 0, X.shape[1]
        transposed_features_times(*X.columns, G, out, *mask_and_reach, shares)
        return torch.from_numpy(out), None, None, None, None, None

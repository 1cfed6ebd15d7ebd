"""`Features`: the input X, and X W for all towers with dropout on X, each tower with a mask of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops import plain
from ngcn.ops._given import FLOATS, checked
from ngcn.ops._memory import empty
from ngcn.ops._sparse_kernels import features_times, transposed_features_times
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach
from ngcn.ops.threads import follow_torch

DENSE_FROM = 0.5  # share of non-zeros from which a dense product is faster, measured by benchmarks/dense.py


class Features:
    """The node features X in CSR form and its transpose, with the non-zeros numbered alike in both.

    Products without dropout (evaluation, above all) use dense matrices instead where those are faster.

    Args:
        matrix: ``(nodes, features)``, scipy sparse or dense; numbers that are no floats become float32.
    """

    def __init__(self, matrix: sp.csr_array | np.ndarray) -> None:
        X = sp.csr_array(matrix)
        if X.dtype not in FLOATS:
            X = X.astype(np.float32)
        self.shape: tuple[int, int] = X.shape
        self.matrix = X
        self.rows = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)  # as the kernels take them
        self._everything = np.zeros(X.shape[0], dtype=np.int32)
        self._columns: dict[tuple[Any, ...], tuple[Any, ...]] = {}

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
        W: Float[Tensor, "powers features columns"],
        replicas: int,
        dropout: Dropout = NONE,
        reach: Reach | None = None,
    ) -> Float[Tensor, "powers nodes columns"]:
        r"""The product :math:`\mathrm{drop}_t(X) W_t` for each tower t; the towers of a power are side by side.

        Example:
            >>> X = Features(np.array([[1.0, 0.0], [0.0, 2.0]]))
            >>> X.times(torch.ones(3, 2, 1, dtype=torch.float64), replicas=1)[2]
            tensor([[1.],
                    [2.]], dtype=torch.float64)
        """
        if plain.is_needed_for(W):
            return plain.features_times(self, W, replicas, dropout)
        if reach is None:
            reach = Reach(self._everything, (1,) * len(W), layers=1)
        if len(reach.distance) != self.shape[0]:
            raise ValueError(f"X has {self.shape[0]} rows, but the graph {len(reach.distance)} nodes.")
        W = checked("W", W, (None, self.shape[1], None), self.matrix.dtype)
        if self.dense_is_faster and dropout.keep == NONE.keep:
            return self._dense @ W
        result: Tensor = _Times.apply(W, self, replicas, dropout, reach)
        return result

    def columns(self, reach: Reach) -> tuple[Any, ...]:
        """X^T as the kernel takes it, for the weight gradient X^T G with such a reach.

        It is sorted for the reach, which comes again at every step of a training. That of a single node, as in
        explanations, comes once, and all entries will do. The number of nodes decides, not whether it did come again:
        a training that is resumed has to add up in the same order.
        """
        key = id(reach.distance), reach.powers, reach.layers, follow_torch()
        found = self._columns.pop(key, ())
        if not found and np.count_nonzero(reach.distance == 0) == 1 < self.shape[0]:
            return self.columns(Reach(self._everything, (1,) * len(reach.powers), layers=1))
        found = found or (reach.distance, _transposed(self.matrix, reach, key[-1]))
        self._columns[key] = found  # with the array that is meant by its id
        while len(self._columns) > 4:  # the newest are kept
            del self._columns[next(iter(self._columns))]
        columns: tuple[Any, ...] = found[1]
        return columns

    def __repr__(self) -> str:
        kind = "dense" if self.dense_is_faster else "sparse"
        return f"Features(nodes={self.shape[0]}, features={self.shape[1]}, entries={self.matrix.nnz}, {kind})"


def _transposed(X: sp.csr_array, reach: Reach, threads: int) -> tuple[Any, ...]:
    """X^T in vertical parts: the rows of G that a part needs fit into the cache.

    Within a line, the entries come in the order of the first power that reaches them.
    """
    nodes, features = X.shape
    parts = max(1, min(nodes // 1024, X.nnz // (32 * features)))  # a line of a part should have some entries
    powers, row = len(reach.powers), np.repeat(np.arange(nodes, dtype=np.int32), np.diff(X.indptr))
    number = np.flatnonzero(reach.distance[row] <= reach.limits[-1])
    row = row[number]
    part, power = row.astype(np.int64) * parts // nodes, reach.first_block[reach.distance[row]]
    place = (part * features + X.indices[number]) * powers + power
    order = np.argsort(place, kind="stable")
    row, number = row[order], number[order]
    stops = np.cumsum(np.bincount(place, minlength=parts * features * powers)).reshape(parts, features, powers)
    starts = np.concatenate([[0], stops[:, :, -1].flat[:-1]]).reshape(parts, features)
    entries = np.cumsum(np.bincount(X.indices[number], minlength=features))
    shares = np.searchsorted(entries, np.linspace(0, len(number), threads + 1))
    shares[0], shares[-1] = 0, features
    return parts, shares, starts, np.ascontiguousarray(np.moveaxis(stops, 2, 0)), row, X.data[number], number


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, X: Features, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        ctx.settings = X, replicas, dropout, reach
        out = empty((len(W), X.shape[0], W.shape[2]), X.matrix.dtype)
        mask = len(reach.powers), replicas, dropout.keys, dropout.keep
        features_times(*X.rows, W.detach().numpy(), out, *mask, reach.distance, reach.first_block)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, replicas, dropout, reach = ctx.settings
        G = grads[0].contiguous().numpy()
        out = empty((len(G), X.shape[1], G.shape[2]), G.dtype)
        transposed_features_times(*X.columns(reach), G, out, replicas, dropout.keys, dropout.keep)
        return torch.from_numpy(out), None, None, None, None

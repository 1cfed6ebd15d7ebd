"""`Features`: the node features X, and the product X W of all towers, each with its own dropout on X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops._checks import FLOATS, checked, checked_reach
from ngcn.ops.backend import backend
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach
from ngcn.ops.towers import relu_dropout

DENSE_FROM = 0.3  # fraction of non-zeros from which on a dense product is faster, measured by benchmarks/dense.py


class Features:
    """The node features X in CSR form.

    Products without dropout, such as those of evaluation, use a dense matrix where that is faster.

    Args:
        matrix: ``(nodes, features)``, scipy sparse or dense. Types other than float become float32.

    Attributes:
        matrix: X as a scipy matrix.
        rows: ``(indptr, indices, values)`` with the types that the kernels take.
        all_wanted: distances for a reach of all nodes. Its id is a key in caches.
        cache: what operators derive from X and use again.

    Example:
        >>> import numpy as np
        >>> X = Features(np.array([[1.0, 0.0], [0.0, 2.0]]))
        >>> X.shape, X.matrix.nnz
        ((2, 2), 2)
    """

    def __init__(self, matrix: sp.csr_array | np.ndarray) -> None:
        X = sp.csr_array(matrix)
        if X.dtype not in FLOATS:
            X = X.astype(np.float32)
        self.shape: tuple[int, int] = X.shape
        self.matrix = X
        self.rows = (X.indptr.astype(np.int64), X.indices.astype(np.int32), np.ascontiguousarray(X.data))
        self.all_wanted = np.zeros(X.shape[0], dtype=np.int32)
        self.cache: dict[str, Any] = {}

    def dense(self, device: torch.device | str | None = None) -> Float[Tensor, "nodes features"]:
        """A new dense tensor with X, on the CPU unless another device is given."""
        return torch.from_numpy(self.matrix.toarray()).to(device)

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
        r"""The product :math:`\mathrm{drop}_t(X) W_t` for each tower t.

        Args:
            W: the weights, the towers of a power side by side.
            replicas: towers per power.
            dropout: the mask on X. Each tower has its own.
            reach: the rows that are wanted, by default all. Other rows are zero if X is sparse, else undefined.

        Example:
            >>> X = Features(np.array([[1.0, 0.0], [0.0, 2.0]]))
            >>> X.times(torch.ones(3, 2, 1, dtype=torch.float64), replicas=1)[2]
            tensor([[1.],
                    [2.]], dtype=torch.float64)
        """
        reach = reach or Reach(self.all_wanted, (1,) * len(W), layers=1)
        reach = checked_reach("X", reach, len(W), self.shape[0])
        W = checked("W", W, (None, self.shape[1], None), FLOATS[self.matrix.dtype])
        if self.dense_is_faster and dropout.keep == NONE.keep:
            return _times(self._dense_tensor(W.device), W)
        result: Tensor = backend(W).features_times(self, W, replicas, dropout, reach)
        return result

    def with_shared_mask(self, dropout: Dropout) -> SharedMask:
        """drop(X) with one mask for all towers, for features of which a dense product is faster."""
        return SharedMask(self, dropout)

    def _dense_tensor(self, device: torch.device) -> Tensor:
        tensors: dict[torch.device, Tensor] = self.cache.setdefault("dense tensors", {})
        if device not in tensors:
            tensors[device] = Features.dense(self, device)  # a subclass may give another one to others
        return tensors[device]

    def __repr__(self) -> str:
        kind = "dense" if self.dense_is_faster else "sparse"
        return f"Features(nodes={self.shape[0]}, features={self.shape[1]}, entries={self.matrix.nnz}, {kind})"


class SharedMask(Features):
    """Features that have been through dropout, the same for all towers; products draw no masks of their own."""

    def __init__(self, X: Features, dropout: Dropout) -> None:
        vars(self).update(vars(X))
        self.original, self.dropout = X, dropout
        self.masked: dict[torch.device, Tensor] = {}

    def times(
        self,
        W: Float[Tensor, "powers features columns"],
        replicas: int,
        dropout: Dropout = NONE,
        reach: Reach | None = None,
    ) -> Float[Tensor, "powers nodes columns"]:
        """As :meth:`Features.times`, with the mask that is drawn already in place of ``dropout``."""
        if W.device not in self.masked:
            X = self.original._dense_tensor(W.device)
            mask = relu_dropout(torch.ones_like(X)[None], self.dropout)[0]  # 0, or 1 / the probability of keeping
            self.masked[W.device] = X * mask
        return _times(self.masked[W.device], W)


def _times(X: Tensor, W: Tensor) -> Tensor:
    """One product for all powers: torch would copy X for each if it broadcast it."""
    columns = X @ W.transpose(0, 1).flatten(1)
    return columns.unflatten(1, (len(W), -1)).transpose(0, 1).contiguous()

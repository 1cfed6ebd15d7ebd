"""The same operations in plain PyTorch: for devices that the kernels do not run on, and to test the kernels against.

They know no :class:`~ngcn.ops.Reach`: rows that nobody wants are computed like all others.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ngcn.ops.dropout import Dropout

if TYPE_CHECKING:
    from ngcn.ops.features import Features
    from ngcn.ops.operator import Operator


def is_needed_for(tensor: Tensor) -> bool:
    """Whether the kernels cannot take this tensor: they read the memory of the CPU."""
    return tensor.device.type != "cpu"


def propagate(A_hat: Operator, Z: Tensor, powers: tuple[int, ...]) -> Tensor:
    A, blocks = sparse_tensor(A_hat, Z.device), []
    for block, k in zip(Z, powers, strict=True):
        for _ in range(k):
            block = A @ block
        blocks.append(block)
    return torch.stack(blocks)


def features_times(X: Features, W: Tensor, replicas: int, dropout: Dropout) -> Tensor:
    matrix = sparse_tensor(X, W.device)
    blocks = []
    for W_p in W:
        towers = []
        for W_t in W_p.chunk(replicas, dim=1):
            values = matrix.values() * _mask(matrix.values(), dropout)
            towers.append(_csr(matrix.crow_indices(), matrix.col_indices(), values, X.shape) @ W_t)
        blocks.append(torch.cat(towers, dim=1))
    return torch.stack(blocks)


def relu_dropout(Y: Tensor, dropout: Dropout) -> Tensor:
    return torch.relu(Y) * _mask(Y, dropout)


def relu_normalize_dropout(Y: Tensor, replicas: int, dropout: Dropout) -> Tensor:
    towers = torch.relu(Y).unflatten(2, (replicas, -1))
    return normalize(towers, dim=-1, eps=1e-30).flatten(2) * _mask(Y, dropout)


def tower_linear(H: Tensor, W: Tensor) -> Tensor:
    towers = H.unflatten(2, (W.shape[1], -1))
    return torch.einsum("pnri,prio->pnro", towers, W).flatten(2)


def sparse_tensor(owner: Operator | Features, device: torch.device) -> Tensor:
    """The owner's matrix as a sparse tensor on a device; made once."""
    known = owner.__dict__.setdefault("_tensors", {})
    if device not in known:
        indptr, indices, values = map(torch.from_numpy, (owner.matrix.indptr, owner.matrix.indices, owner.matrix.data))
        known[device] = _csr(indptr, indices, values, owner.matrix.shape).to(device)
    return known[device]


def _csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
        return torch.sparse_csr_tensor(indptr, indices, values, size=shape)


def _mask(like: Tensor, dropout: Dropout) -> Tensor:
    """0 for what is dropped, 1 / keep for the rest; drawn by torch on the tensor's own device."""
    keep = dropout.keep / 65536
    return (torch.rand_like(like) < keep) / torch.tensor(keep, dtype=like.dtype, device=like.device)

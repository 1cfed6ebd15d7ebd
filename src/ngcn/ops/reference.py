"""The operators in plain PyTorch, for any device. Tests compare :mod:`ngcn.ops.cpu` with them.

They compute all rows, and then set those out of reach to zero. Dropout masks are equal bit for bit on all devices.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import normalize

from ngcn.ops.dropout import ONE, Dropout
from ngcn.ops.reach import Reach

if TYPE_CHECKING:
    from ngcn.ops.features import Features
    from ngcn.ops.operator import Operator


def propagate(A_hat: Operator, Z: Tensor, powers: tuple[int, ...], reach: Reach) -> Tensor:
    A, blocks = sparse_tensor(A_hat, Z.device), []
    for block, k in zip(Z, powers, strict=True):
        for _ in range(k):
            block = A @ block
        blocks.append(block)
    return _within(reach.after_layer, torch.stack(blocks))


def features_times(X: Features, W: Tensor, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
    matrix = sparse_tensor(X, W.device)
    X_values = matrix.values()
    towers = W.unflatten(2, (replicas, -1)).transpose(1, 2).flatten(0, 1)
    numbers = torch.arange(X.matrix.nnz, device=W.device)
    bits = None if dropout.keep == ONE else keep_bits(numbers, -(-len(towers) // 32), dropout)
    products = []
    for t, W_t in enumerate(towers):
        if bits is not None:  # each tower has its own mask
            values = X_values * _scaled(bits[t // 32] >> t % 32 & 1, dropout, W.dtype)
            matrix = _csr(matrix.crow_indices(), matrix.col_indices(), values, X.shape)
        products.append(matrix @ W_t)
    result = torch.stack(products).unflatten(0, (len(W), replicas)).transpose(1, 2).flatten(2)
    return _within(reach, result)


def relu_dropout(Y: Tensor, dropout: Dropout, reach: Reach) -> Tensor:
    return _within(reach, torch.relu(Y) * _mask(Y, dropout))


def relu_normalize_dropout(Y: Tensor, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
    towers = torch.relu(Y).unflatten(2, (replicas, -1))
    return _within(reach, normalize(towers, dim=-1, eps=1e-30).flatten(2) * _mask(Y, dropout))


def tower_linear(H: Tensor, W: Tensor, reach: Reach) -> Tensor:
    towers = H.unflatten(2, (W.shape[1], -1))
    return _within(reach, torch.einsum("pnri,prio->pnro", towers, W).flatten(2))


def keep_bits(numbers: Int[Tensor, " count"], words: int, dropout: Dropout) -> Int[Tensor, "words count"]:
    """32 bits per word, each 1 with the probability of keeping, for each number; see `ngcn.ops.cpu.masks.keep_bits`.

    Example:
        >>> keep_bits(torch.arange(3), 1, Dropout(keep=1 << 15, key=(1, 2)))
        tensor([[3322424764, 2102104812,   58915176]])
    """
    key_0, key_1 = dropout.key
    bases = _mix(numbers & 0xFFFFFFFF ^ key_0) + key_1
    digits = [d for d in range(16) if dropout.keep >> d & 1]
    rows = []
    for w in range(words):
        bits = torch.full_like(bases, 0 if digits else 0xFFFFFFFF)
        for d in range(digits[0] if digits else 16, 16):
            uniform = _mix(bases + (d + 16 * w) * 0x9E3779B9 & 0xFFFFFFFF)
            bits = bits | uniform if d in digits else bits & uniform
        rows.append(bits)
    return torch.stack(rows)


def _mix(h: Tensor) -> Tensor:
    """The bijection of `ngcn.ops.cpu.masks`, on 32-bit words in int64. Products overflow, but their low bits count."""
    h = h ^ h >> 16
    h = h * 0x7FEB352D & 0xFFFFFFFF
    h = h ^ h >> 15
    h = h * 0x846CA68B & 0xFFFFFFFF
    return h ^ h >> 16


def _mask(like: Tensor, dropout: Dropout) -> Tensor:
    """0 for dropped entries of a tensor ``(powers, nodes, columns)``, 1 / keep for the others."""
    if dropout.keep == ONE:
        return torch.ones((), dtype=like.dtype, device=like.device)
    powers, nodes, columns = like.shape
    words = -(-columns // 32)
    bits = keep_bits(torch.arange(powers * nodes * words, device=like.device), 1, dropout)
    of_columns = bits.view(powers, nodes, words, 1) >> torch.arange(32, device=like.device) & 1
    return _scaled(of_columns.flatten(2)[..., :columns], dropout, like.dtype)


def _scaled(bits: Tensor, dropout: Dropout, dtype: torch.dtype) -> Tensor:
    return bits.to(dtype) * (ONE / dropout.keep)


def _within(reach: Reach, blocks: Tensor) -> Tensor:
    """Set rows out of reach to zero."""
    far = reach.distance > reach.limits[:, None]
    return torch.where(torch.from_numpy(far).to(blocks.device)[..., None], 0, blocks) if far.any() else blocks


def sparse_tensor(owner: Operator | Features, device: torch.device) -> Tensor:
    """The owner's matrix as a sparse CSR tensor on a device. Cached."""
    tensors = owner.cache.setdefault("sparse tensors", {})
    if device not in tensors:
        M = owner.matrix
        indptr, indices = (torch.from_numpy(each.astype(np.int64)) for each in (M.indptr, M.indices))
        tensors[device] = _csr(indptr, indices, torch.from_numpy(M.data), M.shape).to(device)
    return tensors[device]


def _csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
        return torch.sparse_csr_tensor(indptr, indices, values, size=shape)

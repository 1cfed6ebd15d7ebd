"""The operators as autograd functions around the kernels.

They compute only rows within reach. The backward passes assume that the incoming gradient is zero out of reach.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ngcn.ops.cpu import sparse_kernels, tower_kernels
from ngcn.ops.cpu.transpose import transposed
from ngcn.ops.dropout import Dropout
from ngcn.ops.reach import Reach
from ngcn.ops.workspace import empty, empty_like

if TYPE_CHECKING:
    from ngcn.ops.features import Features
    from ngcn.ops.operator import Operator

SUMS = 16  # parts of the nodes that a weight gradient is summed over; fixed, so that threads do not change its bits


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, A_hat: Operator, Z: Tensor, powers: tuple[int, ...], reach: Reach) -> Tensor:
        ctx.settings = A_hat, powers, reach
        return _multiply(A_hat, Z.detach(), powers, reach, reach.layers, outward=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient starts in the rows that the next layer reaches. Every product moves it by one hop.
        A_hat, powers, reach = ctx.settings
        return None, _multiply(A_hat.T, grads[0], powers, reach, reach.layers - 1, outward=1), None, None


def _multiply(A: Operator, Z: Tensor, powers: tuple[int, ...], reach: Reach, layers: int, outward: int) -> Tensor:
    blocks, products = Z.contiguous().numpy(), _products(powers, layers, outward)
    out, work = empty_like(blocks), empty((2, *blocks.shape[1:]), blocks.dtype)
    arrays = *A.csr, blocks, out, work, products, reach.distance
    sparse_kernels.multiply_powers(-(-A.nodes // sparse_kernels.BLOCK), arrays, turns=len(products))
    return torch.from_numpy(out)


@lru_cache
def _products(powers: tuple[int, ...], layers: int, outward: int) -> np.ndarray:
    """The sparse products in their order: block, power, number of the product, largest distance."""
    return np.array(
        [(p, k, s, layers * k + s * outward) for p, k in enumerate(powers) for s in range(min(1, k), k + 1)]
    )


class _FeaturesTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Features, W: Tensor, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        ctx.settings = X, replicas, dropout, reach
        nodes, entries = X.shape[0], X.matrix.nnz
        out = empty((len(W), nodes, W.shape[2]), X.matrix.dtype)
        block = sparse_kernels.rows_per_share(nodes, entries)
        arrays = *X.rows, W.detach().numpy(), out, reach.distance, reach.first_block
        sparse_kernels.features_times(-(-nodes // block), arrays, block, replicas, *dropout.key, dropout.keep)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        X, replicas, dropout, reach = ctx.settings
        G = grads[0].contiguous().numpy()
        out = empty((len(G), X.shape[1], G.shape[2]), G.dtype)
        shares, *entries = transposed(X, reach)
        arrays = shares, *entries, G, out
        sparse_kernels.transposed_features_times(len(shares) - 1, arrays, replicas, *dropout.key, dropout.keep)
        return None, torch.from_numpy(out), None, None, None


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, dropout: Dropout, reach: Reach) -> Tensor:
        y = Y.detach().numpy()
        out = empty_like(y)
        arrays = y, out, reach.distance, reach.limits
        tower_kernels.relu_dropout(len(y) * _blocks(y), arrays, *dropout.key, dropout.keep)
        H = torch.from_numpy(out)
        ctx.save_for_backward(H)
        ctx.keep = dropout.keep
        return H

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, G = ctx.saved_tensors[0].numpy(), grads[0].contiguous().numpy()
        out = empty_like(H)
        tower_kernels.relu_dropout_backward(len(H) * _blocks(H), (H, G, out), ctx.keep)
        return torch.from_numpy(out), None, None


class _ReluNormalizeDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        ctx.save_for_backward(Y)
        ctx.reach, ctx.numbers = (reach.distance, reach.limits), (replicas, *dropout.key, dropout.keep)
        y = Y.detach().numpy()
        out = empty_like(y)
        tower_kernels.relu_normalize_dropout(len(y) * _blocks(y), (y, out, *ctx.reach), *ctx.numbers)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        y, G = ctx.saved_tensors[0].numpy(), grads[0].contiguous().numpy()
        out = empty_like(y)
        tower_kernels.relu_normalize_dropout_backward(len(y) * _blocks(y), (y, G, out, *ctx.reach), *ctx.numbers)
        return torch.from_numpy(out), None, None, None


class _TowerLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, W: Tensor, reach: Reach) -> Tensor:
        ctx.save_for_backward(H, W)
        ctx.settings = reach.distance, reach.limits
        return torch.from_numpy(_times_matrices(H.detach().numpy(), W.detach().numpy(), *ctx.settings))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, W = (saved.numpy() for saved in ctx.saved_tensors)
        G = grads[0].contiguous().numpy()
        W_transposed = np.ascontiguousarray(W.swapaxes(2, 3))
        partial = empty((SUMS, *W_transposed.shape), G.dtype)
        tower_kernels.outer_products(SUMS, (H, G, partial, *ctx.settings))
        weight_gradient = torch.from_numpy(partial.sum(axis=0)).transpose(2, 3)
        return torch.from_numpy(_times_matrices(G, W_transposed, *ctx.settings)), weight_gradient, None


def _times_matrices(H: np.ndarray, W: np.ndarray, distance: np.ndarray, limits: np.ndarray) -> np.ndarray:
    powers, replicas, inner, outer = W.shape
    out, lines = empty((powers, H.shape[1], replicas * outer), H.dtype), np.arange(inner, dtype=np.uint32)
    tower_kernels.times_matrices(powers * _blocks(H), (H, W, lines, out, distance, limits))
    return out


def _blocks(array: np.ndarray) -> int:
    """Shares of the rows of a block."""
    return -(-array.shape[1] // tower_kernels.BLOCK)


propagate = _Propagate.apply
features_times = _FeaturesTimes.apply
relu_dropout = _ReluDropout.apply
relu_normalize_dropout = _ReluNormalizeDropout.apply
tower_linear = _TowerLinear.apply

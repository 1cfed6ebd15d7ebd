"""What happens to the columns of all towers between two sparse products: activation, dropout, a matrix per tower."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops import _tower_kernels as kernels
from ngcn.ops._memory import empty, empty_like
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach

SHARES = 16  # parts of the rows over which a weight gradient is summed; fixed, so that threads do not change its bits


def relu_dropout(
    Y: Float[Tensor, "nodes columns"], towers: tuple[int, ...], dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "nodes columns"]:
    r""":math:`\mathrm{drop}(\max(Y, 0))`.

    Example:
        >>> relu_dropout(torch.tensor([[-1.0, 2.0]]), (1,))
        tensor([[0., 2.]])
    """
    result: Tensor = _ReluDropout.apply(Y, towers, dropout, reach or _everything(Y))
    return result


def relu_normalize_dropout(
    Y: Float[Tensor, "nodes columns"], towers: tuple[int, ...], dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "nodes columns"]:
    r""":math:`\mathrm{drop}(\mathrm{L2NormalizeRows}(\max(Y_t, 0)))` for each tower t; a row of zeros stays zero.

    Example:
        >>> relu_normalize_dropout(torch.tensor([[-1.0, 2.0]]), (1,))
        tensor([[0., 1.]])
    """
    result: Tensor = _ReluNormalizeDropout.apply(Y, towers, dropout, reach or _everything(Y))
    return result


def tower_linear(
    H: Float[Tensor, "nodes columns"],
    W: Float[Tensor, "towers inner outer"],
    towers: tuple[int, ...],
    reach: Reach | None = None,
) -> Float[Tensor, "nodes columns_out"]:
    r"""Each tower's columns times its own matrix: :math:`[\,H_0 W_0 \mid H_1 W_1 \mid \dots\,]`.

    Example:
        >>> tower_linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[[3.0]], [[4.0]]]), (0, 1))
        tensor([[3., 8.]])
    """
    result: Tensor = _TowerLinear.apply(H, W, towers, reach or _everything(H))
    return result


def _everything(Y: Tensor) -> Reach:
    return Reach(np.zeros(len(Y), dtype=np.uint8), layers=1)


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, towers: tuple[int, ...], dropout: Dropout, reach: Reach) -> Tensor:
        y = Y.detach().numpy()
        out = empty_like(y)
        first = reach.first_tower(towers) * (y.shape[1] // len(towers))
        kernels.relu_dropout(y, out, dropout.key, dropout.keep, reach.distance, first)
        H = torch.from_numpy(out)
        ctx.save_for_backward(H)
        ctx.keep = dropout.keep
        return H

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (H,) = ctx.saved_tensors
        out = torch.from_numpy(empty_like(H.numpy()))
        kernels.relu_dropout_backward(H.numpy(), grads[0].contiguous().numpy(), out.numpy(), ctx.keep)
        return out, None, None, None


class _ReluNormalizeDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, towers: tuple[int, ...], dropout: Dropout, reach: Reach) -> Tensor:
        y = Y.detach().numpy()
        first = reach.first_tower(towers) * (y.shape[1] // len(towers))
        ctx.save_for_backward(Y)
        ctx.settings = len(towers), dropout.key, dropout.keep, reach.distance, first
        out = empty_like(y)
        kernels.relu_normalize_dropout(y, out, *ctx.settings)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        y = ctx.saved_tensors[0].numpy()
        out = empty_like(y)
        kernels.relu_normalize_dropout_backward(y, grads[0].contiguous().numpy(), out, *ctx.settings)
        return torch.from_numpy(out), None, None, None


class _TowerLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, W: Tensor, towers: tuple[int, ...], reach: Reach) -> Tensor:
        ctx.save_for_backward(H, W)
        ctx.settings = reach.distance, reach.first_tower(towers)
        return torch.from_numpy(_times_matrices(H.detach().numpy(), W.detach().numpy(), *ctx.settings))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H, W = ctx.saved_tensors
        G = grads[0].contiguous().numpy()
        W_transposed = np.ascontiguousarray(W.numpy().transpose(0, 2, 1))
        partial = empty((SHARES, *W_transposed.shape), dtype=G.dtype)
        kernels.towers_outer_products(H.numpy(), G, partial, *ctx.settings)
        weight_gradient = torch.from_numpy(partial.sum(axis=0)).transpose(1, 2)
        return torch.from_numpy(_times_matrices(G, W_transposed, *ctx.settings)), weight_gradient, None, None


def _times_matrices(H: np.ndarray, W: np.ndarray, distance: np.ndarray, first_tower: np.ndarray) -> np.ndarray:
    out = empty((len(H), W.shape[0] * W.shape[2]), dtype=H.dtype)
    kernels.towers_times_matrices(H, W, out, distance, first_tower)
    return out

"""What happens to the columns of all towers between two sparse products: activation, dropout, a matrix per tower."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops import _tower_kernels as kernels
from ngcn.ops import plain
from ngcn.ops._given import checked
from ngcn.ops._memory import empty, empty_like
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach

SHARES = 16  # parts of the rows over which a weight gradient is summed; fixed, so that threads do not change its bits


def relu_dropout(
    Y: Float[Tensor, "powers nodes columns"], dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r""":math:`\mathrm{drop}(\max(Y, 0))`.

    Example:
        >>> relu_dropout(torch.tensor([[[-1.0, 2.0]]]))
        tensor([[[0., 2.]]])
    """
    if plain.is_needed_for(Y):
        return plain.relu_dropout(Y, dropout)
    Y = checked("Y", Y, (None, None, None))
    result: Tensor = _ReluDropout.apply(Y, dropout, reach or _everything(Y))
    return result


def relu_normalize_dropout(
    Y: Float[Tensor, "powers nodes columns"], replicas: int, dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r""":math:`\mathrm{drop}(\mathrm{L2NormalizeRows}(\max(Y_t, 0)))` for each tower t; a row of zeros stays zero.

    Example:
        >>> relu_normalize_dropout(torch.tensor([[[-1.0, 2.0]]]), replicas=1)
        tensor([[[0., 1.]]])
    """
    if plain.is_needed_for(Y):
        return plain.relu_normalize_dropout(Y, replicas, dropout)
    Y = checked("Y", Y, (None, None, None))
    result: Tensor = _ReluNormalizeDropout.apply(Y, replicas, dropout, reach or _everything(Y))
    return result


def tower_linear(
    H: Float[Tensor, "powers nodes columns"],
    W: Float[Tensor, "powers replicas inner outer"],
    reach: Reach | None = None,
) -> Float[Tensor, "powers nodes columns_out"]:
    r"""Each tower's columns times its own matrix: :math:`H_t W_t`.

    Example:
        >>> tower_linear(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[[3.0]], [[4.0]]]]))
        tensor([[[3., 8.]]])
    """
    if plain.is_needed_for(H):
        return plain.tower_linear(H, W)
    W = checked("W", W, (None, None, None, None))
    powers, replicas, inner, _ = W.shape
    H = checked("H", H, (powers, None, replicas * inner), W.detach().numpy().dtype)
    result: Tensor = _TowerLinear.apply(H, W, reach or _everything(H))
    return result


def _everything(Y: Tensor) -> Reach:
    return Reach(np.zeros(Y.shape[1], dtype=np.int32), (1,) * len(Y), layers=1)


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, dropout: Dropout, reach: Reach) -> Tensor:
        out = empty_like(Y.detach().numpy())
        kernels.relu_dropout(Y.detach().numpy(), out, dropout.keys, dropout.keep, reach.distance, reach.limits)
        H = torch.from_numpy(out)
        ctx.save_for_backward(H)
        ctx.keep = dropout.keep
        return H

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        H = ctx.saved_tensors[0].numpy()
        out = empty_like(H)
        kernels.relu_dropout_backward(H, grads[0].contiguous().numpy(), out, ctx.keep)
        return torch.from_numpy(out), None, None


class _ReluNormalizeDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Y: Tensor, replicas: int, dropout: Dropout, reach: Reach) -> Tensor:
        ctx.save_for_backward(Y)
        ctx.settings = replicas, dropout.keys, dropout.keep, reach.distance, reach.limits
        out = empty_like(Y.detach().numpy())
        kernels.relu_normalize_dropout(Y.detach().numpy(), out, *ctx.settings)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        Y = ctx.saved_tensors[0].numpy()
        out = empty_like(Y)
        kernels.relu_normalize_dropout_backward(Y, grads[0].contiguous().numpy(), out, *ctx.settings)
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
        partial = empty((SHARES, *W_transposed.shape), G.dtype)
        kernels.outer_products(H, G, partial, *ctx.settings)
        weight_gradient = torch.from_numpy(partial.sum(axis=0)).transpose(2, 3)
        return torch.from_numpy(_times_matrices(G, W_transposed, *ctx.settings)), weight_gradient, None


def _times_matrices(H: np.ndarray, W: np.ndarray, distance: np.ndarray, limits: np.ndarray) -> np.ndarray:
    powers, replicas, _, outer = W.shape
    out = empty((powers, H.shape[1], replicas * outer), H.dtype)
    kernels.times_matrices(H, W, out, distance, limits)
    return out

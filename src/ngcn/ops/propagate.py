"""Multi-power propagation: every tower multiplied by its own power of Â."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops import plain
from ngcn.ops._given import checked
from ngcn.ops._memory import empty, empty_like
from ngcn.ops._sparse_kernels import multiply_powers
from ngcn.ops.operator import Operator
from ngcn.ops.reach import Reach


def propagate(
    A_hat: Operator, Z: Float[Tensor, "powers nodes columns"], powers: tuple[int, ...], reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r"""Multiply block p by :math:`\hat{A}^{k_p}`, without ever forming a power.

    .. math:: (Z_0, Z_1, \dots) \;\mapsto\; (\hat{A}^{k_0} Z_0, \hat{A}^{k_1} Z_1, \dots)

    Args:
        A_hat: the operator.
        Z: a block for each power, with the columns of all its towers side by side.
        powers: the power of each block, ascending.
        reach: what of the result is wanted; rows out of its reach come out as zero. Everything if None.

    Example:
        >>> import scipy.sparse as sp
        >>> A_hat = Operator(sp.csr_array(np.array([[0.0, 1.0], [0.5, 0.5]], dtype=np.float32)))
        >>> propagate(A_hat, torch.tensor([[[1.0], [2.0]]]).expand(3, 2, 1), (0, 1, 2)).squeeze()
        tensor([[1.0000, 2.0000],
                [2.0000, 1.5000],
                [1.5000, 1.7500]])
    """
    if plain.is_needed_for(Z):
        return plain.propagate(A_hat, Z, powers)
    Z = checked("Z", Z, (None, A_hat.nodes, None), A_hat.matrix.dtype)
    result: Tensor = _Propagate.apply(Z, A_hat, powers, reach or Reach.of(A_hat, None, powers))
    return result


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Z: Tensor, A_hat: Operator, powers: tuple[int, ...], reach: Reach) -> Tensor:
        ctx.settings = A_hat, powers, reach
        return _multiply(A_hat, Z.detach(), powers, reach, reach.layers, outward=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient starts where the layer's result is wanted, one layer on, and spreads by a hop per product.
        A_hat, powers, reach = ctx.settings
        return _multiply(A_hat.T, grads[0], powers, reach, reach.layers - 1, outward=1), None, None, None


def _multiply(A: Operator, Z: Tensor, powers: tuple[int, ...], reach: Reach, layers: int, outward: int) -> Tensor:
    blocks, k = Z.contiguous().numpy(), np.array(powers)
    out, work = empty_like(blocks), empty((2, *blocks.shape[1:]), blocks.dtype)
    multiply_powers(*A.csr, blocks, out, work, k, reach.distance, layers * k, outward)
    return torch.from_numpy(out)

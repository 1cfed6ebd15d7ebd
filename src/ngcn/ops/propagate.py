"""Multi-power propagation: every tower multiplied by its own power of Â, all towers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops._memory import empty_like
from ngcn.ops._sparse_kernels import sparse_times_dense
from ngcn.ops.operator import Operator
from ngcn.ops.reach import Reach


def propagate(
    A_hat: Operator, Z: Float[Tensor, "nodes columns"], towers: tuple[int, ...], reach: Reach | None = None
) -> Float[Tensor, "nodes columns"]:
    r"""Multiply the columns of tower t by :math:`\hat{A}^{k_t}`, without ever forming a power.

    .. math:: [\,Z_0 \mid Z_1 \mid \dots\,] \;\mapsto\; [\,\hat{A}^{k_0} Z_0 \mid \hat{A}^{k_1} Z_1 \mid \dots\,]

    The towers stand side by side in ascending order of their powers, so the s-th product with Â concerns the columns
    of the towers with k >= s, which are contiguous: all towers share ``max(towers)`` passes over Â.

    Args:
        A_hat: the operator.
        Z: the columns of all towers, equally many each.
        towers: the power of each tower, ascending.
        reach: what of the result is wanted; rows out of its reach come out as zero. Everything if None.

    Example:
        >>> import scipy.sparse as sp
        >>> A_hat = Operator(sp.csr_array(np.array([[0.0, 1.0], [0.5, 0.5]], dtype=np.float32)))
        >>> propagate(A_hat, torch.tensor([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), (0, 1, 2))
        tensor([[1.0000, 2.0000, 1.5000],
                [2.0000, 1.5000, 1.7500]])
    """
    if reach is None:
        reach = Reach.of(A_hat, None, 1, towers)
    result: Tensor = _Propagate.apply(Z, A_hat, towers, reach)
    return result


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Z: Tensor, A_hat: Operator, towers: tuple[int, ...], reach: Reach) -> Tensor:
        ctx.settings = A_hat, towers, reach
        first = [reach.first_tower(towers, s) for s in range(towers[-1] + 1)]
        return torch.from_numpy(_multiply(A_hat, Z.detach().numpy(), towers, reach.distance, first))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient starts where the layer's result is wanted, one layer on, and spreads by a hop per product.
        A_hat, towers, reach = ctx.settings
        later = reach.after_layer()
        first = [later.first_tower(towers, -s) for s in range(towers[-1] + 1)]
        G = grads[0].contiguous().numpy()
        return torch.from_numpy(_multiply(A_hat.T, G, towers, reach.distance, first)), None, None, None


def _multiply(
    A: Operator, Z: np.ndarray, towers: tuple[int, ...], distance: np.ndarray, first_tower: list[np.ndarray]
) -> np.ndarray:
    """The columns of each tower times A to the tower's power; ``first_tower[s]`` is what matters after s products."""
    width = Z.shape[1] // len(towers)
    first = [towers_before * width for towers_before in first_tower]
    # start[s]: the first column of the towers that take part in the s-th product
    start = [width * sum(k < s for k in towers) for s in range(towers[-1] + 2)]
    out = empty_like(Z)
    out[:, : start[1]] = Z[:, : start[1]]
    work = [empty_like(Z) for _ in range(min(2, towers[-1] - 1))]
    source = Z
    for s in range(1, towers[-1] + 1):
        goes_on = work[s % len(work)] if start[s + 1] < Z.shape[1] else out
        for target, begin, end in ((out, start[s], start[s + 1]), (goes_on, start[s + 1], Z.shape[1])):
            if begin < end:
                sparse_times_dense(*A.csr, source, target, begin, end, distance, first[s])
        source = goes_on
    return out

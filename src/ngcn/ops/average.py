"""Averages over powers of Â, each block of towers up to a power of its own."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.ops.operator import Operator, propagate


def propagate_average(
    A_hat: Operator, Z: Float[Tensor, "powers nodes columns"], powers: tuple[int, ...]
) -> Float[Tensor, "powers nodes columns"]:
    r"""Multiply block p by the average of the powers of Â up to :math:`k_p`.

    .. math:: Z_p \;\mapsto\; \frac{1}{k_p + 1} \sum_{j=0}^{k_p} \hat{A}^j Z_p

    Args:
        A_hat: the operator.
        Z: a block for each power, its towers side by side.
        powers: the highest power of each block, ascending.

    Example:
        >>> import numpy as np, scipy.sparse as sp
        >>> A_hat = Operator(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32)))
        >>> propagate_average(A_hat, torch.tensor([[[1.0], [2.0]]]).expand(2, 2, 1), (0, 1)).squeeze()
        tensor([[1.0000, 2.0000],
                [1.5000, 1.5000]])
    """
    result: Tensor = _Average.apply(A_hat, Z, powers)
    return result


class _Average(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, A_hat: Operator, Z: Tensor, powers: tuple[int, ...]) -> Tensor:
        ctx.settings = A_hat, powers
        return _average(A_hat, Z, powers)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        A_hat, powers = ctx.settings
        return None, _average(A_hat.T, grads[0], powers), None


def _average(A: Operator, Z: Tensor, powers: tuple[int, ...]) -> Tensor:
    total, product = Z.clone(memory_format=torch.contiguous_format), Z
    for hop in range(1, powers[-1] + 1):
        wanted = [p for p, k in enumerate(powers) if k >= hop]  # the last blocks
        product = propagate(A, product[-len(wanted) :], (1,) * len(wanted))
        total[wanted[0] :] += product
    return total / total.new_tensor([k + 1 for k in powers])[:, None, None]

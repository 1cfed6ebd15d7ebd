"""Select and normalise rows, with backward passes that save and copy little.

The outputs of all towers may be thousands of columns wide (121 labels x 24 towers), so that every copy counts.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


def select_rows(
    Z: Float[Tensor, "powers nodes columns"], rows: Int[Tensor, " rows"] | None
) -> Float[Tensor, "rows powers columns"]:
    """The rows of all blocks for the nodes `rows`, or for all nodes if it is None.

    Example:
        >>> select_rows(torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.tensor([1])).squeeze()
        tensor([2., 4.])
    """
    result: Tensor = _SelectRows.apply(Z, torch.arange(Z.shape[1], device=Z.device) if rows is None else rows)
    return result


def l2_normalize(Z: Float[Tensor, "... columns"]) -> Float[Tensor, "... columns"]:
    r""":math:`\mathrm{L2NormalizeRows}(Z)`; a row of zeros stays zero.

    Example:
        >>> l2_normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])
    """
    result: Tensor = _L2Normalize.apply(Z)
    return result


class _SelectRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Z: Tensor, rows: Tensor) -> Tensor:
        rows = rows.to(Z.device)
        ctx.save_for_backward(rows)
        ctx.nodes = Z.shape[1]
        return Z.transpose(0, 1).index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        G = grads[0].transpose(0, 1)
        blocks = G.new_zeros(G.shape[0], ctx.nodes, G.shape[2])  # contiguous, as the kernels need it
        return blocks.index_add_(1, ctx.saved_tensors[0], G), None


class _L2Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Z: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(Z, dim=-1, keepdim=True)
        inverse = torch.where(norm > 0, 1 / norm, 0)
        U = Z * inverse
        ctx.save_for_backward(U, inverse)
        return U

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """``dz = (g - u (u . g)) / |z|``."""
        U, inverse = ctx.saved_tensors
        along = torch.linalg.vecdot(U, grads[0]).unsqueeze(-1)
        return torch.addcmul(grads[0], U, along, value=-1).mul_(inverse)

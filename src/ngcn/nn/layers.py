"""The linear part of a layer of every tower at once, and the two orders in which to multiply."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ngcn.ops import Dropout, Features, Operator, Reach, propagate, tower_linear

Input = Features | Float[Tensor, "nodes columns_in"]


class TowerWeights(nn.Module):
    r"""One weight matrix per tower: :math:`Z_t \mapsto Z_t W_t`.

    Args:
        towers: the power of each tower, ascending.
        width_in, width_out: columns per tower before and after.
        shared_input: the input is X, which all towers share and each drops out for itself.
        fan_in: what Glorot's initialisation takes for the number of inputs; `width_in` if not given.

    Shape:
        - input: :class:`~ngcn.ops.Features` of ``(nodes, width_in)`` if shared, else ``(nodes, towers * width_in)``
        - weight: ``(width_in, towers * width_out)`` if shared, else ``(towers, width_in, width_out)``
        - output: ``(nodes, towers * width_out)``
    """

    def __init__(
        self,
        towers: tuple[int, ...],
        width_in: int,
        width_out: int,
        *,
        shared_input: bool,
        fan_in: int | None = None,
    ) -> None:
        super().__init__()
        self.towers, self.width_in, self.width_out = towers, width_in, width_out
        shape = (width_in, len(towers) * width_out) if shared_input else (len(towers), width_in, width_out)
        bound = math.sqrt(6 / ((fan_in or width_in) + width_out))
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

    def forward(self, Z: Input, dropout: Dropout, reach: Reach) -> Float[Tensor, "nodes columns_out"]:
        """`dropout` is the mask on shared features; tower columns have been through theirs already."""
        if isinstance(Z, Features):
            return Z.times(self.weight, self.towers, dropout, reach)
        return tower_linear(Z, self.weight, self.towers, reach)

    def extra_repr(self) -> str:
        return f"towers={len(self.towers)}, {self.width_in} -> {self.width_out}"


class GraphConvolution(nn.Module):
    r"""One graph convolution of every tower at once: :math:`\hat{A}^{k_t} Z_t W_t`, the narrower side propagated.

    Arguments and shapes are those of :class:`TowerWeights`.
    """

    def __init__(self, towers: tuple[int, ...], width_in: int, width_out: int, **settings: Any) -> None:
        super().__init__()
        self.linear = TowerWeights(towers, width_in, width_out, **settings)

    def forward(self, A_hat: Operator, Z: Input, dropout: Dropout, reach: Reach) -> Float[Tensor, "nodes columns_out"]:
        linear = self.linear
        if linear.width_in < linear.width_out and not isinstance(Z, Features):
            return linear(propagate(A_hat, Z, linear.towers, reach), dropout, reach.after_layer())
        return propagate(A_hat, linear(Z, dropout, reach), linear.towers, reach)

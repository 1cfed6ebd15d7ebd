"""The linear part of a layer of every tower at once, and the two orders in which to multiply."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ngcn.ops import Dropout, Features, Operator, Reach, propagate, tower_linear

Input = Features | Float[Tensor, "nodes columns"]


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

    def forward(self, Z: Input, dropout: Dropout, reach: Reach) -> Float[Tensor, "nodes columns"]:
        """`dropout` is the mask on shared features; tower columns have been through theirs already."""
        if isinstance(Z, Features):
            return Z.times(self.weight, self.towers, dropout, reach)
        return tower_linear(Z, self.weight, self.towers, reach)

    def extra_repr(self) -> str:
        return f"towers={len(self.towers)}, {self.width_in} -> {self.width_out}"


class GraphConvolution(TowerWeights):
    r"""One graph convolution of every tower at once: :math:`\hat{A}^{k_t} Z_t W_t`, the narrower side propagated."""

    def convolve(self, A_hat: Operator, Z: Input, dropout: Dropout, reach: Reach) -> Float[Tensor, "nodes columns"]:
        if self.width_in < self.width_out and not isinstance(Z, Features):
            return tower_linear(propagate(A_hat, Z, self.towers, reach), self.weight, self.towers, reach.after_layer())
        return propagate(A_hat, self(Z, dropout, reach), self.towers, reach)

"""The linear part of a layer of every tower at once, and the two orders in which to multiply."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.ops import Dropout, Features, Operator, Reach, propagate, select_rows, tower_linear

Input = Features | Float[Tensor, "powers nodes columns_in"]


class TowerWeights(nn.Module):
    r"""One weight matrix per tower: :math:`Z_t \mapsto Z_t W_t`.

    Args:
        powers: the powers in use; each has `replicas` towers.
        width_in, width_out: columns per tower before and after.
        shared_input: the input is X, which all towers share; each has its own dropout mask on it.
        fan_in: what Glorot's initialisation takes for the number of inputs; `width_in` if not given.

    Shape:
        - input: :class:`~ngcn.ops.Features` of ``(nodes, width_in)`` if shared, else
          ``(powers, nodes, replicas * width_in)``
        - weight: ``(powers, width_in, replicas * width_out)`` if shared, the towers of a power side by side, else
          ``(powers, replicas, width_in, width_out)``
        - output: ``(powers, nodes, replicas * width_out)``
    """

    def __init__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        width_in: int,
        width_out: int,
        *,
        shared_input: bool,
        fan_in: int | None = None,
    ) -> None:
        super().__init__()
        self.powers, self.replicas, self.width_in, self.width_out = powers, replicas, width_in, width_out
        shape = (width_in, replicas * width_out) if shared_input else (replicas, width_in, width_out)
        bound = math.sqrt(6 / ((fan_in or width_in) + width_out))
        self.weight = nn.Parameter(torch.empty(len(powers), *shape).uniform_(-bound, bound))

    def forward(self, Z: Input, dropout: Dropout, reach: Reach) -> Float[Tensor, "powers nodes columns_out"]:
        """`dropout` is the mask on shared features; tower columns have been through theirs already."""
        if isinstance(Z, Features):
            return Z.times(self.weight, self.replicas, dropout, reach)
        return tower_linear(Z, self.weight, reach)

    def extra_repr(self) -> str:
        return f"powers={self.powers}, replicas={self.replicas}, {self.width_in} -> {self.width_out}"


class GraphConvolution(nn.Module):
    r"""One graph convolution of every tower: :math:`\hat{A}^{k_t} Z_t W_t`, the narrower side propagated.

    Of X it is always :math:`X W_t`. With ``bias``, a row :math:`b_t` is added to all rows, ``(powers, 1, replicas *
    width_out)``. Other arguments and shapes are those of :class:`TowerWeights`.
    """

    def __init__(self, *args: Any, bias: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self.linear = linear = TowerWeights(*args, **kwargs)
        columns = linear.replicas * linear.width_out
        self.bias = nn.Parameter(torch.zeros(len(linear.powers), 1, columns)) if bias else None

    def forward(
        self, A_hat: Operator, Z: Input, dropout: Dropout, reach: Reach
    ) -> Float[Tensor, "powers nodes columns_out"]:
        Z = self._convolve(A_hat, Z, dropout, reach)
        return Z if self.bias is None else Z.add_(self.bias)

    def _convolve(self, A_hat: Operator, Z: Input, dropout: Dropout, reach: Reach) -> Tensor:
        linear = self.linear
        if linear.width_in < linear.width_out and not isinstance(Z, Features):
            return linear(propagate(A_hat, Z, linear.powers, reach), dropout, reach.after_layer)
        return propagate(A_hat, linear(Z, dropout, reach), linear.powers, reach)


def tower_outputs(
    Z: Float[Tensor, "powers nodes columns"], replicas: int, rows: Int[Tensor, " rows"] | None
) -> Float[Tensor, "rows towers width"]:
    """The blocks of all powers, cut down to `rows`, as a row of towers for each node."""
    return select_rows(Z, rows).flatten(1).unflatten(1, (len(Z) * replicas, -1))

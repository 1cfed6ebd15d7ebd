"""Algorithm 2 of the paper: the GCN models of all towers, side by side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.layers import GraphConvolution, tower_outputs
from ngcn.ops import NONE, Dropout, Features, Operator, Reach, relu_dropout


class GCN(nn.Module):
    r"""A GCN per tower, tower t on :math:`\hat{A}^{k_t}` (Kipf and Welling, 2017).

    .. math:: Z \leftarrow \sigma(\hat{A}^{k} \, \mathrm{drop}(Z) \, W^{(i)}), \quad i = 1 \dots L

    :math:`\sigma` is ReLU, and in the last layer the activation function of the classifier.

    Args:
        powers: the powers in use, ascending.
        replicas: towers per power.
        widths: the number of features, and the outputs of each of the L layers.
        dropout: the probability of dropping an input of a layer.
        activation: :math:`\sigma` of the last layer.

    Shape:
        - X: ``(nodes, widths[0])``
        - output: ``(rows, towers, widths[-1])``
    """

    def __init__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        widths: tuple[int, ...],
        dropout: float,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.powers, self.replicas, self.dropout, self.activation = powers, replicas, dropout, activation
        self.layers = nn.ModuleList(
            GraphConvolution(powers, replicas, width_in, width_out, shared_input=i == 0)
            for i, (width_in, width_out) in enumerate(pairwise(widths))
        )

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        reach = Reach.of(A_hat, None if rows is None else rows.cpu().numpy(), self.powers, len(self.layers))
        Z: Any = X  # the features, then a block of columns per power
        for i, layer in enumerate(self.layers):
            dropout = Dropout.draw(self.dropout) if self.training else NONE
            if i > 0:
                Z = relu_dropout(Z, dropout, reach)
            Z = layer(A_hat, Z, dropout, reach)
            reach = reach.after_layer()
        return self.activation(tower_outputs(Z, self.replicas, rows))

    def extra_repr(self) -> str:
        return f"powers={self.powers}, replicas={self.replicas}, dropout={self.dropout}"

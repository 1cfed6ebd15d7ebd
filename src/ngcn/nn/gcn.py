"""Algorithm 2 of the paper: the GCN models of all towers, side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.graph_model import GraphModel
from ngcn.nn.layers import GraphConvolution, tower_outputs
from ngcn.ops import NONE, Dropout, Features, Operator, Reach, relu_dropout


class GCN(GraphModel):
    r"""A GCN per tower, tower t on :math:`\hat{A}^{k_t}` (Kipf and Welling, 2017).

    .. math:: Z \leftarrow \sigma(\hat{A}^{k} \, \mathrm{drop}(Z) \, W^{(i)}), \quad i = 1 \dots L

    :math:`\sigma` is ReLU, and in the last layer the activation function of the classifier. With ``bias``, a learned
    row is added before it.

    Arguments and shapes are those of :class:`GraphModel`.
    """

    def build(self, widths: tuple[int, ...]) -> None:
        self.layers = nn.ModuleList(
            GraphConvolution(self.powers, self.replicas, width_in, width_out, shared_input=i == 0, bias=self.bias)
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
            reach = reach.after_layer
        return self.activation(tower_outputs(Z, self.replicas, rows))

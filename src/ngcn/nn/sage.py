"""Algorithm 3 of the paper: the SAGE models of all towers, side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.graph_model import GraphModel
from ngcn.nn.layers import GraphConvolution, TowerWeights, tower_outputs
from ngcn.ops import NONE, Dropout, Features, Operator, Reach, l2_normalize, relu_dropout, relu_normalize_dropout


class SAGE(GraphModel):
    r"""A GraphSAGE model with mean aggregation per tower, tower t on :math:`\hat{A}^{k_t}` (Hamilton et al., 2017).

    .. math::
        Z \leftarrow \mathrm{L2NormalizeRows}\left(\sigma(
            [\,\mathrm{drop}(Z) \mid \hat{A}^{k} \, \mathrm{drop}(Z)\,] \, W^{(i)})\right), \quad i = 1 \dots L

    The two halves of :math:`W^{(i)}` are multiplied separately, so that nothing is concatenated.
    :math:`\sigma` is ReLU, and in the last layer the activation function of the classifier. With ``bias``, a learned
    row is added before it.

    Arguments and shapes are those of :class:`GraphModel`.
    """

    normalizes_rows = True

    def build(self, widths: tuple[int, ...]) -> None:
        self.own, self.neighbours = nn.ModuleList(), nn.ModuleList()
        for i, (width_in, width_out) in enumerate(pairwise(widths)):
            half: dict[str, Any] = {"shared_input": i == 0, "fan_in": 2 * width_in}
            self.own.append(TowerWeights(self.powers, self.replicas, width_in, width_out, **half))
            neighbours = GraphConvolution(self.powers, self.replicas, width_in, width_out, bias=self.bias, **half)
            self.neighbours.append(neighbours)

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        reach = Reach.of(A_hat, None if rows is None else rows.cpu().numpy(), self.powers, len(self.own))
        Z: Any = X  # the features, then a block of columns per power
        for i, (own, neighbours) in enumerate(zip(self.own, self.neighbours, strict=True)):
            dropout = Dropout.draw(self.dropout) if self.training else NONE
            if i > 0:
                Z = self._activate(Z, dropout, reach)
            Z = neighbours(A_hat, Z, dropout, reach).add_(own(Z, dropout, reach.after_layer))
            reach = reach.after_layer
        Z = self.activation(tower_outputs(Z, self.replicas, rows))
        return l2_normalize(Z) if self.normalizes_rows else Z

    def _activate(self, Z: Tensor, dropout: Dropout, reach: Reach) -> Tensor:
        if self.normalizes_rows:
            return relu_normalize_dropout(Z, self.replicas, dropout, reach)
        return relu_dropout(Z, dropout, reach)


class PlainSAGE(SAGE):
    r"""SAGE without the normalisation of rows, so that a tower may be as sure of a class as it likes.

    .. math:: Z \leftarrow \sigma(\mathrm{drop}(Z) W^{(i)} + \hat{A}^{k} \, \mathrm{drop}(Z) V^{(i)})
    """

    normalizes_rows = False

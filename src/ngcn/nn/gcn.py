"""Algorithm 2 of the paper: the GCN models of all towers, side by side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.graph_model import GraphModel, SecondLayer
from ngcn.nn.layers import GraphConvolution, tower_outputs
from ngcn.ops import Dropout, Features, Operator, Reach, SampledPower, relu_dropout


class GCN(GraphModel):
    r"""A GCN per tower, tower t on :math:`\hat{A}^{k_t}` (Kipf and Welling, 2017).

    .. math:: Z \leftarrow \sigma(\hat{A}^{k} \, \mathrm{drop}(Z) \, W^{(i)}), \quad i = 1 \dots L

    :math:`\sigma` is ReLU, and in the last layer the activation function of the classifier. With ``bias``, a learned
    row is added before it.

    Arguments and shapes are those of :class:`GraphModel`.

    Example:
        >>> import torch
        >>> from ngcn import Features, load_dataset, normalize
        >>> graph = load_dataset("cora")
        >>> towers = GCN((0, 1, 2), replicas=2, widths=(1433, 16, 7), dropout=0.5)
        >>> towers(normalize(graph.adjacency), Features(graph.features), torch.tensor([0, 5])).shape
        torch.Size([2, 6, 7])
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
            dropout = self.draw()
            if i > 0:
                Z = relu_dropout(Z, dropout, reach)
            Z = layer(A_hat, Z, dropout, reach)
            reach = reach.after_layer
        return self.activation(tower_outputs(Z, self.replicas, rows))

    @property
    def hops(self) -> int:
        return len(self.layers) - 1

    def linear(self, p: int, power: SampledPower, draw: Callable[[], Dropout]) -> Float[Tensor, "inputs columns"]:
        r""":math:`\mathrm{drop}(S_k) W^{(1)}`, with :math:`S_k = \hat{A}^k X`."""
        first = cast(GraphConvolution, self.layers[0])
        Y = power.times(power.S, first.linear.weight[p], self.replicas, draw())
        return power.plus(Y, None if first.bias is None else first.bias[p])

    def activate(self, Y: Float[Tensor, "inputs columns"]) -> Float[Tensor, "inputs columns"]:
        return relu_dropout(Y[None], self.draw())[0] if self.hops else Y

    def second(self, p: int) -> SecondLayer:
        return SecondLayer(cast(GraphConvolution, self.layers[1]).linear.weight[p])

    def outputs(
        self, p: int, own: Float[Tensor, "nodes hidden"] | None, of_others: Float[Tensor, "nodes columns"]
    ) -> Float[Tensor, "nodes replicas width"]:
        """:math:`\\sigma` of what comes along the edges."""
        last, Z = cast(GraphConvolution, self.layers[-1]), of_others
        Z = Z if last.bias is None or not self.hops else Z + last.bias[p]
        return self.activation(tower_outputs(Z[None], self.replicas, None))

    @property
    def propagated(self) -> tuple[Tensor, Tensor | None]:
        first = cast(GraphConvolution, self.layers[0])
        return first.linear.weight, first.bias

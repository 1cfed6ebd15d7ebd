"""Algorithm 3 of the paper: the SAGE models of all towers, side by side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.graph_model import GraphModel, SecondLayer
from ngcn.nn.layers import GraphConvolution, TowerWeights, tower_outputs
from ngcn.ops import (
    Dropout,
    Features,
    Operator,
    Reach,
    SampledPower,
    l2_normalize,
    relu_dropout,
    relu_normalize_dropout,
)


class SAGE(GraphModel):
    r"""A GraphSAGE model with mean aggregation per tower, tower t on :math:`\hat{A}^{k_t}` (Hamilton et al., 2017).

    .. math::
        Z \leftarrow \mathrm{L2NormalizeRows}\left(\sigma(
            [\,\mathrm{drop}(Z) \mid \hat{A}^{k} \, \mathrm{drop}(Z)\,] \, W^{(i)})\right), \quad i = 1 \dots L

    The two halves of :math:`W^{(i)}` are multiplied separately, so that nothing is concatenated.
    :math:`\sigma` is ReLU, and in the last layer the activation function of the classifier. With ``bias``, a learned
    row is added before it.

    Arguments and shapes are those of :class:`GraphModel`.

    Example:
        >>> import torch
        >>> from ngcn import Features, load_dataset, normalize
        >>> graph = load_dataset("cora")
        >>> towers = SAGE((0, 1, 2), replicas=2, widths=(1433, 16, 7), dropout=0.5)
        >>> towers(normalize(graph.adjacency, "row"), Features(graph.features), torch.tensor([0, 5])).shape
        torch.Size([2, 6, 7])
    """

    normalizes_rows = True
    reads_own = True

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
            dropout = self.draw()
            if i > 0:
                Z = self._activate(Z, dropout, reach)
            Z = neighbours(A_hat, Z, dropout, reach).add_(own(Z, dropout, reach.after_layer))
            reach = reach.after_layer
        Z = self.activation(tower_outputs(Z, self.replicas, rows))
        return l2_normalize(Z) if self.normalizes_rows else Z

    @property
    def hops(self) -> int:
        return len(self.own) - 1

    def linear(self, p: int, power: SampledPower, draw: Callable[[], Dropout]) -> Float[Tensor, "inputs columns"]:
        r""":math:`[\,\mathrm{drop}(X) \mid \mathrm{drop}(S_k)\,] \, W^{(1)}`, given rows of X and of
        :math:`S_k = \hat{A}^k X`."""
        first, own = cast(GraphConvolution, self.neighbours[0]), cast(TowerWeights, self.own[0])
        assert power.X is not None  # see reads_own
        Y = power.times(power.X, own.weight[p], self.replicas, draw())
        Y = Y + power.times(power.S, first.linear.weight[p], self.replicas, draw())
        return power.plus(Y, None if first.bias is None else first.bias[p])

    def activate(self, Y: Float[Tensor, "inputs columns"]) -> Float[Tensor, "inputs columns"]:
        return self._activate(Y[None], self.draw())[0] if self.hops else Y

    def second(self, p: int) -> SecondLayer:
        return SecondLayer(cast(GraphConvolution, self.neighbours[1]).linear.weight[p])

    def outputs(
        self, p: int, own: Float[Tensor, "nodes hidden"] | None, of_others: Float[Tensor, "nodes columns"]
    ) -> Float[Tensor, "nodes replicas width"]:
        """:math:`\\mathrm{L2NormalizeRows}(\\sigma(H W + M))` with H the hidden units of the nodes and M
        what comes along the edges. The half of H is exact in a sampled batch, too."""
        last, Z = cast(GraphConvolution, self.neighbours[-1]), of_others
        if own is not None:
            Z = Z + SecondLayer(cast(TowerWeights, self.own[1]).weight[p]).times(own)
            Z = Z if last.bias is None else Z + last.bias[p]
        Z = self.activation(tower_outputs(Z[None], self.replicas, None))
        return l2_normalize(Z) if self.normalizes_rows else Z

    @property
    def propagated(self) -> tuple[Tensor, Tensor | None]:
        first = cast(GraphConvolution, self.neighbours[0])
        return first.linear.weight, first.bias

    def _activate(self, Z: Tensor, dropout: Dropout, reach: Reach | None = None) -> Tensor:
        if self.normalizes_rows:
            return relu_normalize_dropout(Z, self.replicas, dropout, reach)
        return relu_dropout(Z, dropout, reach)


class PlainSAGE(SAGE):
    r"""SAGE without the normalisation of rows, so that a tower may be as sure of a class as it likes.

    .. math:: Z \leftarrow \sigma(\mathrm{drop}(Z) W^{(i)} + \hat{A}^{k} \, \mathrm{drop}(Z) V^{(i)})
    """

    normalizes_rows = False

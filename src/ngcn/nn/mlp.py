"""Towers that propagate once: an MLP on features that are averaged over the powers of Â."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.graph_model import GraphModel
from ngcn.nn.layers import TowerWeights, tower_outputs
from ngcn.ops import (
    Dropout,
    Features,
    Operator,
    Reach,
    SampledPower,
    propagate,
    propagate_average,
    relu_dropout,
    tower_linear,
)


class MLP(GraphModel):
    r"""An MLP per tower, on features that are propagated once.

    .. math::
        Z \leftarrow \mathrm{MLP}(P_k \, \mathrm{drop}(X)), \qquad
        P_k = \frac{1}{k + 1} \sum_{j=0}^{k} \hat{A}^j

    :math:`P_k` is the mixed-order propagation of GRAND (Feng et al., 2020), and drop is dropout of features and of
    nodes (DropNode). The first weight matrix is multiplied before :math:`P_k`, so that X stays sparse.

    Arguments and shapes are those of :class:`GraphModel`.

    Attributes:
        drop_nodes: the probability of dropping all features of a node.
    """

    averages = True
    drop_nodes = 0.0

    def build(self, widths: tuple[int, ...]) -> None:
        self.layers, self.biases = nn.ModuleList(), nn.ParameterList()
        for i, (width_in, width_out) in enumerate(pairwise(widths)):
            self.layers.append(TowerWeights(self.powers, self.replicas, width_in, width_out, shared_input=i == 0))
            if self.bias:
                self.biases.append(torch.zeros(len(self.powers), 1, self.replicas * width_out))

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        reach, Z = Reach.of(A_hat, None, self.powers), X  # all rows: an average reaches far
        out: Any = Z
        for i, layer in enumerate(self.layers):
            dropout = self.draw()
            out = layer(relu_dropout(out, dropout) if i else out, dropout, reach)
            if i == 0:
                out = self._propagate(A_hat, self._without_nodes(out))
            if self.bias:
                out = out + self.biases[i]
        return self.activation(tower_outputs(out, self.replicas, rows))

    @property
    def hops(self) -> int:
        return 0

    def sampled(self, powers: Mapping[int, SampledPower]) -> Float[Tensor, "nodes towers width"]:
        """The MLP on rows of :math:`P_k X`, which takes no samples: it is exact. Without DropNode, since the product
        is computed beforehand; and features are dropped after it."""
        first, *others = [cast(TowerWeights, layer) for layer in self.layers]
        inputs = [powers[k] for k in self.powers]
        products = [S.times(S.S, W, self.replicas, self.draw()) for S, W in zip(inputs, first.weight, strict=True)]
        Z = torch.stack(products)
        for i, layer in enumerate([first, *others]):
            Z = tower_linear(relu_dropout(Z, self.draw()), layer.weight) if i else Z
            Z = Z + self.biases[i] if self.bias else Z
        return self.activation(tower_outputs(Z, self.replicas, None))

    @property
    def propagated(self) -> tuple[Tensor, Tensor | None]:
        return cast(TowerWeights, self.layers[0]).weight, self.biases[0] if self.bias else None

    def _propagate(self, A_hat: Operator, Z: Tensor) -> Tensor:
        return propagate_average(A_hat, Z, self.powers) if self.averages else propagate(A_hat, Z, self.powers)

    def _without_nodes(self, XW: Float[Tensor, "powers nodes columns"]) -> Float[Tensor, "powers nodes columns"]:
        """DropNode: each tower drops other nodes."""
        if not (self.training and self.drop_nodes):
            return XW
        ones = XW.new_ones(*XW.shape[:2], self.replicas)
        mask = relu_dropout(ones, Dropout.draw(self.drop_nodes))
        return (XW.unflatten(2, (self.replicas, -1)) * mask[..., None]).flatten(2)


class PowerMLP(MLP):
    r"""The same with a single power: :math:`Z \leftarrow \mathrm{MLP}(\hat{A}^k \, \mathrm{drop}(X))`."""

    averages = False

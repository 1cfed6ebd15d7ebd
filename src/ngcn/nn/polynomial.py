r"""Graph models whose layers multiply by a polynomial of Â, the paper's :math:`g(\sum_k q_k \hat{A}^k)`."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.errors import ConfigError
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import Dropout, Features, Operator, relu_dropout


class Polynomial(GraphModel):
    r"""A single graph model, :math:`Z \leftarrow \sigma(p(\hat{A}, \mathrm{drop}(Z) W^{(i)}))` in each layer.

    :math:`p` is linear in its second argument. :math:`\sigma` is ReLU, and in the last layer the activation function
    of the classifier.

    Arguments and shapes are those of :class:`GraphModel`, with one replica, and one tower that mixes all powers.
    """

    matrices = 1  # in a layer, side by side

    def build(self, widths: tuple[int, ...]) -> None:
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths[1:] if self.bias)
        for width_in, width_out in pairwise(widths):
            bound = math.sqrt(6 / (width_in + width_out))
            self.weights.append(torch.empty(width_in, self.matrices * width_out).uniform_(-bound, bound))

    @classmethod
    def tower_powers(cls, powers: tuple[int, ...], replicas: int) -> tuple[None]:
        """A single tower, which has no power of its own: it mixes all of them."""
        if replicas != 1:
            raise ConfigError(
                f"{cls.__name__} is one graph model on all powers, so replicas must be 1, not {replicas}."
            )
        return (None,)

    def tower(self, tensors: Mapping[str, Tensor], t: int) -> list[Tensor]:
        return [tensors[name] for name, _ in self.named_parameters()]

    @abstractmethod
    def polynomial(self, A_hat: Operator, Y: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes width"]:
        """:math:`p(\\hat{A}, Y)`."""

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows 1 width"]:
        rate = self.dropout if self.training else 0.0
        Z: Tensor = X.times(self.weights[0][None], replicas=1, dropout=Dropout.draw(rate))[0]
        for i, _ in enumerate(self.weights):
            Z = relu_dropout(Z[None], Dropout.draw(rate))[0] @ self.weights[i] if i else Z
            Z = self.polynomial(A_hat, Z)
            Z = Z + self.biases[i] if self.bias else Z
        return self.activation(Z if rows is None else Z[rows])[:, None]


class WalkCoefficients(Polynomial):
    r"""A GCN on a learned mixture of the powers of Â: :math:`Z \leftarrow \sigma(\sum_k q_k \hat{A}^k Z W)`.

    The coefficients q are the softmax of parameters, one per power, that all layers share; the idea is that of
    S. Abu-El-Haija et al., *Watch your step: learning node embeddings via graph attention*, NeurIPS 2018.
    N-GCN mixes the predictions of one tower per power instead: :math:`\sum_k q_k g(\hat{A}^k)`.
    """

    def build(self, widths: tuple[int, ...]) -> None:
        super().build(widths)
        self.scores = nn.Parameter(torch.zeros(len(self.powers)))

    def polynomial(self, A_hat: Operator, Y: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes width"]:
        step, walked, total = A_hat.power(1), 0, torch.zeros_like(Y)
        for k, q in zip(self.powers, self.scores.softmax(dim=0), strict=True):
            for _ in range(k - walked):
                Y = step @ Y
            walked, total = k, total + q * Y
        return total

    def scale_weights(self) -> dict[int, float]:
        """q."""
        return dict(zip(self.powers, self.scores.detach().softmax(dim=0).tolist(), strict=True))

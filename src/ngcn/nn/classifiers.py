"""The classification sub-networks: how the outputs of all towers become one prediction.

Each returns logits: their softmax (for multi-label, their sigmoid) is the prediction. :data:`ngcn.registry.CLASSIFIERS`
lists them by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid, pad

from ngcn.checks import choice
from ngcn.errors import ConfigError
from ngcn.ops import Dropout, relu_dropout
from ngcn.registry import CLASSIFIERS, load

Towers = tuple[int | None, ...]  # the power of each tower; None for one that mixes all powers


class Classifier(nn.Module, ABC):
    """The base class. A classifier takes ``(rows, towers, width)`` and returns logits, ``(rows, classes)``.

    Args:
        towers: the power of each tower.
        width: the outputs of a tower.
        classes: the number of classes.
        dropout: the probability of dropping an input of a layer.
        multilabel: several classes may hold at once.

    Attributes:
        activation: the activation function of the towers' last layer.
        mixes_classes: each tower predicts the classes, and the result is a convex combination of these predictions.

    Example:
        >>> class Mean(Classifier):
        ...     def build(self, towers, width, classes): ...
        ...     def forward(self, outputs):
        ...         return outputs.softmax(dim=2).mean(dim=1).log()
        >>> Mean((0, 1, 2), width=7, classes=7)(torch.randn(5, 3, 7)).shape
        torch.Size([5, 7])
    """

    activation: Callable[[Tensor], Tensor] = nn.Identity()
    mixes_classes = True

    def __init__(
        self, towers: Towers, width: int, classes: int, *, dropout: float = 0.5, multilabel: bool = False
    ) -> None:
        super().__init__()
        self.dropout, self.multilabel = dropout, multilabel
        if self.mixes_classes and width != classes:
            raise ConfigError(
                f"The classifier {type(self).__name__} needs towers with one output per class, {classes}, not {width}."
            )
        self.build(towers, width, classes)

    @abstractmethod
    def build(self, towers: Towers, width: int, classes: int) -> None:
        """Make the parameters."""

    def weights(self) -> Float[Tensor, " towers"] | None:
        """How much each tower counts; None if a tower has no weight of its own."""
        return None

    def penalty(self) -> Tensor | float:
        """A term of the training loss, to be divided by the number of labelled nodes."""
        return 0.0


def make_classifier(name: str, *shape: Any, **settings: Any) -> Classifier:
    """The classifier of this name; arguments as for :class:`Classifier`.

    Example:
        >>> make_classifier("harmonic", (0, 1, 2), 7, 7).weights()
        tensor([0.0625, 0.6250, 0.3125])
    """
    classifier: Classifier = load(CLASSIFIERS[choice(CLASSIFIERS)("classifier", name)])(*shape, **settings)
    return classifier


class FullyConnected(Classifier):
    r"""``fc``: the towers' outputs side by side, times one matrix.

    .. math:: [\,\sigma(Z_0) \mid \sigma(Z_1) \mid \dots\,] \, W_{fc}
    """

    activation: Callable[[Tensor], Tensor] = staticmethod(torch.relu)
    mixes_classes = False
    between: tuple[int, ...] = ()  # the outputs of layers in between

    def build(self, towers: Towers, width: int, classes: int) -> None:
        widths = (len(towers) * width, *self.between, classes)
        self.layers = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairwise(widths))
        for weight in self.layers.parameters():
            nn.init.xavier_uniform_(weight)

    def forward(self, Z: Float[Tensor, "rows towers width"]) -> Float[Tensor, "rows classes"]:
        H = self.hidden(Z)
        for layer in self.layers[1:]:
            H = layer(self._relu_dropout(H))
        return H

    def hidden(self, Z: Float[Tensor, "rows towers width"]) -> Float[Tensor, "rows hidden"]:
        """The output of the first layer before ReLU, which the paper's t-SNE figure shows."""
        return self.layers[0](self._relu_dropout(Z.flatten(1)))  # towers end in ReLU: here it changes nothing

    def _relu_dropout(self, H: Tensor) -> Tensor:
        return relu_dropout(H[None], Dropout.draw(self.dropout if self.training else 0.0))[0]


class TwoLayers(FullyConnected):
    """``fc2``: two fully-connected layers with 64 hidden units, as in the paper's t-SNE figure."""

    between = (64,)


class Mixture(Classifier):
    r"""A convex combination of the towers' class probabilities, one weight per tower.

    .. math:: \sum_t m_t \, \mathrm{softmax}(Z_t), \qquad m = \mathrm{softmax}(\tilde{m})

    The result is the log of the mixture, so that its cross entropy is the log-likelihood of the mixture itself.
    For multi-label, the sigmoid takes the place of the softmax.
    """

    scores: Tensor  # m~, one per tower

    def forward(self, Z: Float[Tensor, "rows towers classes"]) -> Float[Tensor, "rows classes"]:
        log_m = log_softmax(self.scores, dim=0)[:, None]
        if self.multilabel:
            odds: Tensor = _MixedOdds.apply(log_m, Z)
            return odds
        # Rows come last: torch is several times slower over a short last axis of classes. They are padded to whole
        # vectors: torch rounds the remainder differently, and a row must not depend on the number of others.
        Z, rows = pad(Z.permute(1, 2, 0), (0, -len(Z) % 32)), len(Z)
        return torch.logsumexp(log_m[:, None] + log_softmax(Z, dim=1), dim=0)[:, :rows].T

    def weights(self) -> Float[Tensor, " towers"]:
        """m, which sums to 1."""
        return torch.softmax(self.scores.detach(), dim=0)

    def extra_repr(self) -> str:
        return f"towers={len(self.scores)}, learned={isinstance(self.scores, nn.Parameter)}"


class Fixed(Mixture):
    """A mixture whose weights are not learned."""

    def build(self, towers: Towers, width: int, classes: int) -> None:
        self.register_buffer("scores", self.m(torch.tensor(towers, dtype=torch.get_default_dtype())).log())

    @abstractmethod
    def m(self, k: Tensor) -> Tensor:
        """The weights of towers with the powers k, up to a common factor."""


class Harmonic(Fixed):
    """Weights :math:`m_k = 1/k`, with the paper's "small value" for m_0, which we take as 0.1."""

    def m(self, k: Tensor) -> Tensor:
        return torch.where(k == 0, 0.1, 1 / k.clamp(min=1))


class Linear(Fixed):
    """Weights :math:`m_k = (K-k)/(K-1)`."""

    def m(self, k: Tensor) -> Tensor:
        K = k[-1] + 1
        return (K - k) / (K - 1).clamp(min=1)


class FreeAttention(Mixture):
    """Learned weights, as in the paper."""

    def build(self, towers: Towers, width: int, classes: int) -> None:
        self.scores = nn.Parameter(torch.zeros(len(towers)))


class Attention(FreeAttention):
    r"""Learned weights with the penalty :math:`\frac{4}{n} \sum_t \tilde{m}_t^2` for n labelled nodes in the loss.

    Without it, one tower takes all of m before the others have learned (docs/research/differences.md).
    """

    def penalty(self) -> Tensor:
        return 4.0 * self.scores.square().sum()


class Identity(Classifier):
    """The output of the only tower, unchanged: GCN and SAGE by themselves."""

    def build(self, towers: Towers, width: int, classes: int) -> None:
        if len(towers) != 1:
            raise ConfigError(f"The identity classifier takes a single tower, but there are {len(towers)}.")

    def forward(self, Z: Float[Tensor, "rows 1 classes"]) -> Float[Tensor, "rows classes"]:
        return Z[:, 0]

    def weights(self) -> Float[Tensor, " towers"]:
        return torch.ones(1)


class _MixedOdds(torch.autograd.Function):
    """The logits of ``sum_t m_t sigmoid(Z_t)``, in chunks of rows: all at once needs many times the memory of Z."""

    ROWS = 4096

    @staticmethod
    def forward(ctx: Any, log_m: Tensor, Z: Tensor) -> Tensor:
        ctx.save_for_backward(log_m, Z)
        return torch.cat([_mixed_odds(log_m, part) for part in Z.split(_MixedOdds.ROWS)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        log_m, Z = ctx.saved_tensors
        of_m, of_Z = torch.zeros_like(log_m), torch.empty_like(Z)
        for part, G, out in zip(*(whole.split(_MixedOdds.ROWS) for whole in (Z, grads[0], of_Z)), strict=True):
            with torch.enable_grad():
                inputs = log_m.detach().requires_grad_(), part.detach().requires_grad_()
                slopes = torch.autograd.grad(_mixed_odds(*inputs), inputs, G)
            of_m += slopes[0]
            out.copy_(slopes[1])
        return of_m, of_Z


def _mixed_odds(log_m: Tensor, Z: Tensor) -> Tensor:
    yes, no = (torch.logsumexp(log_m + logsigmoid(score), dim=1) for score in (Z, -Z))
    return yes - no

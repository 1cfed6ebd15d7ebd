"""The classification sub-networks: how the outputs of all towers become one prediction.

Each returns logits: their softmax (for multi-label, their sigmoid) is the prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid, pad

from ngcn.ops import Dropout, relu_dropout


class FullyConnected(nn.Module):
    r"""The towers' outputs side by side, times one matrix.

    .. math:: [\,\sigma(Z_0) \mid \sigma(Z_1) \mid \dots\,] \, W_{fc}

    Args:
        towers: their number.
        width: columns per tower.
        classes: columns of the result.
        dropout: the probability of dropping an input of a layer.
        hidden: width of a layer in between, with ReLU after it, as in the paper's t-SNE figure; none if None.
    """

    activation: Callable[[Tensor], Tensor] = staticmethod(torch.relu)
    mixes_classes = False

    def __init__(self, towers: int, width: int, classes: int, *, dropout: float, hidden: int | None = None) -> None:
        super().__init__()
        self.dropout = dropout
        widths = [towers * width, classes] if hidden is None else [towers * width, hidden, classes]
        self.layers = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairwise(widths))
        for weight in self.layers.parameters():
            nn.init.xavier_uniform_(weight)

    def forward(self, Z: Float[Tensor, "rows towers width"]) -> Float[Tensor, "rows classes"]:
        H = self.hidden(Z)
        for layer in self.layers[1:]:
            H = layer(self._relu_dropout(H))
        return H

    def hidden(self, Z: Float[Tensor, "rows towers width"]) -> Float[Tensor, "rows hidden"]:
        """What the first layer gives, before ReLU: the paper's t-SNE figure shows it."""
        return self.layers[0](self._relu_dropout(Z.flatten(1)))  # the towers' own ReLU has left nothing to cut off

    def _relu_dropout(self, H: Tensor) -> Tensor:
        return relu_dropout(H[None], Dropout.draw(self.dropout if self.training else 0.0))[0]

    def weights(self) -> None:
        """A fully-connected layer has no weight per tower."""
        return


class Mixture(nn.Module):
    r"""A convex combination of the towers' class probabilities, one weight per tower.

    .. math:: \sum_t m_t \, \mathrm{softmax}(Z_t), \qquad m = \mathrm{softmax}(\tilde{m})

    The result is the log of the mixture, so that its cross entropy is the log-likelihood of the mixture itself.
    For multi-label, the sigmoid takes the place of the softmax.

    Args:
        scores: :math:`\tilde{m}`, one per tower.
        learned: whether :math:`\tilde{m}` is trained (the paper's attention) or stays as it is.
        multilabel: several classes may hold at once.
        price: what unequal weights cost in training, see :meth:`penalty`.
    """

    activation: Callable[[Tensor], Tensor] = nn.Identity()
    mixes_classes = True

    def __init__(
        self, scores: Float[Tensor, " towers"], *, learned: bool, multilabel: bool = False, price: float = 0.0
    ) -> None:
        super().__init__()
        self.multilabel, self.price = multilabel, price
        if learned:
            self.scores = nn.Parameter(scores)
        else:
            self.register_buffer("scores", scores)

    def forward(self, Z: Float[Tensor, "rows towers classes"]) -> Float[Tensor, "rows classes"]:
        log_m = log_softmax(self.scores, dim=0)[:, None]
        if self.multilabel:
            odds: Tensor = _MixedOdds.apply(log_m, Z)
            return odds
        # Rows last, since torch takes several times as long over a few classes in a row; and as many as make whole
        # vectors, since what does not is rounded otherwise, and a row is not to depend on how many others there are.
        Z, rows = pad(Z.permute(1, 2, 0), (0, -len(Z) % 32)), len(Z)
        return torch.logsumexp(log_m[:, None] + log_softmax(Z, dim=1), dim=0)[:, :rows].T

    def penalty(self) -> Tensor:
        r"""The price times :math:`\sum \tilde{m}^2`, counted in labelled nodes: what many labels say outweighs it.

        Without it one tower takes all of m before the others have learned (docs/differences.md).
        """
        return self.price * self.scores.square().sum() if self.price else torch.zeros(())

    def weights(self) -> Float[Tensor, " towers"]:
        """m, which sums to 1."""
        return torch.softmax(self.scores.detach(), dim=0)

    def extra_repr(self) -> str:
        return f"towers={len(self.scores)}, learned={isinstance(self.scores, nn.Parameter)}"


class _MixedOdds(torch.autograd.Function):
    """The logits of ``sum_t m_t sigmoid(Z_t)``, some rows at a time: all at once takes many times the memory of Z."""

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


class Identity(nn.Module):
    """The output of the only tower, as it is: GCN and SAGE by themselves."""

    activation: Callable[[Tensor], Tensor] = nn.Identity()
    mixes_classes = True

    def forward(self, Z: Float[Tensor, "rows 1 classes"]) -> Float[Tensor, "rows classes"]:
        return Z[:, 0]

    def weights(self) -> Float[Tensor, " towers"]:
        return torch.ones(1)


Classifier = FullyConnected | Mixture | Identity

HIDDEN = 64  # columns of the layer in between, in fc2
PRICE = 4.0  # of unequal attention, beside the cross entropies of the labelled nodes
SMALL = 0.1  # the "small value" for m_0 that the paper leaves open, beside m_1 = 1


def make_classifier(
    name: str, towers: tuple[int, ...], width: int, classes: int, *, dropout: float = 0.5, multilabel: bool = False
) -> Classifier:
    r"""The classifier of this name.

    ``attention`` (learned m, unequal weights have a price), ``free-attention`` (without the price, as in the paper),
    ``harmonic`` (:math:`m_k = 1/k`, a small :math:`m_0`), ``linear`` (:math:`m_k = (K-k)/(K-1)`), ``fc``, ``fc2`` (two
    layers), ``identity`` (one tower only).

    Example:
        >>> make_classifier("harmonic", (0, 1, 2), 7, 7).weights()
        tensor([0.0625, 0.6250, 0.3125])
    """
    if name == "fc":
        return FullyConnected(len(towers), width, classes, dropout=dropout)
    if name == "fc2":
        return FullyConnected(len(towers), width, classes, dropout=dropout, hidden=HIDDEN)
    if width != classes:
        raise ValueError(f"The {name} classifier needs towers with one output per class, {classes}, not {width}.")
    if name == "identity":
        if len(towers) != 1:
            raise ValueError(f"The identity classifier passes on a single tower, but there are {len(towers)}.")
        return Identity()
    k = torch.tensor(towers, dtype=torch.get_default_dtype())
    if name in ("attention", "free-attention"):
        price = PRICE if name == "attention" else 0.0
        return Mixture(torch.zeros(len(towers)), learned=True, multilabel=multilabel, price=price)
    if name == "harmonic":
        return Mixture(torch.where(k == 0, SMALL, 1 / k.clamp(min=1)).log(), learned=False, multilabel=multilabel)
    if name == "linear":
        K = towers[-1] + 1
        return Mixture(((K - k) / max(K - 1, 1)).log(), learned=False, multilabel=multilabel)
    raise ValueError(f"There is no classifier {name!r}; choose one of {', '.join(CLASSIFIERS)}.")


CLASSIFIERS = ("attention", "free-attention", "fc", "fc2", "harmonic", "linear", "identity")

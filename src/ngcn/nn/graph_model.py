"""`GraphModel`: what the graph models of a network have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ngcn.errors import ConfigError
from ngcn.ops import NONE, Dropout, SampledPower, tower_linear

Activation = Callable[[Tensor], Tensor]
SMALLEST = 1e-30  # divisor


class SecondLayer(NamedTuple):
    """The weights of a layer of the towers of one power, ``(replicas, inner, outer)``."""

    weight: Float[Tensor, "replicas inner outer"]

    def times(self, H: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes columns_out"]:
        return tower_linear(H[None], self.weight[None])[0]

    @property
    def narrows(self) -> bool:
        """Whether it has fewer outputs than inputs, so that multiplying by it first makes the rest cheaper."""
        return self.weight.shape[2] <= self.weight.shape[1]

    @property
    def columns(self) -> int:
        """Of its outputs or inputs, whatever is narrower."""
        return self.weight.shape[0] * min(self.weight.shape[1:])


class GraphModel(nn.Module, ABC):
    """The graph models of all towers, computed together.

    Args:
        powers: the powers in use, ascending.
        replicas: towers per power.
        widths: the number of features, and the outputs of each layer.
        dropout: the probability of dropping an input of a layer.
        activation: the activation function of the last layer, which the classifier sets.
        bias: add a learned row to the output of each layer.

    Shape:
        - input: Â, X of shape ``(nodes, widths[0])``, and the positions of the rows, or None for all nodes
        - output: ``(rows, towers, widths[-1])``
    """

    def __init__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        widths: tuple[int, ...],
        dropout: float,
        activation: Activation = torch.relu,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.powers, self.replicas, self.dropout, self.activation = powers, replicas, dropout, activation
        self.bias = bias
        self.build(widths)

    @abstractmethod
    def build(self, widths: tuple[int, ...]) -> None:
        """Make the layers."""

    reads_own = False  # whether the second layer also reads the node itself, and the first layer X itself
    averages = False  # whether the towers take averages of the powers up to theirs

    @property
    def hops(self) -> int:
        """The number of layers after the first that multiply by Â^k. An error if :meth:`sampled` is not defined."""
        raise ConfigError(
            f"{type(self).__name__} needs the whole graph in every step, so it cannot be trained on sampled batches; "
            "use `batch='full'`, or another model."
        )

    def sampled(self, powers: Mapping[int, SampledPower]) -> Float[Tensor, "nodes towers width"]:
        r"""The outputs for the nodes of a batch. The first layer takes rows of :math:`\hat{A}^k X` that are computed
        beforehand, the second one estimated rows of :math:`\hat{A}^k`. Before its activation function, the result is
        unbiased: without dropout, its mean over the samples is that of :meth:`forward`."""
        blocks = []
        for p, k in enumerate(self.powers):
            Y = self.linear(p, powers[k], self.draw)
            H = self.activate(Y)
            own = powers[k].own if self.reads_own and self.hops else None
            of_others = self.second(p).times(self._mean(p, powers[k], Y, H)) if self.hops else H
            blocks.append(self.outputs(p, None if own is None else H.index_select(0, own), of_others))
        return torch.cat(blocks, dim=1)

    def _mean(
        self, p: int, power: SampledPower, Y: Float[Tensor, "inputs columns"], H: Float[Tensor, "inputs columns"]
    ) -> Float[Tensor, "nodes columns"]:
        r"""The estimate of :math:`\hat{A}^k H`. Most of its variance is that of the linear part, whose mean is known:
        with c the slope of H over Y, it is the estimate of :math:`\hat{A}^k (H - c Y)` plus :math:`c \hat{A}^k Y`
        without dropout (a control variate). It is biased as far as c depends on the walks: little, since all walks of
        the batch count for it."""
        if power.mean_inputs is None:
            return power.mean(H)
        with torch.no_grad():
            deviations = Y - Y.mean(dim=0)
            slope = (deviations * H).sum(dim=0) / deviations.square().sum(dim=0).clamp(min=SMALLEST)
        return power.mean(H - slope * Y) + slope * self.linear(p, power.mean_inputs, lambda: NONE)

    def hidden(self, p: int, power: SampledPower) -> Float[Tensor, "inputs columns"]:
        """What the first layer of the towers of power number p makes of rows of the inputs: the input of the second."""
        return self.activate(self.linear(p, power, self.draw))

    def linear(self, p: int, power: SampledPower, draw: Callable[[], Dropout]) -> Float[Tensor, "inputs columns"]:
        """The first layer of the towers of power number p before its activation function, given rows of the inputs."""
        raise NotImplementedError

    def activate(self, Y: Float[Tensor, "inputs columns"]) -> Float[Tensor, "inputs columns"]:
        """The activation function of the first layer, and dropout; nothing if it is the last layer."""
        raise NotImplementedError

    def second(self, p: int) -> SecondLayer:
        """The weights of the second layer of these towers."""
        raise NotImplementedError

    def outputs(
        self, p: int, own: Float[Tensor, "nodes hidden"] | None, of_others: Float[Tensor, "nodes columns"]
    ) -> Float[Tensor, "nodes replicas width"]:
        """The outputs of these towers.

        Args:
            own: the hidden units of the nodes themselves, if the towers read them.
            of_others: what comes along the edges; of towers with one layer, its output.
        """
        raise NotImplementedError

    @property
    def propagated(self) -> tuple[Tensor, Tensor | None]:
        """The weights ``(powers, features, columns)`` and biases ``(powers, 1, columns)`` of the first layer, which
        :math:`\\hat{A}^k X` is multiplied by in :meth:`sampled`."""
        raise NotImplementedError

    def draw(self) -> Dropout:
        """A dropout mask; none unless training."""
        return Dropout.draw(self.dropout) if self.training else NONE

    @property
    def towers(self) -> int:
        return len(self.powers) * self.replicas

    @classmethod
    def tower_powers(cls, powers: tuple[int, ...], replicas: int) -> tuple[int | None, ...]:
        """The power of each tower; None for a tower that mixes all powers."""
        return tuple(k for k in powers for _ in range(replicas))

    def tower(self, tensors: Mapping[str, Tensor], t: int) -> list[Tensor]:
        """Views of the parameters of tower t, in tensors named and shaped like those of this module."""
        power, replica = divmod(t, self.replicas)
        blocks = [tensors[name][power] for name, _ in self.named_parameters()]
        return [b[replica] if b.ndim == 3 else b.unflatten(1, (self.replicas, -1))[:, replica] for b in blocks]

    def scale_weights(self) -> dict[int, float] | None:
        """For a tower that mixes all powers: how much each counts, if that is known."""
        return None

    def extra_repr(self) -> str:
        return f"powers={self.powers}, replicas={self.replicas}, dropout={self.dropout}"

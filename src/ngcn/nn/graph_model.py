"""`GraphModel`: what the graph models of a network have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ngcn.errors import ConfigError
from ngcn.ops import NONE, Dropout, SampledPower

Activation = Callable[[Tensor], Tensor]


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
        beforehand, the second one estimated rows of :math:`\hat{A}^k`."""
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

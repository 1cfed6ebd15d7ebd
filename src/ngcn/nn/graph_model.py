"""`GraphModel`: what the graph models of a network have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

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

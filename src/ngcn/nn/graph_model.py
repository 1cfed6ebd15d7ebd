"""`GraphModel`: what the graph models of a network have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

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
    ) -> None:
        super().__init__()
        self.powers, self.replicas, self.dropout, self.activation = powers, replicas, dropout, activation
        self.build(widths)

    @abstractmethod
    def build(self, widths: tuple[int, ...]) -> None:
        """Make the layers."""

    @classmethod
    def tower_powers(cls, powers: tuple[int, ...], replicas: int) -> tuple[int | None, ...]:
        """The power of each tower; None for a tower that mixes all powers."""
        return tuple(k for k in powers for _ in range(replicas))

    def scale_weights(self) -> dict[int, float] | None:
        """For a tower that mixes all powers: how much each counts, if that is known."""
        return None

    def extra_repr(self) -> str:
        return f"powers={self.powers}, replicas={self.replicas}, dropout={self.dropout}"

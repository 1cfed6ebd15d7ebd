"""`Batch`: what a recipe may look at in a step; and where batches come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ngcn.config import Config
from ngcn.graph import Graph, in_memory
from ngcn.model import Model
from ngcn.ops import Features, Operator, Operators, Sampled, Workspace
from ngcn.training.order import reverse_cuthill_mckee


@dataclass(frozen=True)
class Batch:
    """The inputs of a step.

    Args:
        A_hat: the normalised adjacency; or a sampled batch.
        X: the prepared features; or the same sampled batch.
        rows, labels: the labelled nodes, and their class numbers or rows of a 0/1 matrix.
        weights: how much each labelled node counts; None if all count the same.
        unlabelled: the nodes whose labels training must not read: all others.
        step: the number of steps taken before.
        labelled: the number of training nodes, which are in several batches if they are sampled.

    Example:
        >>> from ngcn import Recipe
        >>> class Cautious(Recipe):
        ...     def loss(self, network, batch):  # called in every step
        ...         return super().loss(network, batch) / len(batch.rows)
    """

    A_hat: Operator | Operators | Sampled
    X: Features | Sampled
    rows: Tensor
    labels: Tensor
    weights: Tensor | None
    unlabelled: Tensor
    step: int
    labelled: int


class Inputs(Protocol):
    """Where the loop gets batches and the outputs for the validation nodes from.

    Attributes:
        graph: the graph that the final scores are computed on.
        labels, validation_weights: of the validation nodes.
        every: the steps between two validations.
    """

    graph: Graph
    labels: Tensor
    validation_weights: Tensor | None
    every: int

    def batches(self, step: int) -> Iterator[Batch]: ...
    def towers(self) -> Tensor: ...
    def validates(self, step: int) -> bool: ...
    def finish(self) -> None: ...
    def workspace(self) -> AbstractContextManager[Any]: ...


class FullInputs:
    """The whole graph in every step, and in every validation."""

    every = 1

    def __init__(self, model: Model, graph: Graph, config: Config, weights: Tensor | None) -> None:
        graph = in_memory(graph)
        if model.network.fused:  # pruned powers depend on the order of nodes
            order = reverse_cuthill_mckee(graph.adjacency)  # neighbours close to each other
            graph, weights = graph.reordered(order), None if weights is None else weights[order.copy()]
        self.model, self.graph, self.weights, self.device = model, graph, weights, config.device
        self.A_hat, self.X = model.inputs(graph)
        self.rows, self.labels = split_of(graph, graph.val, config.device)
        self.validation_weights = None if weights is None else weights[self.rows]

    def batches(self, step: int) -> Iterator[Batch]:
        """From number ``step`` on."""
        return full_batches(self.graph, self.A_hat, self.X, self.weights, self.device, step=step)

    def towers(self) -> Tensor:
        """The outputs of all towers for the validation nodes."""
        return self.model.network.towers(self.A_hat, self.X, self.rows)

    def validates(self, step: int) -> bool:
        """Whether the parameters after so many steps are validated: always."""
        return True

    def finish(self) -> None:
        """There is nothing to do."""

    def workspace(self) -> AbstractContextManager[Any]:
        """The memory of a step serves the next one."""
        return Workspace()


def split_of(graph: Graph, mask: np.ndarray, device: str) -> tuple[Tensor, Tensor]:
    """The nodes of a mask, and their labels."""
    rows, labels = torch.from_numpy(mask.nonzero()[0]), torch.from_numpy(graph.labels[mask])
    return rows.to(device), labels.to(device)


def full_batches(
    graph: Graph, A_hat: Operator | Operators, X: Features, weights: Tensor | None, device: str, *, step: int = 0
) -> Iterator[Batch]:
    """The whole graph, in every step from number ``step`` on."""
    rows, labels = split_of(graph, graph.train, device)
    unlabelled = torch.from_numpy((~graph.train).nonzero()[0]).to(device)
    of_rows = None if weights is None else weights[rows]
    return (Batch(A_hat, X, rows, labels, of_rows, unlabelled, number, len(labels)) for number in count(step))

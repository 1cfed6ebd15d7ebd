"""`Batch`: what a recipe may look at in a step; and where batches come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from torch import Tensor

from ngcn.graph import Graph
from ngcn.ops import Features, Operator, Operators


@dataclass(frozen=True)
class Batch:
    """The inputs of a step.

    Args:
        A_hat: the normalised adjacency.
        X: the prepared features.
        rows, labels: the labelled nodes, and their class numbers or rows of a 0/1 matrix.
        weights: how much each labelled node counts; None if all count the same.
        unlabelled: the nodes whose labels training must not read: all others.
        step: the number of steps taken before.

    Example:
        >>> from ngcn import Recipe
        >>> class Cautious(Recipe):
        ...     def loss(self, network, batch):  # called in every step
        ...         return super().loss(network, batch) / len(batch.rows)
    """

    A_hat: Operator | Operators
    X: Features
    rows: Tensor
    labels: Tensor
    weights: Tensor | None
    unlabelled: Tensor
    step: int


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
    return (Batch(A_hat, X, rows, labels, of_rows, unlabelled, number) for number in count(step))

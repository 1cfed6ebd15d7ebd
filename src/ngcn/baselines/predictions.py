"""`Predictions`: what a baseline said, as a network that the rest of the package can evaluate, store and load."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ngcn.graph import Graph
from ngcn.nn import Network

SMALL = 1e-12  # a probability below counts as this, so that its logarithm is finite


class Predictions(nn.Module):
    """A graph model that looks the answer up: a probability for every node and class."""

    probabilities: Tensor

    def __init__(self, nodes: int, classes: int, *, multilabel: bool) -> None:
        super().__init__()
        self.multilabel = multilabel
        self.register_buffer("probabilities", torch.zeros(nodes, classes))

    def forward(self, A_hat: Any, X: Any, rows: Tensor | None = None) -> Tensor:
        """The logits, ``(rows, 1, classes)``; neither Â nor X is looked at."""
        P = (self.probabilities if rows is None else self.probabilities[rows]).clamp(min=SMALL)
        logits = P.log() - (1 - P).clamp(min=SMALL).log() if self.multilabel else P.log()
        return logits[:, None]


def prediction_network(graph: Graph) -> Network:
    """A network of one tower, :class:`Predictions` for the nodes of this graph; all zero until loaded or set."""
    make: Any = partial(_make, graph.nodes, graph.multilabel)
    return Network(make, graph.features.shape[1], graph.classes, [0], 1, (graph.classes,), "identity")


def _make(nodes: int, multilabel: bool, powers: Any, replicas: Any, widths: tuple[int, ...], *_: Any) -> Predictions:
    return Predictions(nodes, widths[-1], multilabel=multilabel)

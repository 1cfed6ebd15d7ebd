"""A linear layer on sparse features and a training loop, for the baselines that use torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngcn.graph import Graph
from ngcn.ops import Dropout, Features
from ngcn.scoring import metric_of, scores
from ngcn.training.selection import Selection


class FeatureLinear(nn.Module):
    """drop(X) W + b for sparse or dense X, ``(nodes, width_in)``: ``(nodes, width_out)``."""

    def __init__(self, width_in: int, width_out: int, dropout: float = 0.0) -> None:
        super().__init__()
        bound = math.sqrt(6 / (width_in + width_out))
        self.weight = nn.Parameter(torch.empty(width_in, width_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(width_out))
        self.dropout = dropout

    def forward(self, X: Features | Tensor) -> Tensor:
        if isinstance(X, Features):
            mask = Dropout.draw(self.dropout if self.training else 0.0)
            return X.times(self.weight[None], replicas=1, dropout=mask)[0] + self.bias
        return nn.functional.dropout(X, self.dropout, self.training) @ self.weight + self.bias


def as_input(matrix: sp.csr_array | np.ndarray) -> Features | Tensor:
    """Features as :class:`FeatureLinear` takes them."""
    return Features(matrix) if sp.issparse(matrix) else torch.from_numpy(matrix)


def fit_network(
    settings: Any, network: nn.Module, graph: Graph, loss: Callable[[], Tensor], val_logits: Callable[[], Tensor]
) -> None:
    """Minimise ``loss()`` with Adam for ``settings.steps`` steps. Score ``val_logits()`` every ``settings.check``
    steps (1 if not given), and keep the best parameters."""
    adam = torch.optim.Adam(network.parameters(), lr=settings.lr, weight_decay=2 * settings.l2)
    selection, labels = Selection(), torch.from_numpy(graph.labels[graph.val])
    for step in range(1, settings.steps + 1):
        network.train()
        adam.zero_grad()
        loss().backward()
        adam.step()
        if step % getattr(settings, "check", 1) == 0 or step == settings.steps:
            network.eval()
            with torch.no_grad():
                selection.offer(step, scores(val_logits(), labels)[metric_of(graph.multilabel)], network)
    selection.restore(network)
    network.eval()

"""A linear layer on sparse features, for the baselines that are trained with torch."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngcn.graph import Graph
from ngcn.ops import Dropout, Features
from ngcn.scoring import metric_of, scores


class FeatureLinear(nn.Module):
    r""":math:`\mathrm{drop}(X) W + b` for the features X, sparse or dense.

    Shape:
        - input: :class:`~ngcn.ops.Features` or a tensor, ``(nodes, width_in)``
        - output: ``(nodes, width_out)``
    """

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


def val_score(logits: Tensor, graph: Graph) -> float:
    """The score that selects a step, from the logits of the validation nodes."""
    return scores(logits, torch.from_numpy(graph.labels[graph.val]))[metric_of(graph.multilabel)]

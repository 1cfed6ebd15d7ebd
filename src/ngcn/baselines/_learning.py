"""What the baselines that are trained with torch share: a layer on sparse features, and the best step so far."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngcn.graph import Graph
from ngcn.ops import Dropout, Features
from ngcn.training.metrics import metric, scores


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


def chances(logits: Tensor, graph: Graph) -> np.ndarray:
    """The probabilities of the classes: rows that sum to 1, or for multi-label each class by itself."""
    return (logits.sigmoid() if graph.multilabel else logits.softmax(dim=1)).numpy()


class Peak:
    """The parameters of a module at its best validation score; a tie keeps the earlier ones.

    Args:
        module: whose parameters are kept.
        graph: whose validation nodes decide.
    """

    def __init__(self, module: nn.Module, graph: Graph) -> None:
        self.module, self.metric, self.best = module, metric(graph), -1.0
        self.labels = torch.from_numpy(graph.labels[graph.val])

    def offer(self, logits: Tensor) -> None:
        """Keep the parameters if ``logits``, those of the validation nodes, score better than all before."""
        val = scores(logits, self.labels)[self.metric]
        if val > self.best:
            self.best = val
            self.parameters = {name: value.clone() for name, value in self.module.state_dict().items()}

    def restore(self) -> None:
        """Put the best parameters back, and leave the module ready to predict."""
        self.module.load_state_dict(self.parameters)
        self.module.eval()

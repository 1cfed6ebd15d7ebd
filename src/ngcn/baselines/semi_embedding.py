r"""SemiEmb: a network on the features, whose hidden layer g is regularised to be similar along edges.

(J. Weston, F. Ratle and R. Collobert, *Deep learning via semi-supervised embedding*, ICML 2008.) The loss is

.. math::
    \frac{1}{|L|} \sum_{i \in L} \ell(f(x_i), y_i)
    + \lambda \operatorname*{mean}_{(i,j) \in E} \|g_i - g_j\|^2
    + \lambda \operatorname*{mean}_{(i,j) \notin E} \max(0, m - \|g_i - g_j\|)^2,
    \qquad g = \mathrm{ReLU}(X W_1 + b_1), \quad f = g W_2 + b_2

with a weighted mean over all edges, and a mean over as many random pairs, which every step draws again. Predictions use
the features only, so new graphs can be predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngcn.baselines._learning import FeatureLinear, as_input, fit_network
from ngcn.baselines.protocol import Baseline
from ngcn.graph import Graph
from ngcn.ops import Features, undirected
from ngcn.scoring import cross_entropy, probabilities


@dataclass(kw_only=True)
class SemiEmbedding(Baseline):
    """A two-layer network with the embedding regulariser on its hidden layer."""

    multilabel = True

    hidden: int = 64  # hidden units
    weight: float = 1.0  # lambda, the weight of the regulariser
    margin: float = 1.0  # m, the margin between nodes without an edge
    dropout: float = 0.5  # on the input of both layers
    l2: float = 1e-5
    lr: float = 0.01
    steps: int = 300

    def fit(self, graph: Graph, seed: int) -> None:
        torch.manual_seed(seed)
        random = np.random.default_rng(seed)
        X, W = as_input(graph.features), undirected(graph.adjacency)
        edges = sp.coo_array(sp.triu(W))
        near, near_weights = np.stack(edges.coords), torch.from_numpy(edges.data.astype(np.float32))
        rows, labels = graph.train.nonzero()[0], torch.from_numpy(graph.labels[graph.train])
        self.network_ = network = TwoLayers(graph.features.shape[1], self.hidden, graph.classes, self.dropout)

        def loss() -> Tensor:
            g, f = network(X)
            far = random_non_edges(W, near.shape[1], random)
            regulariser = embedding_loss(g, near, near_weights, far, self.margin)
            return cross_entropy(f[rows], labels) + self.weight * regulariser

        fit_network(self, network, graph, loss, lambda: network(X)[1][graph.val])

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> np.ndarray:
        return probabilities(self.network_(as_input(graph.features))[1], graph.multilabel).numpy()


class TwoLayers(nn.Module):
    """The hidden layer g and the logits f."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.first = FeatureLinear(features, hidden, dropout)
        self.second = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden, classes))

    def forward(self, X: Features | Tensor) -> tuple[Tensor, Tensor]:
        g = self.first(X).relu()
        return g, self.second(g)


def random_non_edges(W: sp.csr_array, pairs: int, random: np.random.Generator) -> np.ndarray:
    """At most ``pairs`` random pairs of different nodes without an edge, ``(2, pairs)``."""
    i, j = random.integers(W.shape[0], size=(2, pairs))
    apart = (i != j) & (np.asarray(W[i, j]).ravel() == 0)
    return np.stack([i[apart], j[apart]])


def embedding_loss(g: Tensor, near: np.ndarray, weights: Tensor, far: np.ndarray, margin: float) -> Tensor:
    r"""The mean of :math:`\|g_i - g_j\|^2` over ``near`` pairs plus that of :math:`\max(0, m - \|g_i - g_j\|)^2` over
    ``far`` ones.

    Example:
        >>> g = torch.tensor([[0.0], [2.0], [2.5]])
        >>> embedding_loss(g, np.array([[0], [1]]), torch.ones(1), np.array([[1, 0], [2, 2]]), margin=1.0)
        tensor(4.1250)
    """
    # index_select: the gradient of g[nodes] is not deterministic on several threads
    one, other, here, there = (g.index_select(0, torch.from_numpy(nodes)) for nodes in (*near, *far))
    together = (one - other).square().sum(dim=1)
    distance = ((here - there).square().sum(dim=1) + 1e-12).sqrt()  # the gradient of the root is infinite at 0
    apart = (margin - distance).relu().square()
    return (weights * together).sum() / weights.sum().clamp(min=1e-12) + apart.sum() / max(1, len(apart))

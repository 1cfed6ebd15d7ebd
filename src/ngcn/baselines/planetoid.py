r"""Planetoid: node embeddings that predict graph contexts and, together with the features, the class.

(Z. Yang, W. Cohen and R. Salakhutdinov, *Revisiting semi-supervised learning with graph embeddings*, ICML 2016.) A
context is a pair of nodes (i, c) with a sign :math:`\gamma`, drawn by :func:`sample_contexts` from random walks and
from the training labels. Training starts with the first of two losses and then alternates between both:

.. math::
    \min -\mathbb{E}_{(i, c, \gamma)} \log \sigma(\gamma \, w_c \cdot e_i)
    \qquad\text{and}\qquad
    \min -\frac{1}{|L|} \sum_{i \in L} \log P(y_i \mid x_i, e_i), \quad
    P(\cdot \mid x, e) = \mathrm{softmax}([\mathrm{softmax}(x U) \mid \mathrm{softmax}(e V)] \, T)

In the transductive variant e is a parameter of each node. Only the contexts train it; the classifier takes it as a unit
vector. In the inductive variant :math:`e = x W`, so that new graphs can be predicted; test nodes are in no context. As
in the authors' code, the two inner softmaxes have their own cross entropies in the loss.

Settings: 50 dimensions as in the authors' code; the others were chosen on validation accuracy (research notes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, logsigmoid

from ngcn.baselines._learning import FeatureLinear, as_input, fit_network
from ngcn.baselines._walks import random_walks
from ngcn.baselines.protocol import Baseline
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.ops import Features, undirected
from ngcn.scoring import probabilities


@dataclass(kw_only=True)
class Planetoid(Baseline):
    """Both variants; the transductive one unless ``inductive``."""

    inductive: bool = False
    dimensions: int = 50  # of the embedding
    length: int = 20  # q, nodes in a walk
    window: int = 10  # d, the distance of the nodes of a context is below this
    positive: float = 0.5  # r1, the share of positive contexts
    walked: float = 1.0  # r2, the share of contexts from walks; the others come from labels
    contexts: int = 10_000  # per step
    pretraining: int = 400  # steps for the contexts only
    steps: int = 200  # for the classes, alternating with steps for the contexts
    dropout: float = 0.5  # of the features
    l2: float = 1e-5
    lr: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 2 or self.window < 2:
            raise ConfigError(f"length and window must be 2 or more, not {self.length} and {self.window}.")

    def fit(self, graph: Graph, seed: int) -> None:
        torch.manual_seed(seed)
        random = np.random.default_rng(seed)
        X, W = as_input(graph.features), undirected(graph.adjacency)
        if self.inductive:
            seen = sp.diags_array((~graph.test).astype(np.float64))
            W = sp.csr_array(seen @ W @ seen)
            W.eliminate_zeros()
        if not W.nnz and self.walked > 0:
            raise ConfigError(f"{graph.name!r} has no edges for random walks; use walked=0.")
        if len(np.unique(graph.labels[graph.train])) < 2 and self.walked < 1 and self.positive < 1:
            raise ConfigError(
                "All training nodes have the same class, so labels give no negative contexts; use walked=1."
            )
        rows, labels = graph.train.nonzero()[0], torch.from_numpy(graph.labels[graph.train])
        self.network_ = network = PlanetoidNetwork(graph, self.dimensions, self.dropout, inductive=self.inductive)
        adam = torch.optim.Adam(network.parameters(), lr=self.lr)

        def train_contexts() -> None:
            network.context_loss(X, *sample_contexts(graph, W, self, random)).backward()
            adam.step()
            adam.zero_grad()

        def class_loss() -> Tensor:
            train_contexts()
            return torch.stack([cross_entropy(logits[rows], labels) for logits in network(X)]).sum()

        for _ in range(self.pretraining):
            train_contexts()
        fit_network(self, network, graph, class_loss, lambda: network(X)[-1][graph.val])

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> np.ndarray:
        nodes = self.network_.context.num_embeddings
        if not self.inductive and graph.nodes != nodes:
            raise ConfigError(
                f"Transductive Planetoid can only predict the {nodes} nodes that it was fitted on, but {graph.name!r} "
                f"has {graph.nodes}; use inductive=true."
            )
        return probabilities(self.network_(as_input(graph.features))[-1], graph.multilabel).numpy()


class PlanetoidNetwork(nn.Module):
    """Predicts classes and contexts from features and, if not ``inductive``, from an embedding per node."""

    def __init__(self, graph: Graph, dimensions: int, dropout: float, *, inductive: bool) -> None:
        super().__init__()
        features, classes = graph.features.shape[1], graph.classes
        self.inductive = inductive
        self.embed = (
            FeatureLinear(features, dimensions, dropout) if inductive else nn.Embedding(graph.nodes, dimensions)
        )
        self.context = nn.Embedding(graph.nodes, dimensions)
        self.of_features = FeatureLinear(features, classes, dropout)
        self.of_embedding = nn.Linear(dimensions, classes)
        self.of_both = nn.Linear(2 * classes, classes)
        for embedding in (self.embed, self.context):
            if isinstance(embedding, nn.Embedding):
                nn.init.normal_(embedding.weight, std=0.1)

    def embedding(self, X: Features | Tensor) -> Tensor:
        return self.embed(X) if self.inductive else self.embed.weight

    def forward(self, X: Features | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The logits from the features, from the embedding, and from both; the last are the prediction."""
        e = self.embedding(X) if self.inductive else nn.functional.normalize(self.embedding(X).detach(), dim=1)
        x, e = self.of_features(X), self.of_embedding(e)
        return x, e, self.of_both(torch.cat([x.softmax(dim=1), e.softmax(dim=1)], dim=1))

    def context_loss(self, X: Features | Tensor, i: Tensor, c: Tensor, sign: Tensor) -> Tensor:
        return -logsigmoid(sign * (self.embedding(X).index_select(0, i) * self.context(c)).sum(dim=1)).mean()


def sample_contexts(
    graph: Graph, W: sp.csr_array, settings: Planetoid, random: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Algorithm 1 of the Planetoid paper, for ``settings.contexts`` contexts at once: nodes i, nodes c, and signs.

    A context is positive (sign 1) with probability ``positive``, else negative (-1). Independently, it comes from a
    walk with probability ``walked``, else from the training labels. From a walk, a positive context is two nodes less
    than ``window`` steps apart; a negative one is the first of them and a random node with edges. From labels, it is
    two training nodes: of the same class if positive, of different classes if negative.
    """
    sign = np.where(random.random(settings.contexts) < settings.positive, 1.0, -1.0)
    from_walk = random.random(settings.contexts) < settings.walked
    i, c = np.empty((2, settings.contexts), dtype=np.int64)

    if n := int(from_walk.sum()):
        linked = np.diff(W.indptr).nonzero()[0]
        walks = random_walks(W, random.choice(linked, n), settings.length, int(random.integers(2**63)))
        j, k = np.indices((settings.length, settings.length)).reshape(2, -1)
        near = (j != k) & (abs(j - k) < settings.window)
        pair = random.integers(near.sum(), size=n)
        i[from_walk], c[from_walk] = walks[range(n), j[near][pair]], walks[range(n), k[near][pair]]
        negative = from_walk & (sign < 0)
        c[negative] = random.choice(linked, negative.sum())

    train = graph.train.nonzero()[0]
    same = graph.labels[train][:, None] == graph.labels[train]
    for wanted, pairs in ((1, same), (-1, ~same)):
        of_labels = ~from_walk & (sign == wanted)
        first, second = pairs.nonzero()
        if of_labels.any():
            pair = random.integers(len(first), size=of_labels.sum())
            i[of_labels], c[of_labels] = train[first[pair]], train[second[pair]]
    return torch.from_numpy(i), torch.from_numpy(c), torch.from_numpy(sign.astype(np.float32))

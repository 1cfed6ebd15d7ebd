r"""SAGE-LSTM and SAGE-pool: GraphSAGE on sampled neighbours, with an LSTM or a max-pooling aggregator.

(W. Hamilton, R. Ying and J. Leskovec, *Inductive representation learning on large graphs*, NIPS 2017.) Each of two
layers samples a fixed number of neighbours, N(v), of each node v that the batch needs:

.. math::
    h_v \leftarrow \mathrm{unit}(\mathrm{ReLU}([h_v \mid a_v] W)), \qquad
    a_v = \max_{u \in N(v)} \mathrm{ReLU}(h_u P + b) \;(\text{pool}), \qquad
    a_v = \mathrm{LSTM}(h_{u_1}, h_{u_2}, \dots) \;(\text{LSTM, in random order})

and a linear layer on the last h gives the logits. There are no parameters per node, so new graphs can be predicted.

Settings: sample sizes, batch size and learning rate are the authors'. Fewer hidden units and steps make training
faster, and dropout helps with few labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngcn.baselines._learning import FeatureLinear, as_input, fit_network
from ngcn.baselines._walks import random_walks
from ngcn.baselines.protocol import Baseline
from ngcn.graph import Graph
from ngcn.ops import Features, undirected
from ngcn.scoring import cross_entropy, probabilities


class PoolAggregator(nn.Module):
    """The elementwise maximum of ReLU(h P + b) over neighbours, ``(rows, samples)`` indices of h."""

    def __init__(self, width_in: int, width_out: int, dropout: float) -> None:
        super().__init__()
        self.pool = FeatureLinear(width_in, width_out, dropout)

    def forward(self, h: Features | Tensor, neighbours: Tensor) -> Tensor:
        z = self.pool(h).relu()
        most = z.index_select(0, neighbours[:, 0])
        for u in neighbours.T[1:]:
            most = torch.maximum(most, z.index_select(0, u))
        return most


class LSTMAggregator(nn.Module):
    """The last state of an LSTM over the sequence of neighbours. The input part of the gates is computed once per node,
    however often the node is sampled."""

    def __init__(self, width_in: int, width_out: int, dropout: float) -> None:
        super().__init__()
        self.gates_of_input = FeatureLinear(width_in, 4 * width_out, dropout)
        self.gates_of_state = nn.Linear(width_out, 4 * width_out, bias=False)

    def forward(self, h: Features | Tensor, neighbours: Tensor) -> Tensor:
        of_input = self.gates_of_input(h)
        state = cell = of_input.new_zeros(len(neighbours), of_input.shape[1] // 4)
        for u in neighbours.T:
            keep, write, show, new = (of_input.index_select(0, u) + self.gates_of_state(state)).chunk(4, dim=1)
            cell = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
            state = show.sigmoid() * cell.tanh()
        return state


class SageLayer(nn.Module):
    """Unit vectors for the rows ``own`` of h and their sampled ``neighbours``."""

    def __init__(self, aggregator: type[nn.Module], width_in: int, width_out: int, dropout: float) -> None:
        super().__init__()
        self.aggregate = aggregator(width_in, width_out, dropout)
        self.of_own = FeatureLinear(width_in, width_out, dropout)
        self.of_neighbours = nn.Linear(width_out, width_out, bias=False)

    def forward(self, h: Features | Tensor, own: Tensor, neighbours: Tensor) -> Tensor:
        z = self.of_own(h).index_select(0, own) + self.of_neighbours(self.aggregate(h, neighbours))
        return nn.functional.normalize(z.relu(), dim=1)


class SageNetwork(nn.Module):
    """Two layers and a classifier, for the nodes ``rows`` of a graph with features X and edge weights W."""

    def __init__(
        self, aggregator: type[nn.Module], widths: tuple[int, int, int], samples: Sequence[int], dropout: float
    ) -> None:
        super().__init__()
        features, hidden, classes = widths
        self.samples = samples
        self.layers = nn.ModuleList([SageLayer(aggregator, width, hidden, dropout) for width in (features, hidden)])
        self.classify = nn.Linear(hidden, classes)

    def forward(
        self, X: sp.csr_array | np.ndarray, W: sp.csr_array, rows: np.ndarray, random: np.random.Generator
    ) -> Tensor:
        plan = []
        for size in reversed(self.samples):  # from the last layer to the first: the nodes that each needs
            seed = int(random.integers(2**63))
            neighbours = random_walks(W, np.repeat(rows, size), 2, seed)[:, 1]  # a node without edges samples itself
            nodes, places = np.unique(np.concatenate([rows, neighbours]), return_inverse=True)
            own, others = torch.from_numpy(places).split([len(rows), len(neighbours)])
            plan.append((own, others.reshape(-1, size)))
            rows = nodes
        h = as_input(X[rows])
        for layer, (own, neighbours) in zip(self.layers, reversed(plan), strict=True):
            h = layer(h, own, neighbours)
        return self.classify(h)


@dataclass(kw_only=True)
class _SampledSage(Baseline):
    multilabel = True
    aggregator: ClassVar[type[nn.Module]]

    hidden: int = 64
    first: int = 25  # sampled neighbours per node in the first layer
    second: int = 10  # ... and in the second
    batch: int = 512  # training nodes per step
    steps: int = 300
    check: int = 10  # steps between validations
    dropout: float = 0.5  # on the input of both layers
    l2: float = 1e-5
    lr: float = 0.01

    def fit(self, graph: Graph, seed: int) -> None:
        torch.manual_seed(seed)
        random = np.random.default_rng(seed)
        X, W, val = graph.features, undirected(graph.adjacency), graph.val.nonzero()[0]
        widths, samples = (X.shape[1], self.hidden, graph.classes), (self.first, self.second)
        self.network_ = network = SageNetwork(self.aggregator, widths, samples, self.dropout)
        batches = _batches(graph.train.nonzero()[0], self.batch, random)

        def loss() -> Tensor:
            rows = next(batches)
            return cross_entropy(network(X, W, rows, random), torch.from_numpy(graph.labels[rows]))

        # Validation samples the same neighbours each time
        fit_network(self, network, graph, loss, lambda: network(X, W, val, np.random.default_rng(0)))

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> np.ndarray:
        W, nodes = undirected(graph.adjacency), np.arange(graph.nodes)
        logits = self.network_(graph.features, W, nodes, np.random.default_rng(0))
        return probabilities(logits, graph.multilabel).numpy()


def _batches(nodes: np.ndarray, size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Batches of the nodes, in a new random order in each epoch."""
    while True:
        order = random.permutation(nodes)
        yield from np.split(order, range(size, len(order), size))


class SageLSTM(_SampledSage):
    """GraphSAGE with the LSTM aggregator."""

    aggregator = LSTMAggregator


class SagePool(_SampledSage):
    """GraphSAGE with the max-pooling aggregator."""

    aggregator = PoolAggregator

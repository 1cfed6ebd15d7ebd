"""The aggregators against loops over nodes, and a graph in which sampling has no choice against the equations."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from baselines.conftest import small_graph
from ngcn.baselines.sampled_sage import LSTMAggregator, PoolAggregator, SageLSTM, SageNetwork, SagePool
from ngcn.errors import ConfigError
from ngcn.ops import Features

NEIGHBOURS = torch.tensor([[0, 2, 2], [4, 1, 0]])


@pytest.fixture(params=["dense", "sparse"])
def h(request: pytest.FixtureRequest) -> torch.Tensor | Features:
    values = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    return torch.from_numpy(values) if request.param == "dense" else Features(values)


def rows_of(h: torch.Tensor | Features) -> torch.Tensor:
    return h.dense() if isinstance(h, Features) else h


def test_pooling_is_the_maximum_of_transformed_neighbours(h: torch.Tensor | Features) -> None:
    aggregator = PoolAggregator(3, 4, dropout=0.5).eval()
    weight, bias = aggregator.pool.weight, aggregator.pool.bias
    for node, neighbours in enumerate(NEIGHBOURS):
        expected = torch.stack([(rows_of(h)[u] @ weight + bias).clamp(min=0) for u in neighbours]).max(dim=0).values
        torch.testing.assert_close(aggregator(h, NEIGHBOURS)[node], expected)


def test_the_lstm_is_that_of_torch(h: torch.Tensor | Features) -> None:
    aggregator = LSTMAggregator(3, 4, dropout=0.5).eval()
    nn.init.normal_(aggregator.gates_of_input.bias)
    peer = nn.LSTMCell(3, 4)
    with torch.no_grad():
        for mine, theirs in enumerate([1, 0, 3, 2]):  # forget, input, output, new; torch: input, forget, new, output
            block, own = slice(4 * theirs, 4 * theirs + 4), slice(4 * mine, 4 * mine + 4)
            peer.weight_ih[block] = aggregator.gates_of_input.weight.T[own]
            peer.weight_hh[block] = aggregator.gates_of_state.weight[own]
            peer.bias_ih[block] = aggregator.gates_of_input.bias[own]
            peer.bias_hh[block] = 0
    for node, neighbours in enumerate(NEIGHBOURS):
        state = torch.zeros(4), torch.zeros(4)
        for u in neighbours:
            state = peer(rows_of(h)[u], state)
        torch.testing.assert_close(aggregator(h, NEIGHBOURS)[node], state[0])


@pytest.mark.parametrize("aggregator", [PoolAggregator, LSTMAggregator])
def test_where_each_node_has_one_neighbour_the_network_is_its_equations(aggregator: type[nn.Module]) -> None:
    """Pairs (0, 1), (2, 3), (4, 5): whatever is sampled is the partner."""
    W = sp.csr_array(np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]))
    X = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    network = SageNetwork(aggregator, (5, 4, 2), samples=(3, 2), dropout=0.5).eval()

    h = torch.from_numpy(X)
    for layer, samples in zip(network.layers, (3, 2), strict=True):
        partner = torch.tensor([1, 0, 3, 2, 5, 4])[:, None].expand(-1, samples)
        z = layer.of_own(h) + layer.of_neighbours(layer.aggregate(h, partner))
        h = z.clamp(min=0) / z.clamp(min=0).norm(dim=1, keepdim=True).clamp(min=1e-12)
    expected = network.classify(h)

    for rows in ([5, 0, 2], [3], list(range(6))):
        logits = network(X, W, np.array(rows), np.random.default_rng(1))
        torch.testing.assert_close(logits, expected[rows])


@pytest.mark.parametrize("model", [SagePool, SageLSTM])
def test_neighbours_decide_where_own_features_say_nothing(model: type[SagePool]) -> None:
    """Stars whose leaves show the class and whose centres show nothing; the centres of another graph are then known."""

    def stars(classes: list[int], train: list[int]):
        network = nx.disjoint_union_all([nx.star_graph(4) for _ in classes])
        shown = np.repeat(classes, 5)
        centre = np.arange(len(shown)) % 5 == 0
        words = np.eye(3)[np.where(centre, 2, shown)]
        return small_graph(network, shown.tolist(), train=train, features=words)

    graph = stars([0, 1] * 4, train=list(range(20)))
    sage = model(hidden=8, first=3, second=3, steps=60, dropout=0.0)
    sage.fit(graph, seed=0)
    unseen = stars([1, 0, 1], train=[0])
    p = sage.predict_proba(unseen)
    assert (p.argmax(axis=1) == unseen.labels).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)


def test_same_seed_same_answer_with_small_batches_and_several_labels() -> None:
    graph = small_graph(nx.karate_club_graph(), np.random.default_rng(0).integers(0, 2, (34, 3)), train=list(range(12)))
    answers = []
    for _ in range(2):
        sage = SagePool(hidden=4, first=2, second=2, steps=5, batch=5, check=2)
        sage.fit(graph, seed=3)
        answers.append(sage.predict_proba(graph))
    assert (answers[0] == answers[1]).all()
    assert not np.allclose(answers[0].sum(axis=1), 1)


def test_settings_out_of_range_raise_an_error() -> None:
    with pytest.raises(ConfigError, match="batch must be a whole number of 1 or more, not 0"):
        SageLSTM(batch=0)

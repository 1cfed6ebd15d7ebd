"""The sampler has the distribution of the paper's Algorithm 1, and contexts carry labels along edges."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from baselines.conftest import small_graph
from ngcn.baselines.planetoid import Planetoid, sample_contexts
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.ops import undirected

DRAWS = 200_000


@pytest.fixture
def tadpole() -> Graph:
    """A triangle with a tail, and a node without edges; two training nodes of class 0, two of class 1."""
    network = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])
    network.add_node(5)
    return small_graph(network, [0, 0, 1, 1, 0, 1], train=[0, 1, 2, 5])


def draw(graph: Graph, **settings: float) -> tuple[np.ndarray, np.ndarray]:
    """How often each pair (i, c) comes with sign 1, and with -1, of all draws."""
    planetoid = Planetoid(contexts=DRAWS, length=4, window=3, **settings)
    i, c, sign = (
        x.numpy() for x in sample_contexts(graph, undirected(graph.adjacency), planetoid, np.random.default_rng(0))
    )
    assert set(sign) <= {1.0, -1.0}
    counts = np.zeros((2, graph.nodes, graph.nodes))
    np.add.at(counts, ((sign < 0).astype(int), i, c), 1 / DRAWS)
    return counts[0], counts[1]


def test_contexts_from_walks(tadpole: Graph) -> None:
    """Walks of 4 nodes, all pairs of places 1 or 2 steps apart alike, by powers of the transition matrix."""
    A = undirected(tadpole.adjacency).toarray()[:5, :5]
    T = A / A.sum(axis=1, keepdims=True)
    at = [np.full(5, 1 / 5)]  # where a walk is after 0, 1, ... steps
    for _ in range(3):
        at.append(at[-1] @ T)
    forward = [np.diag(at[j]) @ np.linalg.matrix_power(T, k - j) for j in range(4) for k in (j + 1, j + 2) if k < 4]
    pairs = sum(joint + joint.T for joint in forward) / (2 * len(forward))

    true, false = draw(tadpole, positive=0.25, walked=1.0)
    np.testing.assert_allclose(true[:5, :5], 0.25 * pairs, atol=0.003)
    np.testing.assert_allclose(false[:5, :5], 0.75 * np.outer(pairs.sum(axis=1), np.full(5, 1 / 5)), atol=0.003)
    assert true[5].sum() == true[:, 5].sum() == false[5].sum() == 0


def test_contexts_from_labels(tadpole: Graph) -> None:
    true, false = draw(tadpole, positive=0.5, walked=0.0)
    train = tadpole.train[:, None] & tadpole.train
    same = tadpole.labels[:, None] == tadpole.labels
    np.testing.assert_allclose(true, 0.5 * (train & same) / 8, atol=0.003)
    np.testing.assert_allclose(false, 0.5 * (train & ~same) / 8, atol=0.003)


def test_shares_of_the_two_kinds(tadpole: Graph) -> None:
    true, _ = draw(tadpole, positive=0.5, walked=0.7)
    walked, _ = draw(tadpole, positive=0.5, walked=1.0)
    labelled, _ = draw(tadpole, positive=0.5, walked=0.0)
    np.testing.assert_allclose(true, 0.7 * walked + 0.3 * labelled, atol=0.003)


def test_two_cliques_separate_though_features_say_nothing() -> None:
    graph = small_graph(nx.barbell_graph(10, 0), [0] * 10 + [1] * 10, train=[3, 16], features=np.ones((20, 1)))
    planetoid = Planetoid(dimensions=8, contexts=500, pretraining=150, steps=100)
    planetoid.fit(graph, seed=0)
    p = planetoid.predict_proba(graph)
    assert (p.argmax(axis=1) == graph.labels).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(ConfigError, match="can only predict the 20 nodes that it was fitted on"):
        planetoid.predict_proba(small_graph(nx.path_graph(2), [0, 1], train=[0], features=np.ones((2, 1))))


def test_the_inductive_variant_learns_from_edges_what_words_mean() -> None:
    """Training nodes have the words 0 and 1; edges tell that 2 and 3 go with them. No walk visits test nodes."""
    labels = np.arange(40) % 2
    words = np.eye(4)[labels + 2 * (np.arange(40) >= 8)]
    same = np.triu(labels[:, None] == labels, 1).astype(float)
    mask = [np.isin(np.arange(40), nodes) for nodes in (range(8), range(8, 20), range(36, 40))]
    graph = Graph(sp.csr_array(same), words, labels, *mask)
    planetoid = Planetoid(inductive=True, dimensions=8, contexts=500, pretraining=150, steps=60, dropout=0.0)
    planetoid.fit(graph, seed=0)
    unseen = small_graph(nx.path_graph(4), [0, 1, 0, 1], train=[0], features=np.eye(4))
    assert (planetoid.predict_proba(unseen).argmax(axis=1) == unseen.labels).all()
    before, after = (planetoid.network_.context.weight[nodes].norm(dim=1) for nodes in (slice(36, 40), slice(8, 36)))
    assert before.max() < after.min()  # the contexts of test nodes are as they were drawn


def test_same_seed_same_answer(tadpole: Graph) -> None:
    answers = []
    for _ in range(2):
        planetoid = Planetoid(contexts=100, pretraining=3, steps=3)
        planetoid.fit(tadpole, seed=5)
        answers.append(planetoid.predict_proba(tadpole))
    assert (answers[0] == answers[1]).all()


def test_impossible_settings_raise_an_error(tadpole: Graph) -> None:
    with pytest.raises(ConfigError, match="walked must be a number from 0 to 1, not 2"):
        Planetoid(walked=2.0)
    with pytest.raises(ConfigError, match="length and window must be 2 or more, not 1 and 3"):
        Planetoid(length=1, window=3)
    lonely = small_graph(nx.empty_graph(4), [0, 0, 1, 1], train=[0, 2])
    with pytest.raises(ConfigError, match="no edges for random walks"):
        Planetoid().fit(lonely, seed=0)
    one_class = small_graph(nx.path_graph(4), [0, 0, 1, 1], train=[0, 1])
    with pytest.raises(ConfigError, match="All training nodes have the same class"):
        Planetoid(walked=0.5).fit(one_class, seed=0)

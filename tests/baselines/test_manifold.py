import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax

from baselines.conftest import small_graph
from ngcn.baselines.manifold import ManifoldRegularization
from ngcn.graph import Graph


@pytest.mark.parametrize("intrinsic", [0.0, 3.0])
def test_conjugate_gradients_find_the_dense_solution(clubs: Graph, intrinsic: float) -> None:
    rng = np.random.default_rng(0)
    words = (rng.random((34, 9)) < 0.4).astype(float)
    words[5] = 0
    W = clubs.adjacency.toarray().astype(float)
    graph = Graph(clubs.adjacency, sp.csr_array(words), clubs.labels, clubs.train, clubs.val, clubs.test)

    length = np.linalg.norm(words, axis=1, keepdims=True)
    X = np.hstack([words / np.where(length > 0, length, 1), np.ones((34, 1))])
    train = X[clubs.train]
    L = np.diag(W.sum(axis=1)) - W
    H = train.T @ train / 4 + 0.01 * np.eye(10) + intrinsic * X.T @ L @ X / (W.sum() / 2)
    Y = 2.0 * np.eye(2)[clubs.labels[clubs.train]] - 1
    expected = softmax(X @ np.linalg.solve(H, train.T @ Y / 4), axis=1)

    baseline = ManifoldRegularization(ambient=0.01, intrinsic=intrinsic)
    baseline.fit(graph, seed=0)
    np.testing.assert_allclose(baseline.predict_proba(graph), expected, atol=1e-6)


def test_edges_carry_labels_to_features_that_no_training_node_has() -> None:
    """Feature 2 is unknown to the training nodes, but an edge ties it to node 3, which has the feature of class 1."""
    network = nx.Graph([(0, 1), (2, 3), (3, 4)])
    features = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]])
    graph = small_graph(network, [0, 0, 1, 1, 1], train=[0, 2], features=features)
    predictions = []
    for intrinsic in (0.0, 10.0):
        baseline = ManifoldRegularization(intrinsic=intrinsic)
        baseline.fit(graph, seed=0)
        predictions.append(baseline.predict_proba(graph)[4, 1])
    assert predictions[0] == pytest.approx(0.5, abs=1e-4) and predictions[1] > 0.7

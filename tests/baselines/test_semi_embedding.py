import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from baselines.conftest import small_graph
from ngcn.baselines.semi_embedding import SemiEmbedding, embedding_loss, random_non_edges


def test_the_regulariser_by_hand() -> None:
    g = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 0.3], [0.0, 0.3]])
    near, weights = np.array([[0, 0], [1, 2]]), torch.tensor([1.0, 3.0])
    far = np.array([[0, 1, 2], [3, 2, 3]])  # distances 0.3, above the margin, and 0
    together = (1 * 25 + 3 * 0.09) / 4
    apart = ((0.5 - 0.3) ** 2 + 0 + 0.5**2) / 3
    assert embedding_loss(g, near, weights, far, margin=0.5).item() == pytest.approx(together + apart, rel=1e-5)


def test_equal_vectors_leave_a_finite_slope() -> None:
    g = torch.ones(2, 3, requires_grad=True)
    embedding_loss(g, np.empty((2, 0), int), torch.empty(0), np.array([[0], [1]]), margin=1.0).backward()
    assert g.grad is not None
    assert g.grad.isfinite().all()


def test_random_non_edges_have_no_edge() -> None:
    W = sp.csr_array(nx.to_scipy_sparse_array(nx.cycle_graph(4)))
    i, j = random_non_edges(W, 1000, np.random.default_rng(0))
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == {(0, 2), (2, 0), (1, 3), (3, 1)}


def test_edges_carry_labels_to_nodes_whose_own_features_say_nothing() -> None:
    """Two cliques; each node has a feature of its own, so what a training node teaches does not reach another."""
    graph = small_graph(nx.barbell_graph(10, 0), [0] * 10 + [1] * 10, train=[3, 16])
    accuracy = {}
    for weight in (0.0, 1.0):
        model = SemiEmbedding(weight=weight, hidden=16, dropout=0.0)
        model.fit(graph, seed=0)
        p = model.predict_proba(graph)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
        accuracy[weight] = (p.argmax(axis=1) == graph.labels).mean()
    assert accuracy[1.0] == 1
    assert accuracy[0.0] < 0.9


def test_same_seed_same_answer_and_features_alone_decide() -> None:
    words = sp.csr_array(np.kron(np.eye(2), np.ones((10, 3))))  # sparse, as a bag of words
    graph = small_graph(nx.barbell_graph(10, 0), [0] * 10 + [1] * 10, train=[3, 16], features=words)
    first, second = SemiEmbedding(steps=20), SemiEmbedding(steps=20)
    first.fit(graph, seed=4)
    second.fit(graph, seed=4)
    assert (first.predict_proba(graph) == second.predict_proba(graph)).all()
    unseen = small_graph(nx.path_graph(2), [1, 0], train=[0], features=words[[15, 2]])
    assert (first.predict_proba(unseen).argmax(axis=1) == [1, 0]).all()

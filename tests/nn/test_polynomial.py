import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.polynomial import chebyshev

from ngcn.nn import build_network
from ngcn.ops import normalize, rescaled_laplacian


@pytest.mark.parametrize("K", [1, 2, 5])
def test_chebyshev_is_dense_polynomials_of_the_laplacian(graph, X, K):
    L = rescaled_laplacian(graph.adjacency).double()
    network = build_network("cheby", X.shape[1], 3, powers=K, hidden=4).double().eval()
    # T_k of a matrix, by its coefficients in powers of x
    M = L.matrix.toarray()
    T = [
        sum(c * np.linalg.matrix_power(M, p) for p, c in enumerate(chebyshev.cheb2poly(np.eye(K)[k]))) for k in range(K)
    ]
    Z = X.matrix.toarray()
    for i, W in enumerate(W.detach().numpy() for W in network.graph_models.weights):
        Z = sum(T_k @ (np.maximum(Z, 0) if i else Z) @ W_k for T_k, W_k in zip(T, np.split(W, K, axis=1), strict=True))
    np.testing.assert_allclose(network(L, X).detach(), Z, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("nodes", [9, 151])  # dense and iterated eigenvalues
def test_the_laplacian_is_scaled_to_one(nodes):
    """A cycle of n nodes has the Laplacian's eigenvalues 1 - cos(2 pi j / n)."""
    cycle = sp.csr_array(nx.to_scipy_sparse_array(nx.cycle_graph(nodes)))
    found = np.linalg.eigvalsh(rescaled_laplacian(cycle).matrix.toarray().astype(float))
    expected = np.sort(1 - np.cos(2 * np.pi * np.arange(nodes) / nodes))
    np.testing.assert_allclose(found, 2 * expected / expected[-1] - 1, atol=1e-5)


def test_an_isolated_node_and_a_loop_do_no_harm():
    A = np.zeros((4, 4))
    A[0, 1] = A[2, 2] = 1
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = -1  # largest eigenvalue 2, so that L - I remains
    np.testing.assert_allclose(rescaled_laplacian(sp.csr_array(A)).matrix.toarray(), expected, atol=1e-6)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_one_power_of_the_walk_is_gcn(graph, X, k):
    """With all of q on one power, walk-coefficients is the GCN on that power."""
    A_hat = normalize(graph.adjacency).double()
    walk = build_network("walk-coefficients", X.shape[1], 3, powers=4, hidden=5).double().eval()
    gcn = build_network("gcn", X.shape[1], 3, powers=[k], hidden=5).double().eval()
    with torch.no_grad():
        walk.graph_models.scores.copy_(torch.full((4,), -torch.inf).index_fill(0, torch.tensor(k), 0.0))
        for own, theirs in zip(walk.graph_models.weights, gcn.parameters(), strict=True):
            theirs.copy_(own.view_as(theirs))
    torch.testing.assert_close(walk(A_hat, X), gcn(A_hat, X))
    assert walk.scale_weights() == {power: float(power == k) for power in range(4)}


def test_walk_coefficients_are_a_dense_mixture_and_learn(graph, X):
    A_hat = normalize(graph.adjacency).double()
    network = build_network("walk-coefficients", X.shape[1], 3, powers=[0, 2, 3], layers=1).double().eval()
    with torch.no_grad():
        network.graph_models.scores.normal_()
    A, q = A_hat.matrix.toarray(), network.scale_weights()
    assert q is not None and sum(q.values()) == pytest.approx(1)
    mixed = sum(q[k] * np.linalg.matrix_power(A, k) for k in q)
    W = network.graph_models.weights[0].detach().numpy()
    logits = network(A_hat, X)
    np.testing.assert_allclose(logits.detach(), mixed @ X.matrix.toarray() @ W, rtol=1e-6)
    logits.square().sum().backward()
    assert network.graph_models.scores.grad.abs().min() > 0


def test_mlp_looks_at_no_edge(graph, X):
    network = build_network("mlp", X.shape[1], 3).double().eval()
    empty = normalize(sp.csr_array(graph.adjacency.shape)).double()
    torch.testing.assert_close(network(normalize(graph.adjacency).double(), X), network(empty, X))


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("cheby", {"powers": [0, 2]}, "every degree"),
        ("cheby", {"replicas": 2}, "replicas must be 1"),
        ("walk-coefficients", {"classifier": "attention"}, "the classifier identity"),
    ],
)
def test_what_a_single_graph_model_cannot_have(model, given, message):
    with pytest.raises(ValueError, match=message):
        build_network(model, 5, 3, **given)

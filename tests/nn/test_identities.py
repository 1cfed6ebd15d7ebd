"""The paper's identities: every special case against an independent implementation, with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, SAGEConv

from ngcn.nn import GCN, Network, build_network
from ngcn.ops import normalize


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def edges_of(graph, how):
    return normalize(graph.adjacency, how).double().power(1).edges()


def weights_of(network: Network) -> list[torch.Tensor]:
    return [layer.linear.weight.detach() for layer in network.graph_models.layers]


def test_gcn_is_pyg_gcn(graph, X):
    network = build_network("gcn", X.shape[1], 3).eval()
    first, second = weights_of(network)
    edge_index, edge_weight = edges_of(graph, "symmetric")
    convolutions = [GCNConv(X.shape[1], 16, normalize=False, bias=False), GCNConv(16, 3, normalize=False, bias=False)]
    convolutions[0].lin.weight.data = first[0].T.contiguous()
    convolutions[1].lin.weight.data = second[0, 0].T.contiguous()
    H = convolutions[0](X.dense(), edge_index, edge_weight).relu()
    expected = convolutions[1](H, edge_index, edge_weight)
    torch.testing.assert_close(network(normalize(graph.adjacency).double(), X), expected)


def test_sage_is_pyg_sage(graph, X):
    """Mean aggregation over neighbours and the node itself: PyG's SAGEConv on the graph with self-connections."""
    graph.adjacency.data[:] = 1  # PyG's mean takes no weights
    network = build_network("sage", X.shape[1], 3).eval()
    edge_index, _ = edges_of(graph, "row")
    models = network.graph_models
    Z = X.dense()
    for i, (own, neighbours) in enumerate(zip(models.own, models.neighbours, strict=True)):
        layer = SAGEConv(Z.shape[1], own.width_out, bias=False, normalize=False)
        layer.lin_r.weight.data = own.weight.detach().reshape(-1, own.width_out).T.contiguous()
        layer.lin_l.weight.data = neighbours.linear.weight.detach().reshape(-1, own.width_out).T.contiguous()
        Z = layer(Z, edge_index)
        Z = nn.functional.normalize(Z.relu() if i == 0 else Z, dim=-1)
    torch.testing.assert_close(network(normalize(graph.adjacency, "row").double(), X), Z)


def test_dcnn_is_its_transcription(graph, X):
    """One layer on each power of the transition matrix, ReLU, side by side, one matrix: in numpy."""
    network = build_network("dcnn", X.shape[1], 3, powers=4).eval()
    A = np.maximum(graph.adjacency.toarray(), graph.adjacency.toarray().T).astype(np.float64)
    np.fill_diagonal(A, 1)
    T = normalize(graph.adjacency, "row").double().matrix.toarray()
    np.testing.assert_allclose(T, A / A.sum(axis=1, keepdims=True), rtol=1e-6)
    W = weights_of(network)[0].numpy()
    channels = [np.maximum(np.linalg.matrix_power(T, k) @ X.dense().numpy() @ W[k], 0) for k in range(4)]
    W_fc = network.classifier.layers[0].weight.detach().numpy()
    expected = np.concatenate(channels, axis=1) @ W_fc.T
    result = network(normalize(graph.adjacency, "row").double(), X)
    np.testing.assert_allclose(result.detach().numpy(), expected, atol=1e-12)


def test_two_layers_with_identity_activation_are_a_square(graph, X):
    """Section 3.1: with sigma the identity and W0 = I, two layers are Â² X W1. Non-negative X needs no other sigma."""
    features = X.shape[1]
    network = Network(
        GCN, features, 3, powers=[1], replicas=1, widths=(features, 3), classifier="identity", dropout=0.0
    )
    first, second = network.graph_models.layers
    first.linear.weight.data = torch.eye(features)[None]
    A_hat = normalize(graph.adjacency).double()
    A = torch.from_numpy(A_hat.matrix.toarray())
    assert (X.dense() >= 0).all()
    torch.testing.assert_close(network(A_hat, X), A @ A @ X.dense() @ second.linear.weight.detach()[0, 0])


def test_ngcn_is_algorithm_1(graph, X):
    """N-GCN with fc: each tower a dense two-layer GCN on its matrix power, written out."""
    network = build_network("ngcn", X.shape[1], 3, powers=3, replicas=2, classifier="fc").eval()
    A_hat = normalize(graph.adjacency).double()
    A = torch.from_numpy(A_hat.matrix.toarray())
    first, second = weights_of(network)
    outputs = []
    P = torch.eye(len(A))
    for k in range(3):
        for i in range(2):
            W = first[k].unflatten(1, (2, 16))[:, i]
            outputs.append((P @ (P @ X.dense() @ W).relu() @ second[k, i]).relu())
        P = A @ P
    W_fc = network.classifier.layers[0].weight.detach()
    torch.testing.assert_close(network(A_hat, X), torch.cat(outputs, dim=1) @ W_fc.T)


@pytest.mark.parametrize("classifier", ["fc", "attention"])
def test_power_zero_is_an_mlp(graph, X, classifier):
    """K = 1: the graph is not looked at."""
    network = build_network("ngcn", X.shape[1], 3, powers=1, replicas=1, classifier=classifier).eval()
    first, second = weights_of(network)
    mlp = (X.dense() @ first[0]).relu() @ second[0, 0]
    if classifier == "fc":
        expected = mlp.relu() @ network.classifier.layers[0].weight.detach().T
    else:
        expected = mlp.log_softmax(dim=-1)
    torch.testing.assert_close(network(normalize(graph.adjacency).double(), X), expected)


def test_wide_output_propagates_before_it_multiplies(graph, X):
    """With more classes than hidden columns the order of the products changes, the result does not."""
    network = build_network("ngcn", X.shape[1], 40, powers=3, replicas=1, classifier="attention", hidden=4).eval()
    A_hat = normalize(graph.adjacency).double()
    A = torch.from_numpy(A_hat.matrix.toarray())
    first, second = weights_of(network)
    for k, Z in enumerate(network.towers(A_hat, X).unbind(dim=1)):
        P = torch.linalg.matrix_power(A, k)
        torch.testing.assert_close(Z, P @ (P @ X.dense() @ first[k]).relu() @ second[k, 0])

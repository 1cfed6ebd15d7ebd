"""Towers that propagate once, against dense float64 matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn import Features, normalize
from ngcn.nn import MLP, Network, PowerMLP
from ngcn.nn.graph_model import GraphModel

NODES, FEATURES, CLASSES, POWERS, REPLICAS = 30, 7, 3, (0, 1, 4), 2


@pytest.fixture
def inputs():
    random = np.random.default_rng(0)
    edges = sp.csr_array((random.random((NODES, NODES)) < 0.1).astype(np.float32))
    return normalize(edges).double(), Features(random.random((NODES, FEATURES)) * (random.random((NODES, 1)) < 0.8))


def network(graph_model: type[GraphModel], **settings) -> Network:
    torch.manual_seed(0)
    built = Network(graph_model, FEATURES, CLASSES, POWERS, REPLICAS, (5, CLASSES), "attention", bias=True, **settings)
    for bias in built.graph_models.biases:
        bias.data.normal_()
    return built.double()


@pytest.mark.parametrize("graph_model", [MLP, PowerMLP])
def test_each_tower_is_an_mlp_on_propagated_features(inputs, graph_model):
    A_hat, X = inputs
    A, model = torch.from_numpy(A_hat.matrix.toarray()), network(graph_model).eval()
    found = model.towers(A_hat, X)
    for t, k in enumerate(model.tower_powers):
        W1, b1, W2, b2 = (
            parts
            for i in range(2)
            for parts in (
                model.graph_models.layers[i].weight[t // REPLICAS],
                model.graph_models.biases[i][t // REPLICAS],
            )
        )
        r = t % REPLICAS
        powers = [torch.linalg.matrix_power(A, j) for j in range(k + 1)]
        P = powers[-1] if graph_model is PowerMLP else sum(powers) / (k + 1)
        hidden = torch.relu(P @ X.dense() @ W1[:, 5 * r : 5 * r + 5] + b1[:, 5 * r : 5 * r + 5])
        torch.testing.assert_close(found[:, t], hidden @ W2[r] + b2[:, CLASSES * r : CLASSES * (r + 1)])
    rows = torch.tensor([4, 0])
    torch.testing.assert_close(model.towers(A_hat, X, rows), found[rows])


def test_dropped_nodes_have_no_features_and_the_others_twice_as_much(inputs):
    """Towers of power 0 see only the node itself: its hidden units are 0, or those of features that count twice."""
    A_hat, X = inputs
    model = network(MLP, drop_nodes=0.5, dropout=0.0)
    once = model.eval().towers(A_hat, X)
    twice = model.towers(A_hat, Features(2 * X.dense().numpy()))
    nothing = model.towers(A_hat, Features(0 * X.dense().numpy()))
    found = model.train().towers(A_hat, X)
    shown = X.dense().sum(dim=1) > 0
    for tower in range(REPLICAS):
        dropped = torch.isclose(found[shown, tower], nothing[shown, tower]).all(dim=1)
        kept = torch.isclose(found[shown, tower], twice[shown, tower]).all(dim=1)
        assert (dropped ^ kept).all() and 3 < dropped.sum() < shown.sum() - 3
    assert not torch.equal(found[:, 0], found[:, 1])  # each tower drops other nodes
    assert torch.equal(model.eval().towers(A_hat, X), once)

"""The engine in float32 against the paper's algorithms written with dense float64 matrices, on the whole of Cora."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize as normalize_rows

from ngcn import Config, Graph, load_dataset
from ngcn.model import Card, Model
from ngcn.nn import Network
from ngcn.scoring import cross_entropy


def weight(layer: torch.nn.Module, tower: int) -> torch.Tensor:
    """W of one tower, from either of the two layouts."""
    W: torch.Tensor = layer.weight
    if W.ndim == 3:
        W = W.unflatten(2, (-1, layer.width_out)).transpose(1, 2)
    return W.flatten(0, 1)[tower]


def bias(convolution: torch.nn.Module, tower: int) -> torch.Tensor | float:
    """The bias row of one tower, if there is one."""
    b, towers = convolution.bias, len(convolution.linear.powers) * convolution.linear.replicas
    return 0.0 if b is None else b.flatten().unflatten(0, (towers, -1))[tower]


def dense_towers(network: Network, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    model, outputs = network.graph_models, []
    for tower, k in enumerate(network.tower_powers):

        def walk(Z: torch.Tensor, k: int = k) -> torch.Tensor:
            for _ in range(k):
                Z = A @ Z
            return Z

        Z = X
        if hasattr(model, "own"):
            for i, (own, neighbours) in enumerate(zip(model.own, model.neighbours, strict=True)):
                activation = model.activation if i == 1 else torch.relu
                Z = Z @ weight(own, tower) + walk(Z @ weight(neighbours.linear, tower))
                Z = normalize_rows(activation(Z + bias(neighbours, tower)), dim=1)
        else:
            first, second = model.layers
            Z = torch.relu(walk(Z @ weight(first.linear, tower)) + bias(first, tower))
            Z = model.activation(walk(Z @ weight(second.linear, tower)) + bias(second, tower))
        outputs.append(Z)
    return torch.stack(outputs, dim=1)


@pytest.fixture(scope="module")
def cora() -> Graph:
    return load_dataset("cora")


@pytest.mark.parametrize(
    ("model", "classifier", "recipe"),  # paper: without biases
    [
        ("ngcn", "attention", "standard"),
        ("ngcn", "fc", "paper"),
        ("nsage", "attention", "paper"),
        ("nsage", "fc", "standard"),
    ],
)
def test_loss_and_gradients_on_cora(cora, model, classifier, recipe):
    config = Config(model=model, recipe=recipe, classifier=classifier, powers=6, replicas=2, dropout=0)
    built = Model.build(Card.of(cora, config), config)
    for name, parameter in built.network.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.1)
    A_hat, X = built.inputs(cora)
    rows = torch.from_numpy(np.flatnonzero(cora.train))
    labels = torch.from_numpy(cora.labels)[rows]
    network = built.network
    ours = cross_entropy(network(A_hat, X, rows), labels)
    ours.backward()

    twin = deepcopy(network).double()
    A = torch.from_numpy(A_hat.matrix.toarray()).double()
    reference = cross_entropy(twin.classifier(dense_towers(twin, A, X.dense().double())[rows]), labels)
    gradients = torch.autograd.grad(reference, list(twin.parameters()))

    assert abs(ours.item() - reference.item()) < 1e-5
    for (name, parameter), expected in zip(network.named_parameters(), gradients, strict=True):
        error = (parameter.grad.double() - expected).abs().max()
        assert error < 1e-5, name
        assert error < 1e-3 * expected.abs().max(), name  # small gradients too

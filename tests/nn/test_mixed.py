"""Mixed networks against dense float64 matrices, and against networks of each kind by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn import Config, Graph
from ngcn.checks import Part
from ngcn.model import Card, Model
from ngcn.nn import GCN, Mix, Network, build_network
from ngcn.nn.sage import PlainSAGE
from ngcn.ops import Features, Operators, normalize

MIX = ("gcn:symmetric:0,1,3", "sage:walk:1,2", "sage:in:1", "gcn:out:2", "sage:row:0,2", "gcn:in:1")
OPERATORS = ("symmetric", "row", "walk", "in", "out")


@pytest.fixture
def graph(graph: Graph) -> Graph:
    """With directed weighted edges, a loop, and a node without any edge."""
    edges = graph.adjacency.tolil()
    edges[3, 3], edges[5, 6], edges[6, 5] = 2.0, 0.5, 1.5
    edges[29, :] = edges[:, 29] = 0
    return replace(graph, adjacency=sp.csr_array(edges))


def doubled(graph: Graph) -> Operators:
    A = Operators(graph.adjacency)
    A.update({how: normalize(graph.adjacency, how).double() for how in OPERATORS})
    return A


def dense_operator(graph: Graph, how: str) -> np.ndarray:
    """The definition, in float64."""
    A = graph.adjacency.toarray().astype(np.float64)
    A = {"in": A.T, "out": A}.get(how, np.maximum(A, A.T))
    A = A * (1 - np.eye(len(A)))
    if how in ("symmetric", "row"):
        A = A + np.eye(len(A))
    degree = A.sum(axis=1)
    if how == "symmetric":
        return A / np.sqrt(np.outer(degree, degree))
    return np.divide(A, degree[:, None], out=np.zeros_like(A), where=degree[:, None] > 0)


def dense_tower(names: list[str], tensors: list[torch.Tensor], P: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    """A tower of two layers, given the names and values of its parameters."""
    of, Z = dict(zip(names, tensors, strict=True)), X
    for i in range(2):
        Z = torch.relu(Z) if i else Z
        if "own.0.weight" in of:
            own = Z @ of[f"own.{i}.weight"]
            Z = own + P @ Z @ of[f"neighbours.{i}.linear.weight"] + of.get(f"neighbours.{i}.bias", 0)
        else:
            Z = P @ Z @ of[f"layers.{i}.linear.weight"] + of.get(f"layers.{i}.bias", 0)
    return Z


def random_biases(network: Network) -> Network:
    for name, parameter in network.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    return network


def mixed(X: Features, **settings) -> Network:
    network = build_network("mixed", X.shape[1], 3, mix=MIX, hidden=5, **settings).double().eval()
    return random_biases(network)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("replicas", [1, 2])
def test_towers_are_dense_products(graph: Graph, X: Features, replicas: int, bias: bool) -> None:
    network = mixed(X, replicas=replicas, bias=bias)
    assert any("bias" in name for name in network.state_dict()) == bias
    Z, state, t = network.towers(doubled(graph), X), network.state_dict(), 0
    for kind, part in zip(network.graph_models.kinds, network.graph_models.parts, strict=True):
        names = [name for name, _ in part.named_parameters()]
        for k in kind.powers:
            P = torch.from_numpy(np.linalg.matrix_power(dense_operator(graph, kind.operator), k))
            for _ in range(replicas):
                expected = dense_tower(names, network.tower(state, t), P, X.dense())
                torch.testing.assert_close(Z[:, t], expected, rtol=1e-5, atol=1e-6)
                t += 1
    assert t == Z.shape[1] == len(network.tower_names) == 10 * replicas


def test_parts_are_networks_of_their_kind(graph: Graph, X: Features) -> None:
    network, A, first = mixed(X, replicas=2, bias=True), doubled(graph), 0
    Z = network.towers(A, X)
    for kind, part in zip(network.graph_models.kinds, network.graph_models.parts, strict=True):
        alone = Network(
            GCN if kind.model == "gcn" else PlainSAGE,
            X.shape[1],
            3,
            kind.powers,
            2,
            (5, 3),
            classifier="attention",
            normalization=kind.operator,
            bias=True,
        )
        alone = alone.double().eval()
        alone.graph_models.load_state_dict(part.state_dict())
        towers = alone.towers(A[kind.operator], X)
        assert torch.equal(Z[:, first : first + towers.shape[1]], towers)
        first += towers.shape[1]
    assert first == Z.shape[1]


def test_a_mix_of_gcns_is_ngcn(graph: Graph, X: Features) -> None:
    mix = build_network("mixed", X.shape[1], 3, mix=["gcn:symmetric:0,1,2"], replicas=2, bias=True).double().eval()
    ngcn = build_network("ngcn", X.shape[1], 3, powers=3, replicas=2, bias=True).double().eval()
    random_biases(ngcn)
    torch.nn.init.normal_(ngcn.classifier.scores)
    mix.load_state_dict({k.replace("graph_models.", "graph_models.parts.0."): v for k, v in ngcn.state_dict().items()})
    assert torch.equal(mix(doubled(graph), X), ngcn(normalize(graph.adjacency).double(), X))
    assert list(mix.scale_weights().values()) == list(ngcn.scale_weights().values())


def test_rows_are_what_the_whole_would_be(graph: Graph, X: Features) -> None:
    """Also the gradient of biases, which every row has."""
    network, A, rows = mixed(X, bias=True), doubled(graph), torch.tensor([7, 3, 29])
    weight, gradients = torch.randn(3, 3, dtype=torch.float64), []
    for logits in (network(A, X)[rows], network(A, X, rows)):
        gradients.append(torch.autograd.grad((logits * weight).sum(), list(network.parameters())))
    torch.testing.assert_close(network(A, X, rows), network(A, X)[rows])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_names_and_groups_of_towers() -> None:
    network = build_network("mixed", 4, 2, mix=MIX, replicas=2)
    names = ["features", "GCN Â^1", "GCN Â^3", "SAGE P^1", "SAGE P^2", "SAGE P_in^1", "GCN P_out^2"]
    names += ["SAGE Â_row^0", "SAGE Â_row^2", "GCN P_in^1"]
    assert [str(name) for name in network.tower_names] == [name for name in names for _ in range(2)]
    assert network.groups() == {name: [2 * i, 2 * i + 1] for i, name in enumerate(names)}
    assert network.tower_powers == tuple(k for k in (0, 1, 3, 1, 2, 1, 2, 0, 2, 1) for _ in range(2))
    assert network.powers == (0, 1, 2, 3)
    weights = network.scale_weights()
    assert list(weights) == names and sum(weights.values()) == pytest.approx(1)
    ngcn = build_network("ngcn", 4, 2, powers=2, replicas=2)
    assert ngcn.groups() == {0: [0, 1], 1: [2, 3]} and [str(name) for name in ngcn.tower_names[1:3]] == [
        "features",
        "GCN Â^1",
    ]


def test_the_default_mix() -> None:
    network = build_network("mixed", 4, 2)
    expected = ["features", "GCN Â^1", "GCN Â^2", "GCN Â^4", "SAGE P^1", "SAGE P^2", "SAGE P^3"]
    assert [str(name) for name in network.tower_names] == expected
    assert isinstance(network.operator(sp.csr_array((3, 3))), Operators)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("mixed", {"mix": MIX, "replicas": 3}),
        ("ngcn", {"powers": 3, "replicas": 2}),
        ("nsage", {"powers": 3, "replicas": 2}),
        ("cheby", {}),
        ("walk-coefficients", {}),
    ],
)
def test_views_of_a_tower_share_its_memory_and_nothing_else(graph: Graph, model: str, settings: dict) -> None:
    """Zeros in the views of a tower change that tower and no other; all views together are all parameters."""
    X = Features(graph.features)
    network = build_network(model, X.shape[1], 3, hidden=5, bias=True, **settings).eval()
    random_biases(network)
    A, live = network.operator(graph.adjacency), network.state_dict()  # live: it shares the memory of the parameters
    before, Z = {name: value.clone() for name, value in live.items()}, network.towers(A, X)
    towers = Z.shape[1]
    sizes = [sum(view.numel() for view in network.tower(live, t)) for t in range(towers)]
    assert sum(sizes) == sum(parameter.numel() for parameter in network.graph_models.parameters())
    for t in {0, towers // 2, towers - 1}:
        for view in network.tower(live, t):
            view.zero_()
        after = network.towers(A, X)
        assert not after[:, t].any()
        others = [other for other in range(towers) if other != t]
        assert torch.equal(after[:, others], Z[:, others])
        network.load_state_dict(before)


def test_a_tower_that_is_not_there() -> None:
    network = build_network("mixed", 4, 2)
    with pytest.raises(IndexError):
        network.tower(network.state_dict(), 7)


def test_biases_begin_at_zero_and_change_the_output(graph: Graph) -> None:
    config = Config(hidden=4)
    model = Model.build(Card.of(graph, config), config)
    A, X = model.inputs(graph)
    biases = [p for name, p in model.network.named_parameters() if name.endswith("bias")]
    assert len(biases) == 4 and not any(bias.any() for bias in biases)  # two layers of two kinds
    before = model.network.towers(A, X).detach()
    with torch.no_grad():
        for bias in biases:
            bias += 1
    assert (model.network.towers(A, X) != before).all(dim=2).all(dim=0).all()


def test_plain_sage_has_rows_of_any_length(graph: Graph) -> None:
    X = Features(graph.features)
    plain = build_network("mixed", X.shape[1], 3, mix=["sage:row:1"]).eval()
    unit = build_network("nsage", X.shape[1], 3, powers=[1], replicas=1).eval()
    lengths = plain.towers(plain.operator(graph.adjacency), X).norm(dim=2)
    assert lengths.max() > 1.1 * lengths.min()
    torch.testing.assert_close(unit.towers(unit.operator(graph.adjacency), X).norm(dim=2), torch.ones(30, 1))


def test_a_mix_is_made_of_parts(X: Features) -> None:
    mix = Mix((Part("gcn", "symmetric", (0, 2)), Part("sage", "in", (1,))))
    network = Network(mix, X.shape[1], 3, mix.powers, 1, classifier="attention")
    built = build_network("mixed", X.shape[1], 3, mix=["gcn:symmetric:0,2", "sage:in:1"])
    assert network.tower_names == built.tower_names
    assert {name: p.shape for name, p in network.named_parameters()} == {
        name: p.shape for name, p in built.named_parameters()
    }

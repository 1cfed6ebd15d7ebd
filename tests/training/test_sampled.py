"""Towers on sampled batches: with exact rows they are the towers of the whole graph, with walks so on average."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn.errors import ConfigError
from ngcn.graph import Graph, store_graph
from ngcn.large import Inputs, inputs_of, links_of, sampled_kinds, wanted_powers
from ngcn.large.inputs import Means, tables_of
from ngcn.model import Preparation
from ngcn.nn import EachTower, Network, build_network
from ngcn.ops import Dropout, Features, Operators, SampledPower, Walks, normalize, undirected
from ngcn.ops.walks import Rows
from ngcn.training.sampled import Sampler

MODELS = ("gcn", "sage", "ngcn", "nsage", "dcnn", "mlp", "nmlp", "mixed")
NODES = np.array([7, 3, 20, 3, 59])  # one of them twice


@pytest.fixture
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def weighted(graph: Graph) -> sp.csr_array:
    """Its edges with random weights, its last nodes isolated, and some self-loops."""
    A = graph.adjacency.toarray() * np.random.default_rng(1).choice([0.3, 1.0, 4.0], size=graph.adjacency.shape)
    A[:, 55:], A[55:], A[3, 3], A[59, 59] = 0, 0, 2.0, 1.0
    return sp.csr_array(A)


def network_of(model: str, graph: Graph, **more: object) -> Network:
    """A network with biases that are not 0, in evaluation mode."""
    torch.manual_seed(0)
    shape = {"hidden": 5, "bias": True, **more}
    if model in ("ngcn", "nsage", "dcnn"):
        shape |= {"powers": 4, "replicas": 1 if model == "dcnn" else 2}
    if model == "nmlp":
        shape |= {"powers": [0, 2, 3], "replicas": 2, "layers": 3}
    network = build_network(model, graph.features.shape[1], 3, **shape)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "bias" in name:
                parameter.uniform_(-0.5, 0.5)
    return network.eval()


def operator_of(network: Network, adjacency: sp.csr_array) -> object:
    if isinstance(A := network.operator(adjacency), Operators):
        for how in dict(network.kinds()):
            A[how] = normalize(adjacency, how).double()
        return A
    return A.double()


class ExactWalks(Walks):
    """Whole rows of the powers in place of walks."""

    def rows(self, stops: np.ndarray, k: int) -> Rows:
        nodes = stops[:, 0, 0]
        matrix = normalize(self.adjacency, self.normalization).matrix.astype(float).toarray()
        columns = np.broadcast_to(np.arange(len(matrix)), (len(nodes), len(matrix)))
        return Rows(columns, np.linalg.matrix_power(matrix, k)[nodes])


def sampler_of(
    network: Network, adjacency: sp.csr_array, X: np.ndarray, kind: type[Walks], per_node: int, means: bool = True
) -> Sampler:
    products, sums, walks = {}, {}, {}
    for how, powers in wanted_powers(network).items():
        matrix = normalize(adjacency, how).matrix.astype(float).toarray()
        of = {k: np.linalg.matrix_power(matrix, k) for k in range(2 * max(powers) + 1)}
        products[how] = {k: of[k] @ X for k in of}
        sums[how] = {k: of[k].sum(axis=1, keepdims=True) for k in of}
        walks[how] = kind(undirected(adjacency), how)
        walks[how].adjacency = adjacency
    inputs = Inputs(links_of(adjacency), X, tables_of(network, products))
    if means:
        of_kinds = [(products[how], sums[how], model.powers) for how, model in network.kinds()]
        inputs = replace(
            inputs, means=tuple({k: Means(S[2 * k], S[k], of[k]) for k in powers} for S, of, powers in of_kinds)
        )
    return Sampler(network, inputs, walks, per_node)


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("means", [False, True])
def test_with_exact_rows_towers_are_those_of_the_whole_graph(graph: Graph, model: str, means: bool) -> None:
    """And so are the gradients, where nothing is dropped."""
    network, A = network_of(model, graph), weighted(graph)
    X = graph.features.toarray().astype(float)
    sampled = sampler_of(network, A, X, ExactWalks, 1, means)(NODES, (0, 0))
    expected = network.towers(operator_of(network, A), Features(X), torch.from_numpy(NODES))
    found = network.towers(sampled, sampled)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(network(sampled, sampled, torch.tensor([4, 0])), network.combine(expected[[4, 0]]))
    parameters = [p for name, p in network.named_parameters() if name.startswith("graph_models")]
    of_found, of_expected = (torch.autograd.grad(Z.pow(2).sum(), parameters) for Z in (found, expected))
    torch.testing.assert_close(of_found, of_expected)


@pytest.mark.parametrize("model", ["ngcn", "nsage", "mixed"])
@pytest.mark.parametrize("means", [False, True])
def test_walks_are_right_on_average(graph: Graph, model: str, means: bool) -> None:
    """Before the activation function. The error of the mean is estimated from the spread of the samples."""
    network, A = network_of(model, graph, classifier="attention"), weighted(graph)
    for _, of_kind in network.kinds():
        if model == "nsage":
            of_kind.normalizes_rows = False  # it is no longer linear in the rows of the second layer
    X, nodes = (
        graph.features.toarray().astype(float),
        np.arange(60),
    )  # in a small batch, the slope would depend on walks
    operator = operator_of(network, A)
    network, sampler = network.double(), sampler_of(network, A, X, Walks, 4, means)
    with torch.no_grad():
        expected = network.towers(operator, Features(X), torch.from_numpy(nodes))
        draws = torch.stack([network.towers(s := sampler(nodes, (0, step)), s) for step in range(200)])
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - expected).abs() < 5 * error + 1e-6).all()
    assert (draws.std(dim=0) > 1e-3).any()


@pytest.mark.usefixtures("_float64")
def test_known_means_lower_the_variance(graph: Graph) -> None:
    network, X = network_of("ngcn", graph), graph.features.toarray().astype(float)
    spread = []
    for means in (False, True):
        sampler = sampler_of(network, weighted(graph), X, Walks, 4, means)
        with torch.no_grad():
            draws = torch.stack([network.towers(s := sampler(NODES, (0, step)), s) for step in range(50)])
        spread.append(draws.var(dim=0).mean())
    assert spread[1] < 0.6 * spread[0]


@pytest.mark.parametrize("model", ["nsage", "mixed"])
def test_means_are_those_of_scaled_inputs(graph: Graph, model: str, tmp_path: Path) -> None:
    network, nodes = network_of(model, graph), np.arange(60)
    graph = replace(graph, adjacency=weighted(graph))
    for given in (graph, store_graph(graph, tmp_path)):
        inputs = inputs_of(network, given, Preparation("none"), memory=10**9, means=True).scaled(network)
        for (how, of_kind), tables, means in zip(network.kinds(), inputs.kinds, inputs.means, strict=True):
            assert list(means) == [k for k in of_kind.powers if k]
            for k, known in means.items():
                power = np.linalg.matrix_power(normalize(graph.adjacency, how).matrix.toarray(), k)
                found = known.rows(nodes, True)
                np.testing.assert_allclose(found.S, power @ tables[k][nodes], atol=1e-4)
                np.testing.assert_allclose(found.X, power @ inputs.X[nodes], atol=1e-5)
                np.testing.assert_allclose(found.sums[:, 0], power.sum(axis=1), atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_dropout_keeps_the_mean_and_shares_a_mask_if_asked(shared: bool) -> None:
    torch.manual_seed(0)
    S, W = torch.randn(6, 8), torch.randn(8, 4).repeat(1, 2)  # two towers with the same weights
    power = SampledPower(S, shared_mask=shared)
    draws = torch.stack([power.times(S, W, 2, Dropout.draw(0.5)) for _ in range(500)])
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - S @ W).abs() < 5 * error).all()
    assert torch.equal(draws[:, :, :4], draws[:, :, 4:]) is shared


def test_what_cannot_be_sampled(graph: Graph) -> None:
    with pytest.raises(ConfigError, match="at most two layers, not 3: a third layer needs walks from every stop"):
        sampled_kinds(network_of("ngcn", graph, layers=3))
    with pytest.raises(ConfigError, match="Chebyshev needs the whole graph in every step"):
        sampled_kinds(build_network("cheby", 12, 3))
    own = Network(EachTower(lambda i, o: torch.nn.Linear(i, o)), 12, 3, 2, 1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Graph models of your own need the whole graph"):
        sampled_kinds(own)
    with pytest.raises(ValueError, match="towers of one layer only"):
        SampledPower(torch.zeros(2, 2)).mean(torch.zeros(2, 2))

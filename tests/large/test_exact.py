"""The outputs of towers in blocks are those of the whole graph."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from ngcn import Config
from ngcn.graph import store_graph
from ngcn.large import Exact, inputs_of
from ngcn.large import exact as blocks
from ngcn.model import Card, Model
from tests.large.conftest import random_graph

MODELS = {
    "gcn": {},
    "sage": {"dropout": 0.3},
    "dcnn": {"powers": 3},
    "mixed": {},
    "nmlp": {"powers": [0, 2]},
    "fc": {"model": "ngcn", "powers": 3, "replicas": 2, "classifier": "fc"},
    "wide": {"model": "nsage", "powers": 3, "replicas": 2, "hidden": 2},  # fewer hidden units than classes
}
ROWS = np.array([0, 7, 8, 30, 59])


def untrained(name, graph):
    """A model whose biases are not 0."""
    torch.manual_seed(0)
    settings = {"model": name, "bias": True, **MODELS[name]}
    model = Model.build(Card.of(graph, Config(**settings)), Config(**settings))
    for parameter in model.network.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return model


def exact_of(model, graph, memory=10**9):
    return Exact(model.network, inputs_of(model.network, graph, model.card.preparation, memory=memory), memory)


@pytest.mark.parametrize("name", MODELS)
def test_towers_are_those_of_the_whole_graph(graph, name, tmp_path):
    model, stored = untrained(name, graph), store_graph(graph, tmp_path)
    A_hat, X = model.inputs(graph)
    expected = model.network.eval().towers(A_hat, X)
    for given in (graph, stored):
        exact = exact_of(model, given)
        torch.testing.assert_close(exact.towers(np.arange(60)), expected, atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(exact.towers(ROWS), expected[ROWS], atol=2e-5, rtol=1e-4)


def test_blocks_do_not_change_bits(graph, tmp_path, monkeypatch):
    model = untrained("mixed", graph)
    whole = exact_of(model, graph).towers(np.arange(60))
    monkeypatch.setattr("ngcn.large.rows.CHUNK", 4 * 100 * 7)
    monkeypatch.setattr(blocks, "working_set", lambda memory, nodes: 8 * 60 * 2 / 0.8)
    exact = exact_of(model, graph)
    parts = list(exact.stream(np.arange(60), tmp_path))
    assert len(parts) > 3 and len(list(tmp_path.glob("*.npy"))) > 6
    assert torch.equal(torch.cat([Z for _, Z in parts]), whole)
    monkeypatch.setattr(Exact, "_propagated", None)  # files in the folder are reused
    assert torch.equal(torch.cat([Z for _, Z in exact.stream(np.arange(60), tmp_path)]), whole)


def test_folded_weights_take_inputs_that_are_not_scaled():
    graph = random_graph()
    for name in ("mixed", "nmlp", "sage"):
        model = untrained(name, graph)
        inputs = inputs_of(model.network, graph, model.card.preparation, memory=10**9)
        scaled = inputs.scaled(model.network)
        expected = Exact(model.network, scaled, 10**9).towers(ROWS)
        assert not torch.allclose(Exact(model.network, inputs, 10**9).towers(ROWS), expected, atol=1e-2)
        scaled.fold(model.network)
        torch.testing.assert_close(Exact(model.network, inputs, 10**9).towers(ROWS), expected, atol=2e-5, rtol=1e-4)


class Elsewhere:
    """Runs tasks as another process does."""

    def run(self, tasks):
        return (pickle.loads(packed)() for packed in [pickle.dumps(task) for task in tasks])


@pytest.mark.parametrize("rows", [np.arange(60), ROWS], ids=["all", "some"])
def test_tasks_for_other_processes_do_not_change_bits(graph, tmp_path, rows):
    model, stored = untrained("mixed", graph), store_graph(graph, tmp_path / "graph")
    here = exact_of(model, stored)
    there = replace(here, executor=Elsewhere(), scratch=tmp_path)
    assert torch.equal(there.towers(rows), here.towers(rows))
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]

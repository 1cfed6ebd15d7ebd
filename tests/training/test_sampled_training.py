"""Training on sampled batches."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn import Config, Graph, Run, train
from ngcn.errors import ConfigError, RunError
from ngcn.graph import open_graph, store_graph
from ngcn.model import Card, Model, choose_batch
from ngcn.model import batch as choice
from ngcn.training import fit
from ngcn.training.sampled import SampledInputs, prepare_products

SMALL = {"batch": "sampled", "walks": 4, "batch_size": 16, "hidden": 8}


def communities(nodes: int = 120, *, multilabel: bool = False) -> Graph:
    """Three communities; features hardly tell them."""
    random = np.random.default_rng(0)
    of = np.arange(nodes) % 3
    A = np.triu(random.random((nodes, nodes)) < np.where(of[:, None] == of, 0.15, 0.01), 1)
    X = random.normal(size=(nodes, 6)).astype(np.float32) + 2 * np.eye(3, 6, dtype=np.float32)[of]
    part = np.arange(nodes) // 3 % 4
    labels = np.eye(3)[of] if multilabel else of
    return Graph(sp.csr_array(A, dtype=np.float32), X, labels, part == 0, part == 1, part > 1)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def stored(graph, tmp_path_factory):
    return store_graph(graph, tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize(
    ("model", "recipe"),
    [("mixed", "independent"), ("ngcn", "paper"), ("nsage", "standard"), ("nmlp", "consistency")],
)
def test_sampled_batches_learn_as_full_ones_do(graph, model, recipe):
    config = Config(model=model, recipe=recipe, steps=40, lr=0.03, dropout=0.2, **{**SMALL, "batch_size": 20})
    sampled, full = fit(graph, config), fit(graph, replace(config, batch="full"))
    assert min(sampled.test, full.test) > 0.8 and sampled.test > full.test - 0.1
    assert len(sampled.history["val"]) == sampled.steps


def test_multilabel_and_a_fully_connected_classifier():
    graph = communities(multilabel=True)
    result = fit(graph, Config(model="ngcn", powers=3, classifier="fc", steps=60, dropout=0.2, **SMALL))
    assert result.metric == "micro_f1" and result.test > 0.8


def test_bits_depend_neither_on_threads_nor_on_where_the_graph_is(graph, stored):
    config, before, found = Config(steps=2, **SMALL), torch.get_num_threads(), []
    try:
        for threads, given in ((1, graph), (2, open_graph(stored.folder))):
            torch.set_num_threads(threads)
            found.append(fit(given, config))
    finally:
        torch.set_num_threads(before)
    assert all(result.history == found[0].history for result in found)
    for name, value in found[0].model.network.state_dict().items():
        assert all(torch.equal(result.model.network.state_dict()[name], value) for result in found)


def test_a_small_graph_on_disk_trains_as_one_in_memory(graph, stored):
    config = Config(steps=3, hidden=8)
    of_disk = fit(stored, config)
    assert of_disk.history == fit(graph, config).history
    assert of_disk.model.card.fingerprint == stored.fingerprint()


def test_other_processes_get_the_path_of_a_graph_on_disk(stored):
    changed = stored.with_split(stored.val, stored.train, stored.test)
    packed = pickle.dumps(changed)
    assert len(packed) < 2000 and pickle.loads(packed).fingerprint() == changed.fingerprint() != stored.fingerprint()


@pytest.mark.parametrize("last", [5, 18])
def test_a_stopped_training_continues_to_the_same_bits(graph, tmp_path, last, monkeypatch):
    monkeypatch.setattr(SampledInputs, "_interval", lambda inputs: 7)
    config, checkpoint = Config(steps=30, **SMALL), tmp_path / "checkpoint.safetensors"
    whole = fit(graph, config)

    def stop(step):
        if step.step == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, config, checkpoint=checkpoint, on_step=stop)
    again = fit(graph, config, checkpoint=checkpoint)
    assert again.history == whole.history and again.best_step == whole.best_step
    assert again.test_scores == whole.test_scores
    validated = {1, 7, 14, 21, 28, 30}
    assert {step for step, loss in enumerate(whole.history["val_loss"], 1) if step not in validated} and all(
        whole.history["val_loss"][step - 1] == whole.history["val_loss"][step - 2]
        for step in range(2, 31)
        if step not in validated
    )


def test_every_node_is_in_one_batch_of_an_epoch(graph):
    config = Config(**SMALL)
    inputs = _inputs(graph, config)
    epochs = [[inputs.batch(epoch * 2 + part).labels for part in range(2)] for epoch in range(2)]
    nodes = [[inputs.batch(step).A_hat.nodes.tolist() for step in (0, 1)], [inputs.batch(2).A_hat.nodes.tolist()]]
    assert sorted(nodes[0][0] + nodes[0][1]) == np.flatnonzero(graph.train).tolist()
    assert nodes[1][0] != nodes[0][0] and [len(labels) for labels in epochs[0]] == [15, 15]
    with_others = _inputs(graph, config, unlabelled=True).batch(0)
    assert not graph.train[with_others.A_hat.nodes[with_others.unlabelled]].any()
    assert with_others.labelled == 30


def _inputs(graph, config, **how):
    return SampledInputs(Model.build(Card.of(graph, config), config), graph, config, None, **how)


def test_the_choice_of_batches_and_its_reason(graph, monkeypatch):
    assert choose_batch(graph, Config()) == ("full", 0.0, 0.0, "")
    assert choose_batch(graph, Config(batch="sampled")).batch == "sampled"
    monkeypatch.setattr(choice, "SMALL", 0)
    assert choose_batch(graph, Config()).why.startswith("Full batches: a step on the whole graph takes about 0.0 GB")
    little = Config(memory="10KB")
    assert choose_batch(graph, little).batch == "sampled" and "may be used" in choose_batch(graph, little).why
    monkeypatch.setattr(choice, "RATE", 1.0)
    assert "and there are 600" in choose_batch(graph, Config()).why
    three = choose_batch(graph, Config(layers=3))
    assert three.batch == "full" and "at most two layers" in three.why
    assert choose_batch(graph, Config(mix=["sage:in:1"])).batch == "full"


def test_a_run_stores_what_was_chosen(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "SMALL", 0)
    train(graph, Config(steps=3, model="gcn"), folder=tmp_path / "run")
    assert Run.open(tmp_path / "run").config.batch == "full"
    config = replace(Run.open(tmp_path / "run").config, batch="auto")
    Run.check(tmp_path / "run", config, resume=True)
    with pytest.raises(RunError, match="batch is full, not sampled"):
        Run.check(tmp_path / "run", replace(config, batch="sampled"), resume=True)


def test_what_sampled_batches_cannot_do(graph):
    with pytest.raises(ConfigError, match="at most two layers, not 3"):
        fit(graph, Config(layers=3, batch="sampled"))
    with pytest.raises(ConfigError, match="memory must be a size such as 4GB"):
        Config(memory="much")
    with pytest.raises(ConfigError, match="needs the whole graph in every step"):
        fit(graph, Config(model="cheby", batch="sampled"))
    with pytest.raises(ConfigError, match="operators symmetric, row, walk, not in"):
        fit(graph, Config(mix=["sage:in:1"], batch="sampled"))


def test_training_finds_the_products_that_were_prepared(graph, tmp_path):
    stored, done = store_graph(graph, tmp_path), []
    config = Config(model="ngcn", powers=3, steps=1, **SMALL)
    prepare_products(stored, config, lambda *numbers: done.append(numbers))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    assert done[-1][0] == done[-1][1]
    fit(stored, config)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")} == files

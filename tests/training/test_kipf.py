from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from ngcn import Config, ConfigError, Model, Run, explain_node, export_torch, predict, train
from ngcn.graph import Graph
from ngcn.model import prepare
from ngcn.training import fit
from ngcn.training.recipes.kipf import is_first_layer

KIPF = Config(model="gcn", recipe="kipf", hidden=4, features="none")


def test_the_loss_is_that_of_the_paper_in_dense_autograd(graph: Graph) -> None:
    """Without dropout, a step is one of Adam on cross entropy + l2 |W0|^2, computed here with dense matrices."""
    model = train(graph, replace(KIPF, dropout=0.0, steps=3, l2=0.15), seed=7).model
    start = train(graph, replace(KIPF, dropout=0.0, steps=1, lr=1e-30, l2=0.0), seed=7).model

    A_hat, X = model.inputs(graph)
    A, X = torch.from_numpy(A_hat.matrix.toarray()), X.dense()
    shapes = ((12, 4), (4, 2))
    W = [p.detach().reshape(s).clone() for p, s in zip(start.network.parameters(), shapes, strict=True)]
    adam = torch.optim.Adam([w.requires_grad_() for w in W], lr=0.01)
    rows, labels = torch.from_numpy(graph.train), torch.from_numpy(graph.labels)
    for _ in range(3):
        adam.zero_grad()
        logits = A @ torch.relu(A @ X @ W[0]) @ W[1]
        (cross_entropy(logits[rows], labels[rows]) + 0.15 * W[0].square().sum()).backward()
        adam.step()
    expected = (A @ torch.relu(A @ X @ W[0]) @ W[1]).softmax(dim=1).detach()
    np.testing.assert_allclose(model.predict_proba(graph), expected, atol=1e-4)


def test_it_stops_when_the_validation_loss_is_above_its_recent_mean(graph: Graph) -> None:
    config = replace(KIPF, hidden=16, patience=5, lr=0.2, steps=500, dropout=0.0, l2=0.0)
    result = train(graph, config)
    losses = result.history["val_loss"]
    assert result.status == "early" and 6 < len(losses) < 500
    assert result.stopped == f"Stopped early at step {len(losses)}: the validation loss is above its mean over 5 steps."
    risen = [i for i in range(6, len(losses)) if losses[i] > np.mean(losses[i - 5 : i])]
    assert risen == [len(losses) - 1]
    assert losses[-1] < max(losses[-6:-1])  # the mean counts
    assert result.best_step == result.steps  # and the last step is kept


def test_the_old_name_is_an_alias_with_its_old_settings(graph: Graph) -> None:
    new = Config(model="gcn", recipe="kipf")
    assert Config(model="gcn-kipf") == new and new.name == "cora-gcn-kipf"
    assert (new.steps, new.l2, new.patience, new.features) == (200, 2.5e-4, 10, "row")
    old = {"hidden": 16, "dropout": 0.5, "lr": 0.01, "l2": 5e-4, "steps": 200, "window": 10}  # as 0.2.0 stored them
    assert Config(model="gcn-kipf", settings=old) == new
    assert Config(model="gcn-kipf", settings={"l2": 0.5}).l2 == 0.25
    with pytest.raises(ConfigError, match="gcn-kipf has no setting 'alpha'; its settings are window, hidden"):
        Config(model="gcn-kipf", settings={"alpha": 1})
    counts = replace(graph, features=graph.features * 3.0 + (graph.features * np.arange(12)))
    assert prepare(counts, new).how == "row"
    assert prepare(counts, replace(new, features="bag")).how == "bag"


def test_it_is_a_network_that_is_stored_explained_and_exported(graph: Graph, tmp_path: Path) -> None:
    result = train(graph, replace(KIPF, steps=5), folder=tmp_path / "run")
    run = Run.open(tmp_path / "run")
    np.testing.assert_array_equal(run.model().predict_proba(graph), result.model.predict_proba(graph))
    assert explain_node(run, 3, graph=graph).votes[0].power == 1
    assert len(predict(run, graph)) == 60
    export_torch(run.model(), tmp_path / "exported")
    assert (tmp_path / "exported" / "model.py").exists()


def test_l2_is_on_the_first_layer_of_every_kind_of_network() -> None:
    first = {"graph_models.layers.0.linear.weight", "graph_models.own.0.weight", "graph_models.2.1.layers.0.W.weight"}
    others = {"graph_models.layers.1.linear.weight", "classifier.layers.0.weight", "graph_models.0.0.layers.1.W.weight"}
    assert all(map(is_first_layer, first)) and not any(map(is_first_layer, others))


def test_a_run_of_0_2_0_has_predictions_in_place_of_weights(graph: Graph, tmp_path: Path) -> None:
    """There gcn-kipf was a baseline, which stored a table of probabilities."""
    table = fit(graph, KIPF).model.predict_proba(graph)
    from ngcn.model import Card, FittedBaseline

    FittedBaseline(torch.from_numpy(table), KIPF, Card.of(graph, KIPF)).save(tmp_path / "old")
    np.testing.assert_allclose(Model.load(tmp_path / "old").predict_proba(graph), table, rtol=1e-6)

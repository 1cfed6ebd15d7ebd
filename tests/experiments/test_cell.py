"""The key of a cell depends on everything that determines its outcome, and on nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import Config, train
from ngcn.experiments.cell import Cell, Setup, remove_features, setup
from ngcn.graph import load_dataset


def key(seed=0, removed=0.0, dataset="cora", model="ngcn", **settings):
    return Cell(setup(dataset, model, removed, **settings), seed).key


def test_every_setting_changes_the_key():
    keys = [
        key(),
        key(seed=1),
        key(removed=0.5),
        key(dataset="citeseer"),
        key(model="gcn"),
        key(powers=3),
        key(replicas=1),
        key(classifier="fc"),
        key(split="random:5"),
        key(model="lp"),
        key(model="label-spreading"),
        key(model="label-spreading", settings={"alpha": 0.5}),
        key(recipe="standard"),
        key(bias=True),
        key(patience=50),
        key(metric="macro_f1"),
        key(balance=True),
        key(recipe="standard", refit=True),
        key(model="mixed", recipe="independent"),
        key(model="mixed", recipe="independent", mix=["gcn:symmetric:0,1", "sage:walk:1"]),
        key(model="mixed", recipe="independent", mix=["gcn:symmetric:0,1", "sage:in:1"]),
    ]
    assert len(set(keys)) == len(keys)


def test_an_explicit_default_does_not_change_the_key():
    given = {"powers": 6, "replicas": 4, "classifier": "attention", "steps": 600, "seeds": 20, "split": "planetoid"}
    assert key() == key(**given, recipe="paper", bias=False, balance=False, refit=False)
    assert key(powers=[0, 1]) == key(powers=2)
    assert key(model="gcn-kipf") == key(model="gcn", recipe="kipf") != key(model="gcn")


@pytest.mark.parametrize("recipe", ["paper", "standard"])
def test_running_a_cell_is_training_its_configuration(recipe):
    config = Config(model="gcn", recipe=recipe, steps=8)
    outcome = Cell(Setup(config), seed=3).run()
    result = train(load_dataset("cora"), config, seed=3)
    assert (outcome["val"], outcome["test"], outcome["best_step"]) == (result.val, result.test, result.best_step)


def test_a_cell_removes_the_features_that_its_seed_draws():
    config = Config(model="gcn", steps=8)
    outcome = Cell(Setup(config, removed=0.9), seed=3).run()
    left = train(remove_features(load_dataset("cora"), 0.9, seed=3), config, seed=3)
    assert (outcome["val"], outcome["test"], outcome["best_step"]) == (left.val, left.test, left.best_step)
    assert outcome["test"] != Cell(Setup(config), seed=3).run()["test"]


def test_a_random_split_is_that_of_the_seed():
    setup = Setup(Config(model="lp", split="random:5"))
    outcomes = [cell.run()["test"] for cell in setup.cells(3)]
    alone = train(load_dataset("cora", split="random:5", seed=2), Config(model="lp"), seed=2)
    assert outcomes[2] == alone.test
    assert len(set(outcomes)) == 3


def test_removal_changes_a_share_of_the_features_and_nothing_else():
    graph = load_dataset("cora")
    half = remove_features(graph, 0.5, seed=1)
    before, after = sp.csr_array(graph.features), sp.csr_array(half.features)
    assert abs(after.nnz / before.nnz - 0.5) < 0.02
    assert (after != after.multiply(before.astype(bool))).nnz == 0  # the remaining values are unchanged
    assert after.shape == before.shape
    assert np.array_equal(half.labels, graph.labels)
    assert remove_features(graph, 1.0, seed=1).features.nnz == 0


def test_removal_depends_on_the_seed_only():
    graph = load_dataset("cora")
    once, again, other = (remove_features(graph, 0.3, seed=seed).features for seed in (1, 1, 2))
    assert (once != again).nnz == 0
    assert (once != other).nnz > 0


@pytest.mark.parametrize("settings", [{"model": "ngcn", "powers": 2, "replicas": 1}, {}])
def test_a_graph_without_any_feature_left_can_be_trained_on(settings):
    outcome = Cell(Setup(Config(**settings, steps=3), removed=1.0), seed=0).run()
    assert 0 <= outcome["test"] <= 1

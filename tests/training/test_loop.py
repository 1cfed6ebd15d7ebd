from dataclasses import replace

import numpy as np
import pytest
import torch

from ngcn import Config, ConfigError, Result, Step, TrainingError, train
from ngcn.errors import GraphError
from ngcn.graph import Graph, load_dataset
from ngcn.nn import Network
from ngcn.registry import network_names
from ngcn.training import Batch, fit
from ngcn.training.recipes.paper import Paper

SMALL = Config(powers=3, replicas=2, hidden=4, steps=25)


def same_weights(one: Result, other: Result) -> bool:
    mine, theirs = one.model.network.state_dict(), other.model.network.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("model", ["ngcn", "nsage", "gcn", "sage", "dcnn"])
def test_every_model_learns_the_crowds(graph: Graph, model: str) -> None:
    result = train(graph, Config(model=model, steps=100, lr=0.05, dropout=0.2))
    assert result.test is not None and result.val > 0.8 and result.test > 0.8
    assert np.mean(result.history["loss"][-10:]) < 0.8 * result.history["loss"][0]


@pytest.mark.parametrize("model", network_names())
def test_same_seed_same_bits_other_seed_other_bits(graph: Graph, model: str) -> None:
    config = Config(model=model, hidden=4, steps=10)
    first, again, other = train(graph, config), train(graph, config), train(graph, config, seed=1)
    assert same_weights(first, again) and first.history == again.history
    assert not same_weights(first, other)


@pytest.mark.parametrize("model", network_names())
def test_the_callers_random_numbers_are_left_alone(graph: Graph, model: str) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(graph, Config(model=model, steps=2))
    assert torch.equal(torch.rand(3), expected)


def test_small_work_takes_one_thread_and_leaves_the_setting_alone(graph: Graph) -> None:
    seen = []
    try:
        torch.set_num_threads(2)
        train(graph, SMALL, on_step=lambda step: seen.append(torch.get_num_threads()))
        assert set(seen) == {1} and torch.get_num_threads() == 2
        train(load_dataset("cora"), Config(steps=1), on_step=lambda step: seen.append(torch.get_num_threads()))
        assert seen[-1] == 2
    finally:
        torch.set_num_threads(1)


def test_parameters_are_those_of_the_first_step_with_the_peak_validation_score(graph: Graph) -> None:
    result = train(graph, replace(SMALL, steps=60))
    assert result.best_step == int(np.argmax(result.history["val"])) + 1 < 60
    assert result.val == max(result.history["val"])
    assert same_weights(result, train(graph, replace(SMALL, steps=result.best_step)))


def test_without_validation_nodes_the_last_step_is_kept(graph: Graph) -> None:
    graph = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    result = fit(graph, replace(SMALL, patience=3), seed=0)
    assert result.best_step == result.steps == 25 and result.val_scores == {}
    assert "val=nan" in repr(result)
    assert np.isfinite(result.history["loss"]).all() and np.isnan(result.history["val"]).all()
    longer = fit(graph, replace(SMALL, steps=26), seed=0)
    assert not same_weights(result, longer) and longer.history["loss"][:25] == result.history["loss"]
    with pytest.raises(TrainingError, match="no step can be kept"):
        fit(graph, replace(SMALL, lr=1e6), seed=0)


def test_test_labels_have_no_part_in_anything_but_the_test_score(graph: Graph) -> None:
    labels = graph.labels.copy()
    labels[graph.test] = 1 - labels[graph.test]
    one, other = train(graph, SMALL), train(replace(graph, labels=labels), SMALL)
    assert same_weights(one, other) and one.history == other.history
    assert one.test is not None and other.test == pytest.approx(1 - one.test)


def test_multilabel_selects_by_micro_f1(multilabel_graph: Graph) -> None:
    result = train(multilabel_graph, replace(SMALL, steps=100, lr=0.05))
    assert result.metric == "micro_f1" and set(result.val_scores) == {"micro_f1", "macro_f1"}
    assert result.val == max(result.history["val"]) > 0.6


def test_early_stopping_says_why_and_who_won(graph: Graph) -> None:
    whole = train(graph, replace(SMALL, steps=200))
    early = train(graph, replace(SMALL, steps=200, patience=10))
    assert early.status == "early" and early.steps == early.best_step + 10
    assert early.stopped == f"Stopped early at step {early.steps}: no better validation score in 10 steps."
    assert early.history["loss"] == whole.history["loss"][: early.steps]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e9])
def test_a_diverging_loss_stops_and_keeps_the_best_step(
    graph: Graph, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def explode(self: Paper, network: Network, batch: Batch) -> torch.Tensor:
        calls.append(1)
        loss = real(self, network, batch)
        return loss if len(calls) <= 5 else loss * 0 + value

    real = Paper.loss
    monkeypatch.setattr(Paper, "loss", explode)
    result = train(graph, SMALL)
    assert result.status == "diverged" and result.steps == 5 and 1 <= result.best_step <= 5
    assert f"at step 6 (seed 0, lr 0.01); kept step {result.best_step}" in result.stopped
    monkeypatch.setattr(Paper, "loss", real)
    assert same_weights(result, train(graph, replace(SMALL, steps=result.best_step)))


def test_parameters_that_make_validation_nan_are_never_the_best(graph: Graph) -> None:
    with pytest.raises(TrainingError, match=r"at step 1 .* no step can be kept"):
        train(graph, replace(SMALL, lr=1e38))


def test_on_step_sees_every_step_and_may_stop(graph: Graph) -> None:
    seen: list[Step] = []
    result = train(graph, SMALL, on_step=seen.append)
    assert [s.step for s in seen] == list(range(1, 26))
    assert (seen[-1].best_step, seen[-1].best_val) == (result.best_step, result.val)

    def enough(step: Step) -> None:
        if step.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, SMALL, on_step=enough)


def test_splits_that_are_empty(graph: Graph) -> None:
    none = np.zeros(60, bool)
    with pytest.raises(GraphError, match="no train nodes"):
        train(graph.with_split(none, graph.val, graph.test), SMALL)
    with pytest.raises(GraphError, match="no val nodes"):
        train(graph.with_split(graph.train, none, graph.test), SMALL)
    result = train(graph.with_split(graph.train, graph.val, none), SMALL)
    assert result.test is None and "test=none" in repr(result)


def test_scale_weights_have_a_number_per_power(graph: Graph) -> None:
    weights = train(graph, replace(SMALL, powers=(0, 2))).scale_weights
    assert weights is not None and len(weights) == 2 and sum(weights) == pytest.approx(1, abs=1e-5)
    assert train(graph, replace(SMALL, classifier="fc")).scale_weights is None


@pytest.mark.parametrize("model", ["ngcn", "nsage"])
def test_same_bits_on_one_and_two_threads(model: str) -> None:
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(train(load_dataset("cora"), Config(model=model, powers=3, steps=4)))
    one, two = results
    assert same_weights(one, two) and one.history == two.history


def test_several_seeds_are_for_another_function(graph: Graph) -> None:
    with pytest.raises(ConfigError, match=r"trains one seed, not 3; train_seeds\(graph, config\)"):
        train(graph, Config(seeds=3))

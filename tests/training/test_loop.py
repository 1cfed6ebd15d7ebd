from dataclasses import replace

import numpy as np
import pytest
import torch

from ngcn import Config, ConfigError, Result, Step, TrainingError, train
from ngcn.errors import GraphError
from ngcn.graph import Graph, load_dataset
from ngcn.nn import Network
from ngcn.registry import RECIPES, load, network_names
from ngcn.text import METRICS
from ngcn.training import Batch, fit
from ngcn.training.recipe import Recipe

SMALL = Config(model="ngcn", powers=3, replicas=2, hidden=4, steps=25)  # recipe standard
PAPER = Config(model="ngcn", recipe="paper", powers=3, replicas=2, hidden=4, steps=25)
DEFAULT = Config(hidden=4, steps=25)  # recipe independent
every_recipe = pytest.mark.parametrize("config", [DEFAULT, SMALL, PAPER], ids=lambda config: config.recipe)


def same_weights(one: Result, other: Result) -> bool:
    mine, theirs = one.model.network.state_dict(), other.model.network.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("model", ["mixed", "ngcn", "nsage", "gcn", "sage", "dcnn"])
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


def test_training_tries_one_thread_and_leaves_the_setting_and_the_bits_alone(graph: Graph) -> None:
    seen: list[int] = []
    try:
        torch.set_num_threads(2)
        result = train(graph, SMALL, on_step=lambda step: seen.append(torch.get_num_threads()))
        assert {1, 2} == set(seen) and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert same_weights(result, train(graph, SMALL))


def test_parameters_are_those_of_the_first_step_with_the_peak_validation_score(graph: Graph) -> None:
    """The paper's rule; what the other recipes keep is in test_best_steps."""
    result = train(graph, replace(PAPER, steps=60))
    assert result.best_step == int(np.argmax(result.history["val"])) + 1 < 60
    assert result.val == max(result.history["val"])
    assert same_weights(result, train(graph, replace(PAPER, steps=result.best_step)))


@every_recipe
def test_without_validation_nodes_the_last_step_is_kept(graph: Graph, config: Config) -> None:
    graph = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    result = fit(graph, replace(config, patience=3), seed=0)
    assert result.best_step == result.steps == 25 and result.val_scores == {}
    assert "val=nan" in repr(result)
    assert np.isfinite(result.history["loss"]).all() and np.isnan(result.history["val"]).all()
    longer = fit(graph, replace(config, steps=26), seed=0)
    assert not same_weights(result, longer) and longer.history["loss"][:25] == result.history["loss"]
    with pytest.raises(TrainingError, match="no step can be kept"):
        fit(graph, replace(config, lr=1e6), seed=0)


@every_recipe
def test_test_labels_have_no_part_in_anything_but_the_test_score(graph: Graph, config: Config) -> None:
    labels = graph.labels.copy()
    labels[graph.test] = 1 - labels[graph.test]
    one, other = train(graph, config), train(replace(graph, labels=labels), config)
    assert same_weights(one, other) and one.history == other.history
    assert one.test is not None and other.test == pytest.approx(1 - one.test)


@pytest.mark.parametrize("config", [SMALL, PAPER], ids=lambda config: config.recipe)
def test_multilabel_selects_by_micro_f1(multilabel_graph: Graph, config: Config) -> None:
    result = train(multilabel_graph, replace(config, steps=100, lr=0.05))
    assert result.metric == "micro_f1" and next(iter(result.val_scores)) == "micro_f1"
    assert set(result.val_scores) == set(METRICS)
    assert result.val == max(result.history["val"]) > 0.6


def test_early_stopping_says_why_and_who_won(graph: Graph) -> None:
    whole = train(graph, replace(PAPER, steps=200))
    early = train(graph, replace(PAPER, steps=200, patience=10))
    assert early.status == "early" and early.steps == early.best_step + 10
    assert early.stopped == f"Stopped early at step {early.steps}: no better validation score in 10 steps."
    assert early.history["loss"] == whole.history["loss"][: early.steps]


def test_a_score_that_is_not_a_number_is_divergence(graph: Graph) -> None:
    with pytest.raises(TrainingError, match="The loss became nan at step 1"):
        train(graph, Config(model="gcn", metric="roc_auc", lr=1e308, steps=1))


@every_recipe
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e9])
def test_a_diverging_loss_stops_and_keeps_the_best_step(
    graph: Graph, config: Config, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, recipe = [], load(RECIPES[config.recipe].recipe)

    def explode(self: Recipe, network: Network, batch: Batch) -> torch.Tensor:
        calls.append(1)
        loss = real(self, network, batch)
        return loss if len(calls) <= 5 else loss * 0 + value

    real = recipe.loss
    monkeypatch.setattr(recipe, "loss", explode)
    result = train(graph, config)
    assert result.status == "diverged" and result.steps == 5 and 1 <= result.best_step <= 5
    assert f"at step 6 (seed 0, lr 0.01); kept step {result.best_step}" in result.stopped
    monkeypatch.setattr(recipe, "loss", real)
    again = train(graph, replace(config, steps=result.best_step))
    kept, expected = (of.model.network.state_dict() for of in (result, again))
    # Halves of the validation nodes, which make prediction sets, may choose a later step
    assert all(torch.equal(kept[name], expected[name]) for name in kept if name != "calibration.conformal")
    assert kept.keys() == expected.keys()


@every_recipe
def test_parameters_that_make_validation_nan_are_never_the_best(graph: Graph, config: Config) -> None:
    told = 2 if config.recipe == "independent" else 1  # there the towers so far count, and there are none
    with pytest.raises(TrainingError, match=rf"at step {told} .* no step can be kept"):
        train(graph, replace(config, lr=1e38))


@every_recipe
def test_on_step_sees_every_step_and_may_stop(graph: Graph, config: Config) -> None:
    seen: list[Step] = []
    result = train(graph, config, on_step=seen.append)
    assert [s.step for s in seen] == list(range(1, 26))
    assert seen[-1].best_step == result.best_step
    assert seen[-1].best_val == result.history["val"][result.best_step - 1]
    if config.recipe != "independent":  # which then corrects the frequencies of classes
        assert seen[-1].best_val == result.val

    def enough(step: Step) -> None:
        if step.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, config, on_step=enough)


def test_splits_that_are_empty(graph: Graph) -> None:
    none = np.zeros(60, bool)
    with pytest.raises(GraphError, match="no train nodes"):
        train(graph.with_split(none, graph.val, graph.test), SMALL)
    with pytest.raises(GraphError, match="no val nodes"):
        train(graph.with_split(graph.train, none, graph.test), SMALL)
    result = train(graph.with_split(graph.train, graph.val, none), SMALL)
    assert result.test is None and "test=none" in repr(result)


def test_scale_weights_have_a_number_per_power_or_kind_of_tower(graph: Graph) -> None:
    mixed = train(graph, DEFAULT).scale_weights
    assert mixed is not None and len(mixed) == DEFAULT.towers and sum(mixed) == pytest.approx(1, abs=1e-5)
    weights = train(graph, replace(SMALL, powers=(0, 2))).scale_weights
    assert weights is not None and len(weights) == 2 and sum(weights) == pytest.approx(1, abs=1e-5)
    assert train(graph, replace(SMALL, classifier="fc")).scale_weights is None


@pytest.mark.parametrize("settings", [{}, {"model": "ngcn", "powers": 3}, {"model": "nsage", "powers": 3}])
def test_same_bits_on_one_and_two_threads(settings: dict) -> None:
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(train(load_dataset("cora"), Config(**settings, steps=4)))
    one, two = results
    assert same_weights(one, two) and one.history == two.history


def test_several_seeds_are_for_another_function(graph: Graph) -> None:
    with pytest.raises(ConfigError, match=r"trains one seed, not 3; train_seeds\(graph, config\)"):
        train(graph, Config(seeds=3))

"""Which step is kept, of each tower or of the whole network; and that a resumed training keeps the same."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ngcn import Config, ConfigError, Result, Step, train
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.nn import Network, build_network
from ngcn.scoring import cross_entropy, score
from ngcn.training import fit
from ngcn.training.best_steps import BestSteps
from tests.training.conftest import of_a_network

MIXED = Config(hidden=4, steps=40, lr=0.05)
NGCN = Config(model="ngcn", powers=3, replicas=2, hidden=4, steps=40, lr=0.05)
LABELS = torch.tensor([0, 1] * 10)


def logits(right: int, sure: float) -> Tensor:
    """What a tower says of 20 nodes: the first ``right`` of them correctly, all of them ``sure``."""
    signs = torch.where(torch.arange(20) < right, 1.0, -1.0)
    return sure * signs[:, None] * torch.nn.functional.one_hot(LABELS, 2)


def observed(selection: BestSteps, *steps: list[Tensor]) -> BestSteps:
    for step, of_towers in enumerate(steps, 1):
        selection.observe(step, torch.stack(of_towers, dim=1), LABELS)
    return selection


def test_ties_of_the_score_are_broken_by_the_loss() -> None:
    towers = [logits(15, 4.0)], [logits(15, 2.0)], [logits(15, 3.0)], [logits(14, 0.7)]
    losses = [cross_entropy(Z[0], LABELS).item() for Z in towers]
    assert losses[3] < losses[1] < losses[2] < losses[0]  # the last is the least sure, and right less often
    selection = observed(BestSteps(None, "accuracy"), *towers)
    assert selection.steps[0].tolist() == [2]
    assert selection.scores[0].item() == 0.75 and selection.losses[0].item() == pytest.approx(losses[1])
    assert torch.equal(selection.logits[0][:, 0], towers[1][0])
    assert observed(BestSteps(None, "loss"), *towers).steps[0].tolist() == [4]
    assert observed(BestSteps(None, "accuracy"), *towers, [logits(16, 5.0)]).steps[0].tolist() == [5]


def test_a_tie_of_both_keeps_the_first() -> None:
    assert observed(BestSteps(None, "accuracy"), [logits(15, 1.0)], [logits(15, 1.0)]).steps[0].tolist() == [1]


def test_nan_is_never_kept() -> None:
    bad = torch.full((20, 2), torch.nan)
    selection = observed(BestSteps(None, "loss"), [bad, logits(10, 1.0)], [logits(9, 1.0), bad], [bad, bad])
    assert selection.steps[0].tolist() == [2, 1] and selection.improved == []


def test_towers_are_chosen_each_by_itself() -> None:
    steps = [logits(12, 1.0), logits(18, 1.0)], [logits(14, 1.0), logits(11, 1.0)], [logits(13, 1.0), logits(18, 1.2)]
    selection = BestSteps(None, "accuracy")
    improved = []
    for step, Z in enumerate(steps, 1):
        selection.observe(step, torch.stack(Z, dim=1), LABELS)
        improved.append(selection.improved)
    assert selection.steps[0].tolist() == [2, 3] and improved == [[0, 1], [0], [1]]
    assert torch.equal(selection.logits[0], torch.stack([steps[1][0], steps[2][1]], dim=1))


def test_halves_choose_by_their_own_nodes() -> None:
    torch.manual_seed(3)
    steps = [[torch.randn(20, 2) for _ in range(3)] for _ in range(30)]
    for metric in ("loss", "accuracy", "macro_f1"):
        selection = observed(BestSteps(None, metric), *steps)
        everyone, one, other = selection.halves
        assert everyone.all() and torch.equal(one, ~other) and one.sum() == 10
        differ = False
        for choice, half in enumerate(selection.halves):
            for t in range(3):
                found = [score(metric, Z[t][half], LABELS[half]) for Z in steps]
                losses = [cross_entropy(Z[t][half], LABELS[half]).item() for Z in steps]
                best = min(range(30), key=lambda i: (found[i] if metric == "loss" else -found[i], losses[i]))
                assert selection.steps[choice, t] == best + 1
                assert torch.equal(selection.logits[choice, :, t], steps[best][t])  # of all nodes, not of the half
                differ |= selection.steps[choice, t] != selection.steps[0, t]
        assert differ
    again = observed(BestSteps(None, "loss"), *steps)
    assert torch.equal(again.halves, selection.halves)  # not drawn anew


def test_weights_of_nodes_count_in_the_loss() -> None:
    heavy = torch.where(torch.arange(20) < 10, 1.0, 0.0)  # the nodes of which the first tower is sure
    steps = logits(10, 2.0)[:, None], logits(20, 0.1)[:, None]
    kept = []
    for weights in (None, heavy):
        selection = BestSteps(None, "loss")
        for step, Z in enumerate(steps, 1):
            selection.observe(step, Z, LABELS, weights)
        kept.append(selection.steps[0].item())
    assert kept == [2, 1]
    assert selection.losses[0].item() == pytest.approx(cross_entropy(logits(10, 2.0)[:10], LABELS[:10]).item())


def history(steps: int) -> list[tuple[float, float, float]]:
    return [(0.0, 0.0, 0.0)] * steps


def stops(selection: BestSteps, *rows: tuple[float, float]) -> list[str]:
    """What a selection says after each step, given its validation losses and scores."""
    return [selection.stop([(0.0, *row) for row in rows[:step]]) for step in range(1, len(rows) + 1)]


def test_patience_counts_steps_without_a_better_score_or_a_lower_loss() -> None:
    rows = [(1.0, 0.5), (1.0, 0.6), (1.0, 0.6), (0.9, 0.6), (0.9, 0.6), (0.95, 0.5)]
    told = stops(BestSteps(2, "accuracy"), *rows)
    assert told[:5] == [""] * 5
    assert told[5] == "Stopped early at step 6: all towers together have no better validation score or loss in 2 steps."
    assert stops(BestSteps(None, "accuracy"), *rows) == [""] * 6
    assert stops(BestSteps(1, "accuracy"), *[(np.nan, np.nan)] * 9) == [""] * 9  # no validation nodes


def test_many_small_decreases_of_the_loss_count_together() -> None:
    slow = [(0.9995**step, 0.5) for step in range(50)]
    assert stops(BestSteps(5, "accuracy"), *slow) == [""] * 50
    assert stops(BestSteps(4, "accuracy"), *slow)[4:] != [""] * 46


def test_the_score_that_is_reported_may_be_another() -> None:
    rows = [(1.0, 0.5), (1.0, 0.6), (1.0, 0.7), (1.0, 0.6)]
    assert stops(BestSteps(2, "loss", reported="accuracy"), *rows) == [""] * 4
    assert stops(BestSteps(2, "loss"), *rows)[2]  # a loss: less is better


def parameters(network: Network) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def test_each_tower_is_kept_at_its_own_best_step() -> None:
    """Against copies that are kept by hand; other parameters are those of the step in which the first was kept."""
    network = build_network("mixed", 5, 2, mix=["gcn:symmetric:0,1", "sage:walk:1"], replicas=2, hidden=3, bias=True)
    random = np.random.default_rng(0)
    selection, by_hand, best = BestSteps(None, "loss"), [None] * 6, [np.inf] * 6
    for step in range(1, 13):
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter)
        Z = torch.stack([logits(int(random.integers(5, 20)), 1.0) for _ in range(6)], dim=1)
        selection.observe(step, Z, LABELS)
        selection.update(history(step), network)
        now = parameters(network)
        for t in range(6):
            if (loss := cross_entropy(Z[:, t], LABELS).item()) < best[t] - 1e-6:
                best[t], by_hand[t] = loss, deepcopy(network.tower(now, t))
    assert len(set(selection.steps[0].tolist())) > 2 and selection.step == selection.steps[0].max()
    selection.restore(network)
    for t in range(6):
        for kept, expected in zip(network.tower(network.state_dict(), t), by_hand[t], strict=True):
            assert torch.equal(kept, expected)


def kept_by_hand(graph: Graph, config: Config) -> tuple[Result, list[dict[str, Tensor]]]:
    """A training, and the parameters after each of its steps."""
    after: list[dict[str, Tensor]] = []
    network = Model.build(Card.of(graph, config), config).network
    torch.manual_seed(4)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.xavier_uniform_(parameter)
    config = of_a_network(config, network)
    result = fit(graph, config, network=network, on_step=lambda step: after.append(parameters(network)))
    return result, after


def validation_logits(graph: Graph, model: Model, states: list[dict[str, Tensor]]) -> Tensor:
    """The outputs of towers for the validation nodes after each step, ``(steps, nodes, towers, classes)``."""
    A_hat, X = model.inputs(graph)
    network, outputs = deepcopy(model.network).eval(), []
    for state in states:
        network.load_state_dict({**network.state_dict(), **{k: v for k, v in state.items() if "calib" not in k}})
        with torch.no_grad():
            outputs.append(network.towers(A_hat, X, torch.from_numpy(np.flatnonzero(graph.val))))
    return torch.stack(outputs)


def test_training_keeps_the_towers_of_their_best_steps(graph: Graph) -> None:
    result, after = kept_by_hand(graph, MIXED)
    network, labels = result.model.network, torch.from_numpy(graph.labels)[graph.val]
    Z = validation_logits(graph, result.model, after)
    kept, steps = network.state_dict(), []
    for t in range(7):
        losses = [cross_entropy(at[:, t], labels).item() for at in Z]
        steps.append(int(np.argmin(losses)) + 1)
        for own, expected in zip(network.tower(kept, t), network.tower(after[steps[-1] - 1], t), strict=True):
            assert torch.equal(own, expected), (t, steps)
    assert len(set(steps)) > 2 and max(steps) == result.best_step
    assert min(steps) < 40


def test_training_keeps_the_best_step_of_the_whole_network(graph: Graph) -> None:
    result, after = kept_by_hand(graph, NGCN)
    network, labels = result.model.network, torch.from_numpy(graph.labels)[graph.val]
    found, losses = result.history["val"], result.history["val_loss"]
    best = min(range(len(after)), key=lambda i: (-found[i], losses[i]))
    assert result.best_step == best + 1 and result.val == found[best]
    assert found.count(found[best]) > 1 and found.index(found[best]) != best  # the first of them is not the best
    for name, value in network.state_dict().items():
        if "calibration" not in name:
            assert torch.equal(value, after[best][name]), name
    Z = validation_logits(graph, result.model, [after[best]])[0]
    assert losses[best] == pytest.approx(cross_entropy(network.classifier(Z), labels).item(), rel=1e-4)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "loss"])
def test_another_metric_selects(graph: Graph, metric: str) -> None:
    result = train(graph, replace(NGCN, metric=metric))
    history = result.history["val"]
    best = min(history) if metric == "loss" else max(history)
    assert result.metric == metric and history[result.best_step - 1] == best
    if metric != "loss":  # which calibration improves
        assert result.val == pytest.approx(best)
    mixed = train(graph, replace(MIXED, metric=metric))
    assert mixed.metric == metric and mixed.val_scores[metric] == mixed.val
    if metric != "loss":
        other = train(graph, replace(MIXED, metric="loss"))
        assert mixed.history["val"] != other.history["val"]


@pytest.mark.parametrize("config", [MIXED, NGCN], ids=["independent", "standard"])
def test_early_stopping_counts_from_the_last_improvement(graph: Graph, config: Config) -> None:
    config = replace(config, steps=400, patience=8, lr=0.2)
    early = train(graph, config)
    assert early.status == "early" and early.steps < 300
    whole = config.recipe == "standard"
    what = "no better" if whole else "all towers together have no better"
    assert early.stopped == f"Stopped early at step {early.steps}: {what} validation score or loss in 8 steps."
    longer = train(graph, replace(config, patience=400, steps=early.steps + 1))
    assert longer.status == "complete" and longer.history["loss"][:-1] == early.history["loss"]
    again = stops(
        BestSteps(8, "accuracy", whole=whole), *zip(early.history["val_loss"], early.history["val"], strict=True)
    )
    assert again == [""] * (early.steps - 1) + [early.stopped]


def test_a_checkpoint_holds_all_of_a_selection() -> None:
    torch.manual_seed(1)
    steps = [[torch.randn(20, 2) for _ in range(3)] for _ in range(12)]
    for metric in ("loss", "accuracy", "roc_auc"):
        whole, first, second = (BestSteps(4, metric) for _ in range(3))
        observed(whole, *steps)
        observed(first, *steps[:5])
        stored = {name: value.clone() for name, value in first.tensors().items()}
        second.load(stored)
        for step, Z in enumerate(steps[5:], 6):
            second.observe(step, torch.stack(Z, dim=1), LABELS)
        assert second.tensors().keys() == whole.tensors().keys()
        assert all(torch.equal(value, second.tensors()[name]) for name, value in whole.tensors().items())
        assert second.stop(history(12)) == whole.stop(history(12)) and second.improved == whole.improved
    empty = BestSteps(None, "loss")
    assert empty.tensors() == {}
    empty.load({})
    assert len(empty.steps) == 0


def interrupted(graph: Graph, config: Config, path: Path, stops: list[int]) -> Result:
    """A training that is stopped after these calls of ``on_step``, and continued each time."""
    for stop in stops:
        calls: list[Step] = []

        def on_step(step: Step, calls: list[Step] = calls, stop: int = stop) -> None:
            calls.append(step)
            if len(calls) == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit(graph, config, checkpoint=path, on_step=on_step)
    return fit(graph, config, checkpoint=path)


@pytest.mark.parametrize(
    "settings",
    [{}, {"metric": "roc_auc"}, {"balance": True}, {"refit": True}, {"model": "ngcn", "powers": 3, "replicas": 2}],
    ids=str,
)
def test_an_interrupted_training_ends_with_the_same_bits(graph: Graph, tmp_path: Path, settings: dict) -> None:
    """Also if it is interrupted before a step in which no tower improves, as happens with a large learning rate."""
    config = Config(**settings, hidden=4, steps=60, lr=0.2, patience=59)
    whole = fit(graph, config)
    losses = whole.history["val_loss"]
    unchanged = [step for step in range(1, 60) if losses[step] == losses[step - 1]]
    assert unchanged or config.model == "ngcn"
    stops = sorted({1, 2, 7, 20, *unchanged[:2]}) + [65] * config.refit  # the last: in the second training
    parts = interrupted(graph, config, tmp_path / "checkpoint", np.diff(stops, prepend=0).tolist())
    assert parts.history == whole.history
    assert (parts.best_step, parts.steps, parts.stopped) == (whole.best_step, whole.steps, whole.stopped)
    mine, theirs = whole.model.network.state_dict(), parts.model.network.state_dict()
    assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert len(mine["calibration.conformal"]) == 20
    assert (whole.val_scores, whole.test_scores, whole.towers) == (parts.val_scores, parts.test_scores, parts.towers)


def test_a_refit_trains_on_the_validation_nodes_up_to_the_chosen_steps(graph: Graph) -> None:
    config = replace(MIXED, steps=15, lr=0.2)
    first, result = fit(graph, config), fit(graph, replace(config, refit=True))
    one, other = first.model.network, result.model.network
    for name in ("classifier.scores", "calibration.slope", "calibration.offset", "calibration.conformal"):
        assert torch.equal(one.state_dict()[name], other.state_dict()[name])
    assert (first.history, first.val_scores, first.towers) == (result.history, result.val_scores, result.towers)
    assert result.model.config.refit
    # A tower whose best step is s is the tower after s steps of a training with the validation nodes
    everyone = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    after = [fit(everyone, replace(config, steps=s)).model.network.state_dict() for s in range(1, 16)]
    chosen = []
    for t in range(7):
        mine = other.tower(other.state_dict(), t)
        same = [s for s, state in enumerate(after, 1) if all(map(torch.equal, mine, other.tower(state, t)))]
        chosen += same[:1]
    assert len(chosen) == 7 and max(chosen) == first.best_step and len(set(chosen)) > 1


@pytest.mark.parametrize("config", [MIXED, NGCN], ids=["independent", "standard"])
def test_a_refit_predicts_from_the_features_that_it_was_trained_on(graph: Graph, config: Config) -> None:
    """Standardised by all nodes that it may see, now with the validation nodes."""
    numbers = graph.features.toarray() * np.arange(1, 13) + np.random.default_rng(0).normal(size=(60, 12))
    numbers[graph.val] += 3  # so that it matters
    graph = replace(graph, features=numbers.astype(np.float32))
    config = replace(config, steps=1)  # the best step is the first, of all towers
    refitted = fit(graph, replace(config, refit=True)).model
    everyone = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    expected = fit(everyone, config).model
    with torch.no_grad():
        found, right = (m.network.eval().towers(*m.inputs(graph)) for m in (refitted, expected))
    torch.testing.assert_close(found, right)


def test_a_refit_needs_a_choice(graph: Graph) -> None:
    none = graph.with_split(graph.train, graph.val & False, graph.test)
    with pytest.raises(ConfigError, match="refit needs validation nodes"):
        fit(none, replace(MIXED, steps=2, refit=True))
    with pytest.raises(ConfigError, match=r"refit needs .* a recipe that keeps the best step"):
        fit(graph, Config(model="gcn", recipe="paper", steps=2, refit=True))

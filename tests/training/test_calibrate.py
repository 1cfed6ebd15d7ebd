"""Weights of towers, calibration and prediction sets, on logits whose labels are drawn from known probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ngcn import Config, train
from ngcn.graph import Graph
from ngcn.nn import build_network
from ngcn.nn.calibration import Calibration
from ngcn.scoring import cross_entropy, log_likelihoods, node_losses, probabilities
from ngcn.training import calibrate as module
from ngcn.training.best_steps import BestSteps
from ngcn.training.calibrate import FEWEST, calibrate, conformal_scores, fit_calibration, fit_weights, held_out


def drawn(nodes: int, classes: int = 3, scale: float = 2.0, multilabel: bool = False) -> tuple[Tensor, Tensor]:
    """Logits, and labels that have exactly their probabilities."""
    logits = scale * torch.randn(nodes, classes)
    if multilabel:
        return logits, torch.bernoulli(logits.sigmoid())
    return logits, torch.multinomial(logits.softmax(dim=1), 1)[:, 0]


def towers(nodes: int, noises: tuple[float, ...], multilabel: bool = False) -> tuple[Tensor, Tensor]:
    """Towers that know the logits, each with some noise."""
    logits, labels = drawn(nodes, multilabel=multilabel)
    return torch.stack([logits + noise * torch.randn_like(logits) for noise in noises], dim=1), labels


def objective(m: Tensor, Z: Tensor, labels: Tensor) -> float:
    p = log_likelihoods(Z, labels).double().exp()
    return float((p @ m.double()).log().sum() + m.double().log().sum())


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize(("nodes", "noises"), [(20, (1.0, 1.0)), (50, (0.5, 3.0)), (200, (2.0, 2.5)), (3, (0.1, 4.0))])
def test_weights_of_two_towers_are_those_of_a_grid(nodes: int, noises: tuple, multilabel: bool) -> None:
    Z, labels = towers(nodes, noises, multilabel)
    grid = torch.linspace(0.0005, 0.9995, 2000)
    values = [objective(torch.stack([first, 1 - first]), Z, labels) for first in grid]
    found = fit_weights(Z, labels)
    assert found.sum().item() == pytest.approx(1) and found.dtype == torch.float32
    assert found[0].item() == pytest.approx(grid[int(np.argmax(values))].item(), abs=2e-3)
    assert objective(found, Z, labels) >= max(values) - 1e-4


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_objective_never_decreases(multilabel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    Z, labels = towers(60, (0.3, 1.0, 2.0, 4.0, 8.0), multilabel)
    values = []
    for iterations in [*range(20), 50, 100, 200]:
        monkeypatch.setattr(module, "ITERATIONS", iterations)
        values.append(objective(fit_weights(Z, labels), Z, labels))
    assert (np.diff(values) > -1e-4).all()  # m is rounded to float32
    assert values[1] > values[0] + 1 and values[-1] - values[-3] < 0.1


def test_better_towers_have_more_weight_and_none_has_nothing() -> None:
    Z, labels = towers(500, (0.3, 2.0, 6.0))
    m = fit_weights(Z, labels)
    assert m[0] > m[1] > m[2] >= 1 / 503 - 1e-6
    torch.testing.assert_close(fit_weights(Z[:, [1, 1]], labels), torch.tensor([0.5, 0.5]))
    hopeless = torch.stack([Z[:, 0], torch.nn.functional.one_hot((labels + 1) % 3, 3) * 1e4], dim=1)
    torch.testing.assert_close(fit_weights(hopeless, labels), torch.tensor([501 / 502, 1 / 502]))  # no 0 / 0


@pytest.mark.parametrize("temperature", [0.25, 1.0, 5.0])
def test_a_known_temperature_is_found(temperature: float) -> None:
    logits, labels = drawn(4000)
    slope, offset = fit_calibration(temperature * logits, labels)
    assert slope.shape == (1,) and not offset.any() and offset.shape == (3,)
    assert slope.item() * temperature == pytest.approx(1, rel=0.06)


def test_every_class_of_several_labels_has_a_temperature() -> None:
    logits, labels = drawn(4000, classes=4, multilabel=True)
    temperatures = torch.tensor([0.2, 1.0, 3.0, 8.0])
    slope, offset = fit_calibration(temperatures * logits, labels)
    assert slope.shape == (4,) and not offset.any()
    torch.testing.assert_close(slope * temperatures, torch.ones(4), rtol=0.1, atol=0)


def test_offsets_correct_the_frequencies_of_classes() -> None:
    logits, labels = drawn(4000)
    wrong = torch.tensor([2.0, -1.0, 0.0])
    slope, offset = fit_calibration(0.5 * logits + wrong, labels, priors=True)
    b = -2 * wrong
    torch.testing.assert_close(slope, torch.tensor([2.0]), rtol=0.06, atol=0)
    torch.testing.assert_close(offset, b - b.mean(), rtol=0, atol=0.3)
    p = ((0.5 * logits + wrong) * slope + offset).softmax(dim=1).mean(dim=0)
    torch.testing.assert_close(p, labels.bincount() / 4000, rtol=0, atol=0.005)


@pytest.mark.parametrize(("multilabel", "priors"), [(False, False), (False, True), (True, False), (True, True)])
def test_calibration_is_a_minimum_of_its_penalised_loss(multilabel: bool, priors: bool) -> None:
    logits, labels = drawn(40, multilabel=multilabel)
    logits = 3 * logits + torch.tensor([1.0, 0.0, -1.0])

    def loss(slope: Tensor, offset: Tensor) -> float:
        """The sum over nodes, and over classes for multi-label."""
        losses = node_losses(logits * slope + offset, labels).sum() * (3 if multilabel else 1)
        return float(losses + slope.log().square().sum() + offset.square().sum())

    slope, offset = fit_calibration(logits, labels, priors)
    best = loss(slope, offset)
    assert best < loss(torch.ones_like(slope), torch.zeros(3))
    for i in range(len(slope)):
        for factor in (0.98, 1.02):
            assert loss(slope * torch.ones_like(slope).index_fill(0, torch.tensor(i), factor), offset) > best
    for c in range(3 if priors else 0):
        for step in (-0.02, 0.02):
            assert loss(slope, offset + torch.zeros(3).index_fill(0, torch.tensor(c), step)) > best


def test_few_nodes_calibrate_nothing() -> None:
    network = build_network("ngcn", 5, 3, powers=2, replicas=1)
    Z, labels = towers(FEWEST, (1.0, 2.0))
    calibrate(network, Z[1:], labels[1:], priors=True)
    assert network.calibration.slope.item() == 1 and not network.calibration.offset.any()
    calibrate(network, Z, labels, priors=True)
    slope, offset = fit_calibration(network.classifier(Z), labels, priors=True)
    assert torch.equal(network.calibration.slope, slope) and torch.equal(network.calibration.offset, offset)
    assert slope.item() != 1 and offset.any()


@pytest.mark.parametrize("settings", [{}, {"model": "ngcn", "powers": 2, "replicas": 1}])
def test_training_calibrates_on_the_validation_nodes(graph: Graph, settings: dict) -> None:
    result = train(graph, Config(**settings, hidden=4, steps=60, lr=0.05))
    network, labels = result.model.network, torch.from_numpy(graph.labels)[graph.val]
    A_hat, X = result.model.inputs(graph)
    with torch.no_grad():
        Z = network.eval().towers(A_hat, X, torch.from_numpy(np.flatnonzero(graph.val)))
        logits = network.classifier(Z)
    slope, offset = fit_calibration(logits, labels, priors=not settings)
    torch.testing.assert_close(network.calibration.slope, slope, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(network.calibration.offset, offset, rtol=1e-3, atol=1e-4)
    assert slope.item() != pytest.approx(1, abs=1e-3)
    assert result.val_scores["loss"] <= cross_entropy(logits, labels).item()
    assert len(network.calibration.conformal) == graph.val.sum()
    for recipe in ("paper", "kipf"):
        untouched = train(graph, Config(model="gcn", recipe=recipe, steps=2)).model.network.calibration
        assert untouched.slope.tolist() == [1] and not untouched.offset.any() and not len(untouched.conformal)


def test_without_validation_nodes_nothing_is_calibrated(graph: Graph) -> None:
    from ngcn.training import fit

    none = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    calibration = fit(none, Config(hidden=4, steps=3)).model.network.calibration
    assert calibration.slope.tolist() == [1] and not calibration.offset.any() and not len(calibration.conformal)


def coverage_of_fresh_nodes(nodes: int, steps: int, noises: tuple[float, ...], scale: float) -> tuple[float, float]:
    """The share of fresh nodes whose class is in their set, and the mean size of sets, of towers that are chosen among
    several steps with `nodes` validation nodes; logits are `scale` times too sure."""
    logits, labels = drawn(nodes + 1000)
    shape = (steps, len(labels), len(noises), 3)
    every = scale * (logits[:, None] + torch.tensor(noises)[:, None] * torch.randn(shape))
    selection = BestSteps(None, "loss")
    for step, Z in enumerate(every, 1):
        selection.observe(step, Z[:nodes], labels[:nodes])
    best = torch.stack([every[step - 1, :, t] for t, step in enumerate(selection.steps[0].tolist())], dim=1)
    assert torch.equal(best[:nodes], selection.logits[0])

    m = fit_weights(best[:nodes], labels[:nodes])
    mixed = torch.logsumexp(m.log()[:, None] + best.log_softmax(dim=2), dim=1)
    slope, offset = fit_calibration(mixed[:nodes], labels[:nodes], priors=True)
    calibration = Calibration(3, multilabel=False)
    calibration.conformal = conformal_scores(held_out(selection, labels[:nodes], priors=True), labels[:nodes])
    assert len(calibration.conformal) == nodes
    p = (mixed[nodes:] * slope + offset).softmax(dim=1)
    sets = p >= calibration.least_probability(0.9)
    return sets.gather(1, labels[nodes:, None]).float().mean().item(), sets.sum(dim=1).float().mean().item()


def test_prediction_sets_contain_the_class_of_nine_fresh_nodes_in_ten() -> None:
    coverage, size = coverage_of_fresh_nodes(2000, 1, (0.5, 2.0), scale=4.0)
    assert coverage == pytest.approx(0.9, abs=0.03)  # 0.0095 is the standard error of 1000 nodes
    assert 1 < size < 2.5


def test_prediction_sets_hold_though_few_nodes_choose_among_many_steps() -> None:
    """The best of 40 steps on 60 nodes looks better than it is; the halves that did not choose it tell."""
    found = [coverage_of_fresh_nodes(60, 40, (2.0,) * 3, scale=1.0)[0] for _ in range(12)]
    # 60 nodes: 0.039; the mean of 12: 0.011
    assert np.mean(found) == pytest.approx(0.9, abs=0.03)


def test_halves_that_are_too_small_give_no_scores() -> None:
    for nodes, expected in ((2 * FEWEST - 1, 0), (2 * FEWEST, 2 * FEWEST)):
        Z, labels = towers(nodes, (1.0, 2.0))
        selection = BestSteps(None, "loss")
        selection.observe(1, Z, labels)
        assert len(conformal_scores(held_out(selection, labels), labels)) == expected


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_each_half_is_scored_by_what_the_other_half_chooses(multilabel: bool, whole: bool) -> None:
    nodes, steps = 41, 5
    labels = torch.randint(2, (nodes, 3)).float() if multilabel else torch.randint(3, (nodes,))
    every = torch.randn(steps, nodes, 1 if whole else 3, 3)
    both = BestSteps(None, "loss", whole=whole)
    for step, Z in enumerate(every, 1):
        both.observe(step, Z, labels)
    found = held_out(both, labels, priors=not multilabel)
    assert found is not None
    for scored in both.halves[1:]:
        chooses = ~scored
        best = torch.stack([node_losses(Z, labels)[chooses].mean(dim=0) for Z in every]).argmin(dim=0)
        Z = torch.stack([every[step, :, tower] for tower, step in enumerate(best.tolist())], dim=1)
        m = fit_weights(Z[chooses], labels[chooses])
        p = torch.einsum("t,ntc->nc", m, probabilities(Z.double(), multilabel).float())
        logits = p.logit() if multilabel else p.log()
        slope, offset = fit_calibration(logits[chooses], labels[chooses], priors=not multilabel)
        torch.testing.assert_close(found[scored], (logits * slope + offset)[scored], rtol=1e-3, atol=1e-3)
    one = BestSteps(None, "loss", whole=whole)
    one.observe(1, every[0, :1], labels[:1])
    assert held_out(one, labels[:1]) is None


def test_results_have_held_out_scores(graph: Graph) -> None:
    for recipe in ("independent", "standard", "consistency"):
        model = "ngcn" if recipe == "standard" else None
        result = train(graph, Config(recipe=recipe, model=model, hidden=4, steps=20))
        assert result.held_out_scores.keys() == result.val_scores.keys()
        assert result.held_out_scores["loss"] >= result.val_scores["loss"] - 0.05
    assert train(graph, Config(recipe="paper", hidden=4, steps=2)).held_out_scores == {}

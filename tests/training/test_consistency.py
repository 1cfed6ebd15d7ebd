from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ngcn import Batch, Config, ConfigError, Network, train
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.scoring import cross_entropy
from ngcn.training import fit
from ngcn.training.batches import full_batches
from ngcn.training.recipes import consistency
from ngcn.training.recipes.consistency import Consistency
from ngcn.training.recipes.self_consistency import SelfConsistency

STILL = Config(recipe="consistency", dropout=0.0, drop_nodes=0.0, powers=[0, 2], replicas=2)  # both draws are equal


def network_and_batch(graph: Graph, config: Config, step: int) -> tuple[Network, Batch]:
    torch.manual_seed(0)
    model = Model.build(Card.of(graph, config), config)
    for parameter in model.network.parameters():
        parameter.data += torch.randn_like(parameter)  # no tie, and some nodes are sure
    return model.network, next(full_batches(graph, *model.inputs(graph), None, "cpu", step=step))


def sharpened(q: torch.Tensor, temperature: float, h: float = 1.0) -> torch.Tensor:
    """The target; the graph has 10 training nodes per class, for which h is 1."""
    frequencies = q.mean(dim=0) ** h
    y = (q / frequencies) ** (1 / temperature) * frequencies
    return (y / y.sum(dim=-1, keepdim=True)).detach()


@pytest.mark.parametrize(("step", "weight"), [(0, 0.0), (25, 0.5), (100, 2.0), (900, 2.0)])
def test_the_loss_by_hand(graph: Graph, step: int, weight: float) -> None:
    network, batch = network_and_batch(graph, STILL, step)
    p = network.towers(batch.A_hat, batch.X).softmax(dim=2)
    q = torch.einsum("t,ntc->nc", network.classifier.scores.softmax(dim=0), p).detach()
    target = sharpened(q, 0.2)
    sure = q.amax(dim=1) > 1.0  # 2 / 2 classes: never, so that the mask is seen
    assert not sure.any()
    network(batch.A_hat, batch.X, batch.rows)
    Z = network.towers(batch.A_hat, batch.X, batch.rows)
    expected = cross_entropy(network.classifier(Z), batch.labels) + network.classifier.penalty() / len(batch.rows)
    for t in range(4):
        expected = expected + cross_entropy(Z[:, t], batch.labels)
    recipe = Consistency(STILL)
    torch.testing.assert_close(recipe.loss(network, batch), expected)
    sure = q.amax(dim=1) > 0.6
    assert 0 < sure.sum() < len(q)
    distance = (p - target[:, None]).square().sum(dim=(1, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "SURE", 1.2)  # 0.6 of 2 classes
        found = recipe.loss(network, batch)
    torch.testing.assert_close(found, expected + weight * (sure * distance).mean())


def test_targets_have_no_gradient_and_are_sharper(graph: Graph) -> None:
    network, batch = network_and_batch(graph, STILL, 100)
    mixture = network.classifier(network.towers(batch.A_hat, batch.X))
    target, _ = consistency._target([mixture[:, None]] * 2, 0.2, multilabel=False)
    target = target[:, 0]
    assert not target.requires_grad
    assert torch.equal(target.argmax(dim=1), mixture.argmax(dim=1))
    assert (target.amax(dim=1) >= mixture.softmax(dim=1).amax(dim=1) - 1e-6).all()


@pytest.mark.parametrize(("labelled", "h"), [(2, 1.0), (20, 1.0), (30, 0.5), (40, 0.0), (900, 0.0)])
def test_few_labels_hold_the_class_frequencies(graph: Graph, labelled: int, h: float) -> None:
    network, batch = network_and_batch(graph, STILL, 100)
    Z = network.towers(batch.A_hat, batch.X)
    q, p = network.classifier(Z).softmax(dim=1), Z.softmax(dim=2)
    recipe = Consistency(STILL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "SURE", 0.0)  # all nodes count
        found = recipe.loss(network, replace(batch, labelled=labelled))
        patch.setattr(consistency, "ONCE", (0.2, 0.0))
        without = recipe.loss(network, replace(batch, labelled=labelled))
    distance = (p - sharpened(q, 0.2, h)[:, None]).square().sum(dim=(1, 2)).mean()
    torch.testing.assert_close(found - without, 2 * distance)


def test_held_frequencies_stop_a_class_that_takes_all_nodes() -> None:
    """Towers that are exactly their own target, again and again, from predictions that lean a little to one class."""
    logits = 0.2 * torch.randn(500, 3) + torch.tensor([0.5, 0.0, 0.0])
    shares = {}
    for h in (0.0, 1.0):
        q = logits.softmax(dim=1)
        for _ in range(5):
            q, _ = consistency._target([q.log()], 0.4, multilabel=False, hold=h)
        shares[h] = float(q.mean(dim=0)[0])
    assert shares[0.0] > 0.85 and shares[1.0] < 0.5


def test_a_class_that_no_node_has_is_no_division_by_zero() -> None:
    logits = torch.tensor([[0.0, 1.0, -1000.0]]).repeat(4, 1)
    target, _ = consistency._target([logits], 0.2, multilabel=False, hold=1.0)
    assert target.isfinite().all() and target[0, 2] == 0


def test_each_tower_may_be_its_own_teacher(graph: Graph) -> None:
    """The loss by hand; and with a single tower, which is all of the mixture, both recipes are one."""
    network, batch = network_and_batch(graph, STILL, 100)
    p = network.towers(batch.A_hat, batch.X).softmax(dim=2)
    target = sharpened(p, 0.2)
    distance = (p.amax(dim=2) > 0.6) * (p - target).square().sum(dim=2)
    recipe = SelfConsistency(STILL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "SURE", 1.2)  # 0.6 of 2 classes
        found = recipe.loss(network, batch)
        patch.setattr(consistency, "ONCE", (0.2, 0.0))
        torch.testing.assert_close(found, recipe.loss(network, batch) + 2 * distance.sum(dim=1).mean())
    alone = {"model": "nmlp", "powers": [2], "replicas": 1, "classifier": "identity", "steps": 20, "lr": 0.05}
    pair = [train(graph, Config(recipe=name, **alone)) for name in ("consistency", "self-consistency")]
    assert pair[0].history == pair[1].history


def test_towers_that_propagate_in_each_layer_have_softer_targets(graph: Graph) -> None:
    config = replace(STILL, model="ngcn")
    network, batch = network_and_batch(graph, config, 100)
    recipe = Consistency(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "SURE", 0.0)  # all nodes count
        found = recipe.loss(network, batch)
        patch.setattr(consistency, "EACH_LAYER", (0.4, 0.0))
        without = recipe.loss(network, batch)
    p = network.towers(batch.A_hat, batch.X).softmax(dim=2)
    q = torch.einsum("t,ntc->nc", network.classifier.scores.softmax(dim=0), p).detach()
    target = sharpened(q, 0.4)
    torch.testing.assert_close(found, without + (p - target[:, None]).square().sum(dim=(1, 2)).mean())


@pytest.mark.parametrize("model", ["nmlp", "ngcn", "nsage", "mixed", "gcn"])
def test_every_network_whose_towers_predict_classes(graph: Graph, model: str) -> None:
    result = train(graph, Config(model=model, recipe="consistency", steps=60, lr=0.05))
    assert result.test > 0.8
    assert result.model.predict_proba(graph).shape == (60, 2)


def test_several_labels(multilabel_graph: Graph) -> None:
    result = train(multilabel_graph, Config(recipe="consistency", steps=60, lr=0.05))
    assert result.metric == "micro_f1" and result.val > 0.6


def test_towers_that_predict_no_classes_raise_an_error(graph: Graph) -> None:
    with pytest.raises(ConfigError, match="needs towers that predict classes"):
        train(graph, Config(model="ngcn", recipe="consistency", classifier="fc"))


def test_the_recipe_brings_its_model() -> None:
    assert Config(recipe="consistency").model == "nmlp" and Config(recipe="paper").model == "ngcn"
    assert Config(recipe="consistency", model="gcn").model == "gcn"


def test_a_resumed_training_has_the_same_bits(graph: Graph, tmp_path: Path) -> None:
    """The warm-up goes on at the step at which it was interrupted."""
    config, stop = Config(recipe="consistency", steps=30), RuntimeError("stopped")
    whole = fit(graph, config)

    def interrupt(step: object) -> None:
        if getattr(step, "step", 0) == 11:
            raise stop

    with pytest.raises(RuntimeError, match="stopped"):
        fit(graph, config, checkpoint=tmp_path / "c", on_step=interrupt)
    again = fit(graph, replace(config), checkpoint=tmp_path / "c")
    assert again.history == whole.history
    for name, value in whole.model.network.state_dict().items():
        assert torch.equal(value, again.model.network.state_dict()[name]), name

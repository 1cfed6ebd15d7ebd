"""The recipe of the default: towers that are trained each by itself, and weighted on the validation nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from ngcn import Batch, Config, ConfigError, Network, train
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.scoring import cross_entropy
from ngcn.training import fit
from ngcn.training.batches import full_batches
from ngcn.training.calibrate import fit_weights
from ngcn.training.recipes.independent import MANY, Independent
from tests.training.conftest import of_a_network

CONFIG = Config(hidden=4, steps=30, lr=0.05)
STILL = replace(CONFIG, dropout=0.0)


def network_and_batch(graph: Graph, config: Config, weights: Tensor | None = None) -> tuple[Network, Batch]:
    torch.manual_seed(0)
    model = Model.build(Card.of(graph, config), config)
    return model.network, next(full_batches(graph, *model.inputs(graph), weights, "cpu"))


@pytest.fixture(params=["one label", "several labels"])
def either(request: pytest.FixtureRequest, graph: Graph, multilabel_graph: Graph) -> Graph:
    return graph if request.param == "one label" else multilabel_graph


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_sum_of_the_cross_entropies_of_towers(either: Graph, weighted: bool) -> None:
    weights = torch.rand(60) if weighted else None
    network, batch = network_and_batch(either, STILL, weights)
    Z = network.towers(batch.A_hat, batch.X, batch.rows)
    expected = sum(cross_entropy(Z[:, t], batch.labels, batch.weights) for t in range(7))
    torch.testing.assert_close(Independent(STILL).loss(network, batch), expected)
    if weighted:
        assert torch.equal(batch.weights, weights[torch.from_numpy(either.train)])


def gradients(network: Network, batch: Batch, t: int) -> list[Tensor]:
    loss = Independent(STILL).loss(network, batch)
    found = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    named = zip(network.named_parameters(), found, strict=True)
    return [g.clone() for g in network.tower({name: g for (name, _), g in named if g is not None}, t)]


def test_the_gradient_of_a_tower_does_not_depend_on_the_others(either: Graph) -> None:
    network, batch = network_and_batch(either, STILL)
    before = [gradients(network, batch, t) for t in range(7)]
    state = network.state_dict()
    for t in (0, 3, 6):
        for other in range(7):
            if other != t:
                for view in network.tower(state, other):
                    torch.nn.init.normal_(view)
        for now, then in zip(gradients(network, batch, t), before[t], strict=True):
            torch.testing.assert_close(now, then, rtol=1e-4, atol=1e-8)
        network, batch = network_and_batch(either, STILL)
        state = network.state_dict()


def test_weights_of_towers_are_not_trained(graph: Graph) -> None:
    network, batch = network_and_batch(graph, STILL)
    Independent(STILL).loss(network, batch).backward()
    assert network.classifier.scores.grad is None


def test_the_penalty_is_on_matrices_and_falls_with_many_labels() -> None:
    recipe, matrix = Independent(STILL), "graph_models.parts.0.layers.0.linear.weight"
    assert recipe.l2("classifier.scores", 20) == recipe.l2("graph_models.parts.0.layers.0.bias", 20) == 0
    assert recipe.l2(matrix, 20) == recipe.l2(matrix, MANY) == STILL.l2 > 0
    assert recipe.l2(matrix, 4 * MANY) == pytest.approx(STILL.l2 / 2)


def kept_towers(graph: Graph, model: Model) -> tuple[Tensor, Tensor]:
    """What the towers of a trained model say about the validation nodes, and the labels of these."""
    A_hat, X = model.inputs(graph)
    with torch.no_grad():
        Z = model.network.eval().towers(A_hat, X, torch.from_numpy(np.flatnonzero(graph.val)))
    return Z, torch.from_numpy(graph.labels[graph.val])


def test_weights_are_fitted_to_the_kept_towers_on_the_validation_nodes(either: Graph) -> None:
    result = train(either, CONFIG)
    Z, labels = kept_towers(either, result.model)
    m = fit_weights(Z, labels)
    torch.testing.assert_close(result.model.network.classifier.weights(), m, rtol=1e-3, atol=1e-5)
    assert m.max() > 1.2 * m.min()
    assert list(result.model.scale_weights().values()) == result.scale_weights == pytest.approx(m.tolist(), rel=1e-3)
    assert [tower["weight"] for tower in result.towers] == pytest.approx(m.tolist(), rel=1e-3)
    # The history has the mixture of the towers that are kept by then
    logits = result.model.network.classifier(Z)
    assert result.history["val_loss"][-1] == pytest.approx(cross_entropy(logits, labels).item(), rel=1e-4)


def test_without_validation_nodes_all_towers_count_the_same(graph: Graph) -> None:
    none = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    result = fit(none, CONFIG)
    assert result.scale_weights == pytest.approx([1 / 7] * 7) and result.towers is None
    assert result.best_step == result.steps == 30


def test_each_tower_is_trained_as_if_it_were_alone(graph: Graph) -> None:
    """Without dropout, which is drawn for all towers together."""
    none = graph.with_split(graph.train | graph.val, graph.val & False, graph.test)
    everything = replace(STILL, mix=("gcn:symmetric:1,2", "sage:walk:1"), powers=None)
    networks = [network_and_batch(none, everything)[0] for _ in range(2)]
    alone = network_and_batch(none, replace(STILL, mix=("sage:walk:1",), powers=None))[0]
    alone.graph_models.parts[0].load_state_dict(networks[0].graph_models.parts[1].state_dict())
    together = fit(none, of_a_network(everything, networks[0]), network=networks[0]).model.network
    by_itself = fit(none, of_a_network(STILL, alone), network=alone).model.network
    mine, theirs = together.graph_models.parts[1].state_dict(), by_itself.graph_models.parts[0].state_dict()
    for name in mine:
        torch.testing.assert_close(mine[name], theirs[name], rtol=1e-3, atol=1e-4)
        if "bias" not in name:
            assert not torch.equal(mine[name], networks[1].graph_models.parts[1].state_dict()[name])  # it has learned


@pytest.mark.parametrize("settings", [{"model": "ngcn", "powers": 2}, {"model": "nsage", "powers": 2}, {}])
def test_other_networks_may_be_trained_so_too(graph: Graph, settings: dict) -> None:
    config = Config(**settings, recipe="independent", classifier="free-attention", hidden=4, steps=30, lr=0.05)
    result = train(graph, config)
    assert result.val > 0.8
    m = fit_weights(*kept_towers(graph, result.model))
    torch.testing.assert_close(result.model.network.classifier.weights(), m, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classifier": "fc"}, "its classifier must be attention"),
        ({"classifier": "harmonic"}, "its classifier must be attention"),
        ({"model": "gcn", "recipe": "independent"}, "its classifier must be attention"),
        ({"intermediate": True}, "has a loss for every tower already; leave intermediate out"),
    ],
)
def test_what_the_recipe_cannot_train(graph: Graph, settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(graph, Config(**settings, steps=1))


def test_multilabel_learns(multilabel_graph: Graph) -> None:
    result = train(multilabel_graph, replace(CONFIG, steps=60))
    assert result.metric == "micro_f1" and result.val > 0.6 and len(result.towers) == 7
    assert len(result.model.network.calibration.conformal) == 0 and result.model.network.calibration.slope.shape == (3,)
    assert not result.model.network.calibration.offset.any()

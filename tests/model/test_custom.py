"""Networks of the user's own: trained, stored, resumed, loaded, used and explained like the built-in ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ngcn import (
    MODELS,
    RECIPES,
    Batch,
    Config,
    ConfigError,
    EachTower,
    Model,
    ModelError,
    ModelSpec,
    Network,
    NGCNClassifier,
    Power,
    PyG,
    RecipeSpec,
    Run,
    RunError,
    Step,
    explain_node,
    load_dataset,
    predict,
    train,
    train_seeds,
)
from ngcn.graph import Graph
from ngcn.training.recipes.paper import Paper


class Layer(nn.Module):
    """A graph convolution with a bias, and dropout that draws from torch's default generator."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out)

    def forward(self, P: Power, Z: Tensor) -> Tensor:
        return P @ nn.functional.dropout(self.linear(Z), 0.1, self.training)


def network(graph: Graph, classifier: str = "attention") -> Network:
    torch.manual_seed(3)
    return Network(EachTower(Layer), graph.features.shape[1], graph.classes, 3, 2, (5, graph.classes), classifier)


@pytest.fixture
def named() -> Iterator[str]:
    MODELS["mine"] = ModelSpec("Mine", "a layer of my own", EachTower(Layer), defaults={"powers": 3, "replicas": 1})
    yield "mine"
    del MODELS["mine"]


def stop_at_5(step: Step) -> None:
    if step.step == 5:
        raise KeyboardInterrupt


CONFIG = Config(steps=12, lr=0.05)


def test_a_network_is_trained_stored_and_used(graph: Graph, tmp_path: Path) -> None:
    result = train(graph, CONFIG, network=network(graph), folder=tmp_path / "run")
    assert result.history["loss"][-1] < result.history["loss"][0]
    run = Run.open(tmp_path / "run", network=network(graph))
    assert (run.config.model, run.config.powers, run.config.replicas) == ("custom", (0, 1, 2), 2)
    p = result.model.predict_proba(graph)
    np.testing.assert_array_equal(run.model().predict_proba(graph), p)
    assert predict(run, graph)["confidence"].tolist() == p.max(axis=1).tolist()
    assert run.model().evaluate(graph, "test")["test"] == result.test_scores
    assert sum(run.scores(0)["scale_weights"]) == pytest.approx(1)
    why = explain_node(run, 7, graph=graph)
    assert sum(vote.contribution for vote in why.votes) == pytest.approx(why.probability, rel=1e-5)


@pytest.mark.parametrize("classifier", ["attention", "fc"])
def test_it_resumes_to_the_same_bits(graph: Graph, tmp_path: Path, classifier: str) -> None:
    whole = train(graph, CONFIG, network=network(graph, classifier), folder=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(graph, CONFIG, network=network(graph, classifier), folder=tmp_path / "parts", on_step=stop_at_5)
    torch.rand(7)  # the caller's random numbers play no part
    parts = train(graph, CONFIG, network=network(graph, classifier), folder=tmp_path / "parts", resume=True)
    assert whole.history == parts.history
    np.testing.assert_array_equal(whole.model.predict_proba(graph), parts.model.predict_proba(graph))


class Noisy(Paper):
    """A recipe that draws from torch's default generator, in a built-in network."""

    def loss(self, network: Network, batch: Batch) -> Tensor:
        return super().loss(network, batch) * (1 + torch.rand(()))


def test_recipes_may_draw_from_torch(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "noisy", RecipeSpec("", Noisy))
    config = Config(model="ngcn", recipe="noisy", powers=2, replicas=1, hidden=4, steps=12)
    whole = train(graph, config)
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, folder=tmp_path / "run", on_step=stop_at_5)
    torch.rand(3)
    assert train(graph, config, folder=tmp_path / "run", resume=True).history == whole.history


def test_the_callers_random_numbers_are_left_alone(graph: Graph) -> None:
    mine = network(graph)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(graph, CONFIG, network=mine)
    assert torch.equal(torch.rand(3), expected)


def test_a_saved_model_needs_its_network(graph: Graph, tmp_path: Path) -> None:
    model = train(graph, CONFIG, network=network(graph)).model
    model.save(tmp_path / "model")
    with pytest.raises(ModelError, match="a network of your own; pass that network as `network`"):
        Model.load(tmp_path / "model")
    loaded = Model.load(tmp_path / "model", network=network(graph))
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))


def test_a_network_for_another_graph_raises_an_error(graph: Graph) -> None:
    with pytest.raises(ModelError, match="takes 4 features and 2 classes, but 'crowds' has 12 and 2"):
        train(graph, CONFIG, network=Network(EachTower(Layer), 4, 2, 2, 1, classifier="attention"))


def test_a_registered_model_is_built_by_name(graph: Graph, tmp_path: Path, named: str) -> None:
    config = Config(model=named, hidden=6, layers=3, steps=4, seeds=2)
    run = train_seeds(graph, config, tmp_path / "run", threads=2)  # in processes that do not know the name
    layers = run.model().network.graph_models["1"][0].layers
    assert [layer.linear.out_features for layer in layers] == [6, 6, 2]
    assert len(predict(Run.open(tmp_path / "run"), graph)) == 60
    few = np.where(graph.train, graph.labels, -1)
    estimator = NGCNClassifier(model=named, steps=4, random_state=0).fit(graph.features, few)
    assert estimator.predict(graph.features[:3]).shape == (3,)


def test_towers_of_gatv2_on_cora(tmp_path: Path) -> None:
    """The example of the docs: PyG's GATv2 on the first powers of Â, pruned."""
    gatv2 = pytest.importorskip("torch_geometric.nn").GATv2Conv

    def layer(width_in: int, width_out: int) -> nn.Module:
        return PyG(gatv2(width_in, width_out, edge_dim=1), largest=10)

    cora = load_dataset("cora")
    MODELS["gatv2"] = ModelSpec(
        "N-GATv2", "a network of GATv2", EachTower(layer), defaults={"powers": 3, "replicas": 1}
    )
    try:
        result = train(cora, Config(model="gatv2", hidden=8, lr=0.05, steps=8), folder=tmp_path / "run")
        assert result.test is not None and result.test > 0.5
        model = Run.open(tmp_path / "run").model()
        np.testing.assert_array_equal(model.predict_proba(cora), result.model.predict_proba(cora))
        assert model.evaluate(cora, "test")["test"] == result.test_scores  # pruned powers: the order of nodes matters
        model.save(tmp_path / "model")
        assert (Model.load(tmp_path / "model").predict(cora) == model.predict(cora)).all()
    finally:
        del MODELS["gatv2"]


def test_a_network_of_another_width_is_not_called_damaged(tmp_path: Path, graph: Graph) -> None:
    def of_width(width: int) -> Network:
        return Network(EachTower(Layer), graph.features.shape[1], graph.classes, 1, 1, (width, graph.classes))

    config, run = Config(steps=8), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, network=of_width(5), folder=run, on_step=stop_at_5)
    with pytest.raises(RunError, match="is of another network, with other layers or widths"):
        train(graph, config, network=of_width(6), folder=run, resume=True)
    train(graph, config, network=of_width(5), folder=run, resume=True)
    with pytest.raises(RunError, match="does not belong to the given network; pass the network that was trained"):
        Run.open(run, network=of_width(6)).model()


def test_an_unregistered_name_says_where_to_register_it() -> None:
    for setting, registry in (("model", "MODELS"), ("classifier", "CLASSIFIERS"), ("recipe", "RECIPES")):
        with pytest.raises(ConfigError, match=f"one of your own is added to ngcn.{registry} first"):
            Config(**{setting: "my-own-one"})

import pytest
import torch
from torch.nn.functional import binary_cross_entropy, nll_loss

from ngcn import Batch, Config, ConfigError, Network, train
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.scoring import cross_entropy
from ngcn.training.batches import full_batches
from ngcn.training.recipes.paper import Paper


def network_and_batch(graph: Graph, config: Config) -> tuple[Network, Batch]:
    torch.manual_seed(0)
    model = Model.build(Card.of(graph, config), config)
    return model.network, next(full_batches(graph, *model.inputs(graph), None, "cpu"))


def test_loss_is_the_log_of_the_probability() -> None:
    logits = torch.randn(5, 3, dtype=torch.float64)
    labels = torch.tensor([0, 2, 1, 1, 0])
    torch.testing.assert_close(cross_entropy(logits, labels), nll_loss(logits.softmax(dim=1).log(), labels))
    several = torch.tensor([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=torch.float64)
    torch.testing.assert_close(cross_entropy(logits, several), binary_cross_entropy(logits.sigmoid(), several))


def test_intermediate_supervision_adds_a_loss_per_tower(graph: Graph) -> None:
    config = Config(model="ngcn", recipe="paper", powers=3, replicas=2, dropout=0.0, intermediate=True)
    network, batch = network_and_batch(graph, config)
    Z = network.towers(batch.A_hat, batch.X, batch.rows)
    by_hand = cross_entropy(network.classifier(Z), batch.labels)
    for tower in range(6):
        by_hand = by_hand + cross_entropy(Z[:, tower], batch.labels)
    torch.testing.assert_close(Paper(config).loss(network, batch), by_hand)


@pytest.mark.parametrize(
    ("classifier", "penalty"), [("attention", 4 * (1 + 0.25)), ("free-attention", 0), ("linear", 0)]
)
def test_the_penalty_on_unequal_attention_is_divided_by_the_labelled_nodes(
    graph: Graph, classifier: str, penalty: float
) -> None:
    config = Config(model="ngcn", recipe="paper", powers=2, replicas=1, dropout=0.0, classifier=classifier)
    network, batch = network_and_batch(graph, config)
    network.classifier.scores.data = torch.tensor([1.0, -0.5])  # 4 (1 + 0.25) = 5
    expected = cross_entropy(network(batch.A_hat, batch.X, batch.rows), batch.labels) + penalty / len(batch.rows)
    torch.testing.assert_close(Paper(config).loss(network, batch), expected)


def test_a_batch_has_the_labels_of_training_nodes_and_all_other_nodes_without(graph: Graph) -> None:
    _, batch = network_and_batch(graph, Config())
    assert batch.rows.tolist() == graph.train.nonzero()[0].tolist()
    assert batch.labels.tolist() == graph.labels[graph.train].tolist()
    assert batch.unlabelled.tolist() == (~graph.train).nonzero()[0].tolist()


@pytest.mark.parametrize("recipe", ["paper", "standard"])
@pytest.mark.parametrize("classifier", ["fc", "fc2"])
def test_a_fully_connected_classifier_has_no_tower_losses(graph: Graph, classifier: str, recipe: str) -> None:
    with pytest.raises(ConfigError, match="intermediate supervision needs"):
        train(graph, Config(model="ngcn", recipe=recipe, classifier=classifier, intermediate=True))
    assert train(graph, Config(model="ngcn", recipe=recipe, classifier=classifier, steps=1)).steps == 1


def test_settings_that_do_not_go_together_are_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"takes a single tower, but powers and replicas make 3; use `model='ngcn'`"):
        Config(model="gcn", powers=3)

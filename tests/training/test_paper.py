import pytest
import torch
from ngcn.training.objective import loss, objective
from ngcn.training.setup import build, build_inputs
from torch.nn.functional import binary_cross_entropy, nll_loss

from ngcn import Config, ConfigError
from ngcn.graph import Graph
from ngcn.nn.classifiers import make_classifier


def test_loss_is_the_log_of_the_probability() -> None:
    logits = torch.randn(5, 3, dtype=torch.float64)
    labels = torch.tensor([0, 2, 1, 1, 0])
    torch.testing.assert_close(loss(logits, labels), nll_loss(logits.softmax(dim=1).log(), labels))
    several = torch.tensor([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=torch.float64)
    torch.testing.assert_close(loss(logits, several), binary_cross_entropy(logits.sigmoid(), several))


def test_intermediate_supervision_adds_a_loss_per_tower(graph: Graph) -> None:
    config = Config(powers=3, replicas=2, dropout=0.0, intermediate=True)
    A_hat, X = build_inputs(graph, config)
    network = build(graph, config)
    rows = torch.from_numpy(graph.train.nonzero()[0])
    labels = torch.from_numpy(graph.labels[graph.train])
    Z = network.towers(A_hat, X, rows)
    by_hand = loss(network(A_hat, X, rows), labels)
    for tower in range(6):
        by_hand = by_hand + loss(Z[:, tower], labels)
    torch.testing.assert_close(objective(network.classifier, Z, labels, intermediate=True), by_hand)


def test_learned_attention_pays_for_unequal_weights_as_four_labelled_nodes_would() -> None:
    scores, Z, labels = torch.tensor([1.0, -0.5]), torch.randn(5, 2, 3), torch.tensor([0, 2, 1, 1, 0])
    learned, free, fixed = (make_classifier(name, (0, 1), 3, 3) for name in ("attention", "free-attention", "linear"))
    for classifier in (learned, free, fixed):
        classifier.scores.data = scores.clone()
    torch.testing.assert_close(objective(free, Z, labels), loss(fixed(Z), labels))
    torch.testing.assert_close(objective(fixed, Z, labels), loss(fixed(Z), labels))
    torch.testing.assert_close(objective(learned, Z, labels), loss(fixed(Z), labels) + 4 / 5 * (1 + 0.25))


@pytest.mark.parametrize("classifier", ["fc", "fc2"])
def test_a_fully_connected_classifier_has_no_tower_losses(graph: Graph, classifier: str) -> None:
    with pytest.raises(ConfigError, match="intermediate supervision needs"):
        build(graph, Config(classifier=classifier, intermediate=True))
    build(graph, Config(classifier=classifier))


def test_settings_that_do_not_go_together_are_a_config_error(graph: Graph) -> None:
    with pytest.raises(ConfigError):
        build(graph, Config(model="gcn", powers=3))

"""Graphs on which older defaults failed: why ties are broken by the loss, towers are of several kinds, and layers have
biases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_graph

from ngcn import Config, ConfigError, Graph, train

NODES = 600
THIRDS = [np.arange(NODES) % 3 == third for third in range(3)]
STEPS = {"steps": 80, "lr": 0.02}


def edges(random: np.random.Generator, chance: np.ndarray, degree: int) -> sp.csr_array:
    """Each node has some neighbours, drawn in proportion to ``chance``, ``(nodes, nodes)``."""
    chance = chance * (1 - np.eye(NODES))
    targets = np.stack([random.choice(NODES, degree, p=row / row.sum()) for row in chance])
    sources = np.repeat(np.arange(NODES), degree)
    return sp.csr_array((np.ones(targets.size), (sources, targets.ravel())), (NODES, NODES))


def graph_of(A: sp.csr_array, X: np.ndarray, labels: np.ndarray) -> Graph:
    return Graph(A, X.astype(np.float32), labels, *THIRDS, name="drawn")


def test_a_score_that_ties_from_the_first_step_on_does_not_keep_that_step() -> None:
    """As in Minesweeper: 80 % are of one class, and no node is more likely of the other. So every step that predicts
    the majority is as accurate as any; but some nodes are more likely of the other class than others."""
    random = np.random.default_rng(0)
    high = random.random(NODES) < 0.45
    labels = (random.random(NODES) < np.where(high, 0.42, 0)).astype(int)
    graph = graph_of(edges(random, np.ones((NODES, NODES)), 4), np.stack([high, ~high], axis=1), labels)
    majority = (labels[graph.val] == 0).mean()

    paper = train(graph, Config(model="ngcn", recipe="paper", powers=3, replicas=1, **STEPS))
    assert paper.best_step == 1 and paper.history["val"][0] == max(paper.history["val"]) == pytest.approx(majority)
    assert paper.test_scores["roc_auc"] < 0.6  # as good as untrained
    standard = train(graph, Config(model="ngcn", powers=3, replicas=1, **STEPS))
    for result in (standard, train(graph, Config(**STEPS))):
        assert result.val == pytest.approx(majority) and result.best_step > 20
        assert result.test_scores["roc_auc"] > 0.8
        assert result.test_scores["loss"] < paper.test_scores["loss"] - 0.2


def test_features_that_averages_with_neighbours_hide() -> None:
    """Neighbours are of any class. A GCN sees little else than them; the tower on the features alone is not harmed."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, NODES)
    X = random.normal(size=(NODES, 8)) + 2.5 * np.eye(3, 8)[labels]
    graph = graph_of(edges(random, np.ones((NODES, NODES)), 8), X, labels)
    gcn, alone, mixed = (train(graph, Config(model=model, **STEPS)).test for model in ("gcn", "mlp", "mixed"))
    assert gcn < 0.75 and alone > 0.85
    assert mixed > gcn + 0.2 and mixed > alone - 0.03


def test_a_node_that_differs_from_its_neighbours() -> None:
    """The class says whether a node has more of something than its neighbours, which their common average hides."""
    random = np.random.default_rng(0)
    X, A = random.normal(size=(NODES, 4)), edges(random, np.ones((NODES, NODES)), 2)
    both = A.maximum(A.T)
    labels = (X[:, 0] > both @ X[:, 0] / both.sum(axis=1)).astype(int)
    graph = graph_of(A, X, labels)
    ngcn, alone, mixed = (train(graph, Config(model=model, **STEPS)) for model in ("ngcn", "mlp", "mixed"))
    assert mixed.test > alone.test + 0.05 and mixed.test > ngcn.test + 0.05
    weights = mixed.model.scale_weights()
    assert sum(weight for tower, weight in weights.items() if tower.startswith("SAGE")) > 0.8


def test_a_gcn_without_bias_cannot_tell_much_from_little() -> None:
    """One feature, which is positive: without a bias, all nodes are on the same side of 0."""
    random = np.random.default_rng(0)
    labels = (random.random(NODES) < 0.4).astype(int)
    X = ((1 + labels) * random.uniform(0.8, 1.2, NODES))[:, None]
    graph = graph_of(edges(random, np.where(labels[:, None] == labels, 20.0, 1.0), 4), X, labels)
    config = {"model": "gcn", "features": "none", "dropout": 0.0, "steps": 80, "lr": 0.05}
    without, with_bias = (train(graph, Config(**config, bias=bias)) for bias in (False, True))
    majority = (labels[graph.test] == 0).mean()
    assert without.test == pytest.approx(majority) == train(graph, Config(**config, recipe="paper")).test
    assert Config(**config).bias and with_bias.test > 0.95 > majority + 0.2


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_a_metric_that_several_labels_leave_undefined_is_an_error(metric: str) -> None:
    graph = random_graph(multilabel=True)
    same = np.where(graph.val[:, None], 1.0, graph.labels).astype(np.float32)
    with pytest.raises(ConfigError, match="needs a class that some validation nodes have"):
        train(replace(graph, labels=same), Config(model="gcn", metric=metric, steps=2))

"""Cross-validation: every labelled node is tested once, by a model that did not see its label."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_graph

from ngcn import Config, ConfigError, Graph, GraphError, cross_validate, train
from ngcn.tuning import folds as module

QUICK = Config(model="gcn", steps=5, hidden=4)


def test_every_labelled_node_but_the_test_nodes_is_tested_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, whole = [], module.fit
    monkeypatch.setattr(module, "fit", lambda graph, *given: seen.append(graph) or whole(graph, *given))
    found = cross_validate(graph, QUICK, folds=5)
    assert sum(np.asarray(each.test, int) for each in seen).tolist() == (~graph.test).astype(int).tolist()
    assert sum(np.asarray(each.val, int) for each in seen).tolist() == (~graph.test).astype(int).tolist()
    for each in seen:
        assert not (each.train & each.test).any() and (each.train | each.val | each.test).sum() == 20
        assert np.bincount(graph.labels[each.test], minlength=3).max() <= 2  # 20 nodes of three classes, in five folds
    assert found.scores == tuple(train(each, QUICK).test for each in seen) and found.metric == "accuracy"
    assert found.mean == pytest.approx(np.mean(found.scores)) and found.std == pytest.approx(
        np.std(found.scores, ddof=1)
    )
    assert str(found) == f"accuracy {100 * found.mean:.1f} % ± {100 * found.std:.1f} % over 5 folds"


def test_nodes_to_divide_metric_and_seed() -> None:
    graph, numbers = random_graph(60), []
    every = np.ones(60, bool)
    config = Config(model="gcn", steps=3, hidden=4, metric="macro_f1")
    found = cross_validate(graph, config, folds=3, nodes=every, on_fold=lambda number, _: numbers.append(number))
    assert numbers == [0, 1, 2] and found.metric == "macro_f1"
    assert found.scores == tuple(scores["macro_f1"] for scores in found.all_scores)
    assert cross_validate(graph, config, folds=3, nodes=every) == found
    from dataclasses import replace

    assert cross_validate(graph, replace(config, seed=1), folds=3, nodes=every) != found


def test_multi_label_and_errors() -> None:
    many = random_graph(multilabel=True)
    assert cross_validate(many, QUICK, folds=3).metric == "micro_f1"
    graph = random_graph(6)
    with pytest.raises(GraphError, match="4 labelled nodes for 5 folds; use fewer folds"):
        cross_validate(graph, QUICK, folds=5)
    with pytest.raises(ConfigError, match="folds must be a whole number of 3 or more"):
        cross_validate(graph, QUICK, folds=2)

"""Nodes that count more or less than others."""

from dataclasses import replace

import numpy as np
import pytest

from ngcn import Config, Graph
from ngcn.training import fit


@pytest.mark.parametrize("settings", [{}, {"model": "ngcn"}, {"model": "gcn", "recipe": "paper"}])
def test_the_label_of_a_node_without_weight_has_no_influence(graph: Graph, settings: dict) -> None:
    config = Config(**settings, steps=8, hidden=4)
    without = np.flatnonzero(graph.train)[::3]
    weights = np.ones(graph.nodes)
    weights[without] = 0
    labels = graph.labels.copy()
    labels[without] = 1 - labels[without]
    other = replace(graph, labels=labels)
    one, same = (fit(g, config, weights=weights).model.predict_proba(graph) for g in (graph, other))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, fit(other, config).model.predict_proba(graph))

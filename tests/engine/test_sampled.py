"""Sampled training and exact inference on a cluster: the results do not depend on the workers."""

from dataclasses import replace

import numpy as np
import pytest
from training.test_sampled_training import SMALL, communities

from ngcn import Config, Ray
from ngcn.graph import store_graph
from ngcn.training import fit, spread

CONFIG = Config(model="mixed", steps=6, dropout=0.2, patience=None, **SMALL)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return store_graph(communities(), tmp_path_factory.mktemp("graphs") / "graph")


@pytest.fixture(autouse=True)
def several_parts(monkeypatch):
    monkeypatch.setattr(spread, "PART", 3)


def test_training_does_not_depend_on_the_number_of_workers(cluster, graph):
    found = []
    for workers in (1, 2):
        with Ray(cluster.address, workers=workers).connected(graph.folder) as connected:
            found.append(fit(graph, CONFIG, cluster=connected))
    assert found[0].history == found[1].history and found[0].test == found[1].test


def test_training_without_walks_is_that_of_this_machine(cluster, graph):
    config = Config(model="dcnn", powers=3, batch="sampled", batch_size=16, steps=6, patience=None, dropout=0.0)
    here = fit(graph, config)
    with Ray(cluster.address).connected(graph.folder) as connected:
        there = fit(graph, config, cluster=connected)
    np.testing.assert_allclose(there.history["loss"], here.history["loss"], rtol=1e-4)


def test_training_and_inference_are_those_of_this_machine(cluster, graph):
    config = replace(CONFIG, dropout=0.0)  # the parts of a batch draw their own masks
    here = fit(graph, config)
    with Ray(cluster.address).connected(graph.folder) as connected:
        there = fit(graph, config, cluster=connected)
        here.model.executor = connected
        np.testing.assert_array_equal(here.model.predict_proba(graph), fit(graph, config).model.predict_proba(graph))
    # Each part estimates the slope of its own control variate
    np.testing.assert_allclose(there.history["loss"], here.history["loss"], rtol=0.05)
    assert not [path for path in graph.folder.iterdir() if path.name.startswith("ngcn-")]

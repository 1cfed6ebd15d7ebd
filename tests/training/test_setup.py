from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngcn.graph import Graph
from ngcn.training.config import Config
from ngcn.training.setup import build, build_inputs, neighbours_close


def features(graph: Graph, how: str) -> np.ndarray:
    return build_inputs(graph, Config(features=how))[1].dense().numpy()


def test_counts_become_a_binary_bag_of_words(graph: Graph) -> None:
    graph = replace(graph, features=graph.features * 3)
    given = graph.features.toarray()
    present = (given > 0).astype(np.float32)
    bag = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(features(graph, "bag"), bag, rtol=1e-6)
    np.testing.assert_array_equal(features(graph, "auto"), features(graph, "bag"))
    np.testing.assert_array_equal(features(graph, "none"), given)


@pytest.mark.parametrize("change", [lambda X: X.toarray(), lambda X: -X], ids=["dense", "negative"])
def test_what_is_no_bag_of_words_stays_as_it_is(graph: Graph, change) -> None:
    graph = replace(graph, features=change(graph.features))
    np.testing.assert_array_equal(features(graph, "auto"), features(graph, "none"))


def test_order_of_nodes_does_not_matter_to_a_network(graph: Graph) -> None:
    config = Config(model="ngcn", powers=3, replicas=2)
    moved = neighbours_close(graph)
    network = build(graph, config).eval()
    with torch.no_grad():
        before, after = (network(*build_inputs(g, config)) for g in (graph, moved))
    torch.testing.assert_close(after, before[torch.from_numpy(moved.node_ids)], rtol=1e-4, atol=1e-6)

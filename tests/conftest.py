"""Small graphs that many tests share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn import Graph
from ngcn.ops import Features, Operator, normalize


def random_graph(nodes: int = 30, features: int = 12, classes: int = 3, seed: int = 0, *, multilabel: bool = False):
    """A random weighted graph with bag-of-words features; thirds of its nodes are for training, validation and test."""
    rng = np.random.default_rng(seed)
    adjacency = sp.random_array((nodes, nodes), density=0.08, rng=rng)
    words = (rng.random((nodes, features)) < 0.3).astype(np.float32)
    labels = rng.integers(0, 2, (nodes, classes)) if multilabel else np.arange(nodes) % classes
    third = np.arange(nodes) * 3 // nodes
    return Graph(sp.csr_array(adjacency), sp.csr_array(words), labels, third == 0, third == 1, third == 2)


@pytest.fixture
def graph() -> Graph:
    return random_graph()


@pytest.fixture(params=["symmetric", "row"])
def A_hat(request: pytest.FixtureRequest, graph: Graph) -> Operator:
    """Â in float64, both ways."""
    return normalize(graph.adjacency, request.param).double()


@pytest.fixture
def X(graph: Graph) -> Features:
    """The features in float64."""
    return Features(graph.features).double()


@pytest.fixture(autouse=True)
def _same_start() -> None:
    """Whatever the test before left behind. On one thread, small work is quicker, and PyTorch's own products have the
    same bits each time."""
    torch.manual_seed(0)
    torch.set_num_threads(1)

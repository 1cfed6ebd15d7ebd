"""Small graphs with everything that may go wrong on large ones: weights, isolated nodes, self-loops, repeated edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.graph import Graph


def random_graph(
    nodes: int = 60, edges: int = 150, *, weighted: bool = False, features: int = 7, seed: int = 0
) -> Graph:
    random = np.random.default_rng(seed)
    ends = random.integers(nodes - 5, size=(2, edges))  # the last five have no neighbours
    ends[1, :3] = ends[0, :3]  # self-loops
    weights = random.uniform(0.5, 2, edges) if weighted else np.ones(edges)
    adjacency = sp.csr_array((weights.astype(np.float32), ends), shape=(nodes, nodes))
    if not weighted:
        adjacency.data[:] = 1
    labels = random.integers(3, size=nodes)
    part = random.integers(4, size=nodes)
    labels[part == 3] = -1
    X = random.normal(size=(nodes, features)).astype(np.float32)
    return Graph(adjacency, X, labels, part == 0, part == 1, part == 2, class_names=list("abc"), name="random")


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def graph(request):
    return random_graph(weighted=request.param)

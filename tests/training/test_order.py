from collections import deque

import numpy as np
import scipy.sparse as sp
import torch

from ngcn import Config, Graph
from ngcn.model import Card, Model
from ngcn.training.order import neighbours_close


def test_order_of_nodes_does_not_matter_to_a_network(graph: Graph) -> None:
    config = Config(model="ngcn", powers=3, replicas=2)
    moved = neighbours_close(graph)
    model = Model.build(Card.of(graph, config), config)
    before, after = model.logits(graph), model.logits(moved)
    torch.testing.assert_close(after, before[torch.from_numpy(moved.node_ids)], rtol=1e-4, atol=1e-6)


def test_order_of_nodes_is_that_of_cuthill_and_mckee_on_every_processor() -> None:
    """SciPy's leaves ties of degree to a sort that differs from processor to processor."""
    random = np.random.default_rng(0)
    ends = random.integers(90, size=(2, 80))  # several components, many ties
    adjacency = sp.csr_array((np.ones(80, np.float32), tuple(ends)), shape=(90, 90))
    neighbours = [{*adjacency[[v]].indices, *adjacency[:, [v]].tocoo().row} for v in range(90)]
    degree = [len(near) for near in neighbours]
    expected: list[int] = []
    for start in sorted(range(90), key=lambda v: degree[v]):
        queue = deque() if start in expected else deque([start])
        expected += queue
        while queue:
            new = sorted(neighbours[queue.popleft()] - {*expected}, key=lambda v: (degree[v], v))
            expected += new
            queue += new
    features, none = sp.csr_array((90, 1), dtype=np.float32), np.zeros(90, bool)
    graph = Graph(adjacency, features, np.zeros(90, np.int64), train=~none, val=none, test=none)
    np.testing.assert_array_equal(neighbours_close(graph).node_ids, expected[::-1])

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import Graph
from ngcn.data.parts import both_ways
from ngcn.graph import facts


def mask(*nodes: int) -> np.ndarray:
    return np.isin(np.arange(8), nodes)


def small(**other: object) -> Graph:
    """A triangle 0, 1, 2 with a tail 3, a pair 4, 5, and the nodes 6, which has a self-loop, and 7."""
    edges = np.array([[0, 1], [1, 0], [1, 2], [0, 2], [2, 3], [4, 5], [6, 6]])
    adjacency = sp.csr_array((np.arange(1, 8), edges.T), shape=(8, 8))
    labels = np.array([0, 0, 1, 1, 0, 1, 1, -1])
    given = {"labels": labels, "train": mask(0, 1, 2), "val": mask(3, 4), "test": mask(5, 6), **other}
    return Graph(adjacency, np.eye(8), **given)  # type: ignore[arg-type]


def test_structure() -> None:
    found = facts(small())
    assert (found.nodes, found.edges, small().edges) == (8, 6, 6)
    assert found.mean_degree == 2 * 5 / 8 and found.max_degree == 3  # without the self-loop
    assert found.isolated == 2 / 8
    assert found.components == 4 and found.largest_component == 4 / 8


def test_labels() -> None:
    found = facts(small())
    assert (found.train, found.train_share, found.rarest_class, found.largest_class) == (3, 3 / 8, 1, 2)
    # 0-1 and 2-3 of the four edges 0-1, 1-2, 0-2, 2-3; four ends of each class
    assert (found.labelled_edges, found.homophily, found.random_homophily) == (4, 0.5, 0.5)
    # Without node 3: one of three edges, with four ends of class 0 and two of class 1
    found = facts(small(val=mask(4)))
    assert (found.labelled_edges, found.homophily) == (3, 1 / 3)
    assert found.random_homophily == pytest.approx((4 / 6) ** 2 + (2 / 6) ** 2)


def test_labels_of_test_nodes_are_not_used() -> None:
    graph = small()
    hidden = replace(graph, labels=np.where(graph.test, 1 - graph.labels, graph.labels))
    assert facts(hidden) == facts(graph)
    several = np.eye(3)[graph.labels]
    hidden = small(labels=np.where(graph.test[:, None], 1 - several, several))
    assert facts(hidden) == facts(small(labels=several))


def test_several_labels() -> None:
    labels = np.zeros((8, 9))
    labels[0, :2], labels[1, 1:3], labels[2, 8] = 1, 1, 1
    found = facts(small(labels=labels))
    # 0-1 share one label of three, 1-2 and 0-2 none; 2-3 none of one
    assert found.homophily == pytest.approx(1 / 3 / 4) and found.labelled_edges == 4
    assert (found.rarest_class, found.largest_class) == (0, 2)
    none = facts(small(labels=np.zeros((8, 9))))
    assert none.homophily is None and none.random_homophily is None and none.labelled_edges == 4


def test_random_labels_of_a_large_graph() -> None:
    random = np.random.default_rng(0)
    adjacency = both_ways(*random.integers(0, 2000, (2, 20000)), 2000)
    train = np.arange(2000) < 1500
    none, labels = np.zeros(2000, bool), random.choice(3, 2000, p=[0.6, 0.3, 0.1])
    found = facts(Graph(adjacency, np.ones((2000, 1)), labels, train, none, ~train))
    assert found.homophily == pytest.approx(0.46, abs=0.03) == found.random_homophily
    sets = random.random((2000, 20)) < 0.3
    found = facts(Graph(adjacency, np.ones((2000, 1)), sets, train, none, ~train))
    assert found.homophily == pytest.approx(found.random_homophily, abs=0.01) and "hardly tell" in str(found)


def test_without_labels_to_compare() -> None:
    found = facts(small(train=mask(0), val=mask(4)))
    assert (found.labelled_edges, found.homophily, found.random_homophily) == (0, None, None)
    assert str(found).endswith("\nLabels: 1 training node (12 %), 0 to 1 per class.")
    found = facts(small(labels=np.full(8, -1), train=mask(), val=mask(), test=mask()))
    assert (found.train, found.rarest_class, found.largest_class, found.homophily) == (0, 0, 0, None)
    assert found.labelled == 0 and "Labels" not in str(found)


def test_without_a_split_labels_are_counted() -> None:
    found = facts(small(train=mask(), val=mask(), test=mask()))
    assert (found.labelled, found.train) == (7, 0) and str(found).endswith("\nLabels: 7 labelled nodes.")


def test_without_edges_nothing_is_said_about_neighbours() -> None:
    found = facts(replace(small(), adjacency=sp.csr_array((8, 8))))
    assert str(found) == "8 nodes, no edges.\nLabels: 3 training nodes (38 %), 1 to 2 per class."


@pytest.mark.parametrize(
    ("homophily", "at_random", "meaning"),
    [
        (0.81, 0.18, "mostly share their class."),
        (0.38, 0.27, "share their class more often than at random."),
        (0.21, 0.2, "hardly tell the class."),
        (0.84, 0.83, "hardly tell the class."),
        (0.05, 0.1, "mostly differ in class."),
        (0.6, 0.8, "differ in class more often than at random."),
    ],
)
def test_the_text(homophily: float, at_random: float, meaning: str) -> None:
    found = facts(small())._replace(homophily=homophily, random_homophily=at_random)
    first, second = str(found).splitlines()
    assert first == (
        "8 nodes, 6 edges: 1.2 neighbours on average, 3 at most, none for 25 % of the nodes; 4 components, the largest "
        "has 50 % of the nodes."
    )
    assert second == (
        f"Labels: 3 training nodes (38 %), 1 to 2 per class. Homophily {homophily:.2f} over 4 edges ({at_random:.2f} "
        f"if labels were random): neighbours {meaning}"
    )


def test_the_text_of_a_connected_graph() -> None:
    found = facts(small())._replace(components=1, isolated=0.0, nodes=12345, train_share=0.004, rarest_class=2)
    first, second = str(found).splitlines()
    assert first == "12,345 nodes, 6 edges: 1.2 neighbours on average, 3 at most; the graph is connected."
    assert second.startswith("Labels: 3 training nodes (0.4 %), 2 per class.")

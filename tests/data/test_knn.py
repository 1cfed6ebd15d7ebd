import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.data.knn import Neighbours, knn_graph
from ngcn.errors import GraphError


def by_hand(X: np.ndarray, k: int) -> np.ndarray:
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    links = np.zeros_like(distance)
    np.put_along_axis(links, np.argsort(distance, axis=1)[:, :k], 1, axis=1)
    return np.maximum(links, links.T)


def test_links_are_those_of_the_nearest_both_ways() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    graph = knn_graph(X, 4)
    np.testing.assert_array_equal(graph.toarray(), by_hand(X, 4))
    np.testing.assert_array_equal(knn_graph(sp.csr_array(X), 4).toarray(), graph.toarray())


def test_the_metric_counts() -> None:
    rays = np.array([[1.0, 0.0], [10.0, 0.1], [0.1, 1.0], [0.2, 10.0]])
    assert knn_graph(rays, 1, "cosine").toarray()[0].tolist() == [0, 1, 0, 0]
    assert knn_graph(rays, 1, "euclidean").toarray()[0, 2] == 1


def test_with_few_rows_all_are_neighbours_and_twins_are_not_themselves() -> None:
    graph = knn_graph(np.zeros((3, 2)), 10).toarray()
    np.testing.assert_array_equal(graph, 1 - np.eye(3))


def test_new_rows_are_linked_to_old_ones_only() -> None:
    old, new = np.arange(5.0)[:, None], np.array([[0.2], [4.0]])
    links = Neighbours(old, 2).links(new)
    np.testing.assert_array_equal(links.toarray(), [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]])


@pytest.mark.parametrize(("rows", "neighbours", "message"), [(1, 3, "2 nodes or more"), (5, 0, "1 neighbour or more")])
def test_what_cannot_be(rows: int, neighbours: int, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        knn_graph(np.eye(rows), neighbours)


def test_more_features_than_there_can_be() -> None:
    with pytest.raises(GraphError, match="X has 1,000,000,000 features; at most 10,000,000 can be used"):
        knn_graph(sp.csr_array((9, 10**9)))

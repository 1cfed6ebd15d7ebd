import networkx as nx
import numpy as np
import pytest

from baselines.conftest import small_graph
from ngcn.baselines.ica import ICA
from ngcn.graph import Graph


def cliques(classes: int) -> Graph:
    """Ten nodes each, of which three are labelled; features say nothing, so that neighbours' labels decide."""
    network = nx.disjoint_union_all([nx.complete_graph(10)] * classes)
    labels = [node // 10 for node in network]
    train = [node for node in network if node % 10 < 3]
    return small_graph(network, labels, train, features=np.ones((10 * classes, 1)))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("statistic", ["count", "proportion"])
@pytest.mark.parametrize("soft", [True, False])
def test_neighbours_decide_where_features_say_nothing(classes: int, statistic: str, soft: bool) -> None:
    graph = cliques(classes)
    ica = ICA(statistic=statistic, soft=soft)
    ica.fit(graph, seed=0)
    P = ica.predict_proba(graph)
    np.testing.assert_array_equal(P.argmax(axis=1), graph.labels)
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_an_iteration_goes_on_from_the_labels_before() -> None:
    """Along a path from the only labelled end, labels travel one node further at each look in the right order."""
    network = nx.disjoint_union(nx.path_graph(12), nx.path_graph(12))
    labels = [node // 12 for node in network]
    graph = small_graph(network, labels, train=[0, 1, 12, 13], features=np.ones((24, 1)))
    right = []
    for iterations in (1, 30):
        ica = ICA(C=100.0, soft=False, iterations=iterations)
        ica.fit(graph, seed=3)
        right.append(int((ica.predict_proba(graph).argmax(axis=1) == labels).sum()))
    assert right[0] < right[1] == 24


def test_a_class_without_training_nodes_is_never_predicted() -> None:
    graph = cliques(3)
    masked = graph.with_split(graph.train & (graph.labels != 1), graph.val, graph.test)
    ica = ICA()
    ica.fit(masked, seed=0)
    P = ica.predict_proba(masked)
    assert P.shape == (30, 3) and (P[:, 1] == 0).all()
    np.testing.assert_array_equal(P.argmax(axis=1)[graph.labels != 1], graph.labels[graph.labels != 1])

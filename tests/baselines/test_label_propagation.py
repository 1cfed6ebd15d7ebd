from dataclasses import replace

import networkx as nx
import numpy as np
import scipy.sparse as sp

from baselines.conftest import small_graph
from ngcn.baselines.label_propagation import LabelPropagation, LabelSpreading
from ngcn.graph import Graph


def test_on_a_path_labels_fall_off_linearly(path: Graph) -> None:
    lp = LabelPropagation(class_mass=False)
    lp.fit(path, seed=0)
    np.testing.assert_allclose(lp.predict_proba(path)[:, 0], [1, 0.75, 0.5, 0.25, 0], atol=1e-6)


def test_propagation_is_the_harmonic_function(clubs: Graph) -> None:
    W = clubs.adjacency.toarray().astype(float)
    L, u = np.diag(W.sum(axis=1)) - W, ~clubs.train
    Y = np.eye(2)[clubs.labels[clubs.train]]
    harmonic = np.linalg.solve(L[u][:, u], W[u][:, clubs.train] @ Y)

    lp = LabelPropagation(class_mass=False)
    lp.fit(clubs, seed=0)
    F = lp.predict_proba(clubs)
    np.testing.assert_allclose(F[u], harmonic, atol=1e-6)
    np.testing.assert_allclose(F[clubs.train], Y)

    lp = LabelPropagation(class_mass=True)  # each class weighs as much as it has training nodes: here, the same
    lp.fit(clubs, seed=0)
    scaled = harmonic / harmonic.sum(axis=0)
    np.testing.assert_allclose(lp.predict_proba(clubs)[u], scaled / scaled.sum(axis=1, keepdims=True), atol=1e-6)


def test_spreading_is_the_closed_form(clubs: Graph) -> None:
    W = clubs.adjacency.toarray().astype(float)
    scale = np.diag(W.sum(axis=1) ** -0.5)
    Y = np.eye(2)[clubs.labels] * clubs.train[:, None]
    F = np.linalg.solve(np.eye(34) - 0.7 * scale @ W @ scale, Y)
    spreading = LabelSpreading(alpha=0.7)
    spreading.fit(clubs, seed=0)
    np.testing.assert_allclose(spreading.predict_proba(clubs), F / F.sum(axis=1, keepdims=True), atol=1e-6)


def test_out_of_reach_the_training_nodes_decide() -> None:
    network = nx.path_graph(4)
    network.add_edge(4, 5)
    network.add_node(6)
    graph = small_graph(network, [0, 0, 0, 1, 0, 0, 0], train=[0, 1, 3])
    for baseline in (LabelPropagation(), LabelSpreading()):
        baseline.fit(graph, seed=0)
        np.testing.assert_allclose(baseline.predict_proba(graph)[4:], [[2 / 3, 1 / 3]] * 3)


def test_direction_and_self_connections_do_not_count(clubs: Graph) -> None:
    one_way = replace(clubs, adjacency=sp.csr_array(sp.triu(clubs.adjacency) + 3 * sp.eye_array(34)))
    for baseline in (LabelPropagation(), LabelSpreading()):
        baseline.fit(clubs, seed=0)
        expected = baseline.predict_proba(clubs)
        baseline.fit(one_way, seed=0)
        np.testing.assert_allclose(baseline.predict_proba(one_way), expected, atol=1e-6)


def test_a_chain_with_weights_of_all_sizes_takes_no_more_than_the_most_steps() -> None:
    """Conjugate gradients do not converge on it."""
    weights = 10 ** np.random.default_rng(1).uniform(-4, 4, 2999)
    place = np.arange(3000)
    ends, none = np.isin(place, [0, 2999]), np.zeros(3000, bool)
    adjacency = sp.diags_array(weights, offsets=1, shape=(3000, 3000))
    chain = Graph(adjacency, np.ones((3000, 1)), (place > 1500).astype(int), ends, none, none)
    lp = LabelPropagation()
    lp.fit(chain, seed=0)
    p = lp.predict_proba(chain)
    assert np.isfinite(p).all() and p[1].argmax() == 0 and p[2998].argmax() == 1

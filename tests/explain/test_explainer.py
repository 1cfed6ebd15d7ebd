"""Explanations against brute force: set an input to 0 and compute again, or compare with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from conftest import random_graph
from torch import Tensor, nn
from training.conftest import crowds

from ngcn import Config, EachTower, Graph, Model, ModelError, Network, explain_node, train
from ngcn.errors import GraphError
from ngcn.explain import Explainer, find_node
from ngcn.model import Card
from ngcn.ops import Features

KINDS = [
    ("ngcn", "attention"),
    ("ngcn", "harmonic"),
    ("ngcn", "fc"),
    ("ngcn", "fc2"),
    ("nsage", "attention"),
    ("gcn", "identity"),
    ("sage", "identity"),
    ("dcnn", "fc"),
    ("cheby", "identity"),
    ("walk-coefficients", "identity"),
]
NODE = 7


class Linear(nn.Module):
    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.W = nn.Linear(width_in, width_out)

    def forward(self, P, Z: Tensor) -> Tensor:
        return P @ self.W(Z)


def explainer(model: str, classifier: str, *, multilabel: bool = False, graph: Graph | None = None) -> Explainer:
    """An untrained network in float64, with attention that prefers some towers."""
    graph = graph or random_graph(multilabel=multilabel)
    powers = None if classifier == "identity" else (0, 1, 3)
    torch.manual_seed(1)
    config = Config(model=model, powers=powers, classifier=classifier, features="none")
    built = Model.build(Card.of(graph, config), config)
    if classifier == "attention":
        nn.init.normal_(built.network.classifier.scores)
    return in_float64(built, graph)


def in_float64(model: Model, graph: Graph) -> Explainer:
    model.network.double()
    explained = Explainer(model, graph)
    explained.A_hat, explained.X = explained.A_hat.double(), explained.X.double()
    return explained


def around(network: Network, graph: Graph) -> Explainer:
    """The explainer of a network that was not built by name."""
    config = Config(features="none")
    return in_float64(Model(network, config, Card.of(graph, config)), graph)


def probability(explained: Explainer, matrix: sp.csr_array, label: str) -> float:
    """The probability of the class with other features, computed in full."""
    with torch.no_grad():
        logits = explained.network(explained.A_hat, Features(matrix))
    return float(explained.probabilities(logits)[NODE, explained.graph.class_names.index(label)])


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize(("model", "classifier"), KINDS)
def test_votes_add_up(model: str, classifier: str, multilabel: bool) -> None:
    explained = explainer(model, classifier, multilabel=multilabel)
    why = explained.explain(NODE, exact=False)
    with torch.no_grad():
        logits = explained.network(explained.A_hat, explained.X)[NODE]
    p = explained.probabilities(logits)
    assert list(why.probabilities.values()) == pytest.approx(p.tolist())
    assert why.probability == pytest.approx(float(p.max()))
    score = {
        "probability": p.max(),
        "lead": logits.max() - logits.mean(),
        "log-odds": logits.max(),
    }[why.score_is]
    assert sum(vote.contribution for vote in why.votes) == why.score == pytest.approx(float(score))
    assert (why.score_is == "probability") == (not classifier.startswith("fc"))


def test_a_vote_is_the_weight_times_the_probability_of_the_power() -> None:
    explained = explainer("ngcn", "attention")
    why = explained.explain(NODE, "2", exact=False)
    m = explained.network.classifier.weights()
    with torch.no_grad():
        p = explained.network.towers(explained.A_hat, explained.X)[NODE].softmax(dim=1)[:, 2]
    for vote, towers in zip(why.votes, (slice(0, 4), slice(4, 8), slice(8, 12)), strict=True):
        assert vote.contribution == pytest.approx(float((m * p)[towers].sum()))
        assert vote.weight == pytest.approx(float(m[towers].sum()))
        assert vote.weight * vote.opinion == pytest.approx(vote.contribution)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize(("model", "classifier"), KINDS)
def test_points_are_the_slope_and_without_is_the_truth(model: str, classifier: str, multilabel: bool) -> None:
    explained = explainer(model, classifier, multilabel=multilabel)
    check_against_brute_force(explained)


@pytest.mark.parametrize("model", ["ngcn", "nsage"])
def test_dense_features(model: str) -> None:
    graph = random_graph()
    dense = np.random.default_rng(1).standard_normal((30, 12)).astype(np.float32)
    explained = explainer(model, "attention", graph=replace(graph, features=dense))
    assert explained.X.dense_is_faster
    check_against_brute_force(explained)


def test_a_layer_of_your_own() -> None:
    graph = random_graph()
    check_against_brute_force(
        around(Network(EachTower(Linear), 12, 3, powers=3, replicas=1, classifier="attention"), graph)
    )


def test_a_model_that_looks_beyond_the_edges() -> None:
    class Everywhere(Linear):
        def forward(self, P, Z: Tensor) -> Tensor:
            return super().forward(P, Z) + self.W(Z).mean(dim=0)

    graph = random_graph()
    alone = graph.adjacency.tolil()
    alone[NODE], alone[:, NODE] = 0, 0
    network = Network(EachTower(Everywhere), 12, 3, powers=2, replicas=1, classifier="attention")
    explained = around(network, replace(graph, adjacency=sp.csr_array(alone)))
    check_against_brute_force(explained)
    assert [ring.distance for ring in explained.explain(NODE).rings] == [0, None]


def check_against_brute_force(explained: Explainer) -> None:
    why = explained.explain(NODE, strongest=40, features=12)
    X = explained.X.matrix

    def slope(change: Callable[[float], sp.csr_array]) -> float:
        h = 1e-5
        return (probability(explained, change(1 + h), why.label) - probability(explained, change(1 - h), why.label)) / (
            2 * h
        )

    def scaled(factor: float, node: int | None = None, feature: int | None = None) -> sp.csr_array:
        dense = X.toarray()
        dense[slice(None) if node is None else node, slice(None) if feature is None else feature] *= factor
        return sp.csr_array(dense)

    neighbours = [neighbour for ring in why.rings for neighbour in ring.strongest]
    assert neighbours and why.features
    for u in neighbours[::4]:
        assert u.points == pytest.approx(slope(lambda t, u=u: scaled(t, node=u.id)), abs=1e-6)
        assert u.without == pytest.approx(probability(explained, scaled(0, node=u.id), why.label))
    for feature in why.features[::3]:
        j = int(feature.name)
        assert feature.points == pytest.approx(slope(lambda t, j=j: scaled(t, feature=j)), abs=1e-6)
        assert feature.own == pytest.approx(slope(lambda t, j=j: scaled(t, node=NODE, feature=j)), abs=1e-6)
        assert feature.without == pytest.approx(probability(explained, scaled(0, feature=j), why.label))
        assert feature.effect == why.probability - feature.without
    effects = [abs(feature.effect or 0) for feature in why.features]
    assert effects == sorted(effects, reverse=True)
    everything = slope(scaled)
    assert sum(u.points for u in neighbours) == pytest.approx(everything, abs=1e-5)
    assert sum(ring.points for ring in why.rings) == pytest.approx(everything, abs=1e-5)
    assert sum(feature.points for feature in why.features) == pytest.approx(everything, abs=1e-5)


def test_rings_are_shortest_paths_and_the_strongest_come_first() -> None:
    explained = explainer("ngcn", "attention")
    why = explained.explain(NODE, strongest=40, exact=False)
    undirected = networkx.from_scipy_sparse_array(explained.graph.adjacency, create_using=networkx.DiGraph)
    hops = networkx.single_source_shortest_path_length(undirected.to_undirected(), NODE)
    assert [ring.distance for ring in why.rings] == list(range(len(why.rings)))
    assert len(why.rings) > 2
    for ring in why.rings:
        assert all(hops[neighbour.id] == ring.distance for neighbour in ring.strongest)
        sizes = [abs(neighbour.points) for neighbour in ring.strongest]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == ring.nodes
    few = explained.explain(NODE, strongest=2, exact=False)
    assert [ring.strongest for ring in few.rings] == [ring.strongest[:2] for ring in why.rings]


def test_nodes_out_of_reach_do_not_count() -> None:
    """Two layers on Â^3 reach six hops; nodes beyond are not computed and must not be read."""
    path = sp.csr_array(sp.diags_array(np.ones(29), offsets=1, shape=(30, 30)))
    masks = (np.arange(30) * 3 // 30 == third for third in range(3))
    graph = Graph(path, np.random.default_rng(0).random((30, 5)), np.arange(30) % 3, *masks)
    explained = explainer("ngcn", "attention", graph=graph)
    for node in (0, 15, 29):  # in sequence: buffers are reused
        why = explained.explain(node, strongest=9, exact=False)
        named = {neighbour.id for ring in why.rings for neighbour in ring.strongest}
        assert node in named and named <= set(range(node - 6, node + 7))
        assert all(np.isfinite(ring.points) for ring in why.rings)


def test_the_truth_of_several_labels_may_be_none_or_unknown() -> None:
    graph = random_graph(multilabel=True)
    labels = graph.labels * (np.arange(30) > 1)[:, None]
    in_split = np.arange(30) != 0  # node 0 has no label that is known, node 1 is known to have none
    split = [mask & in_split for mask in (graph.train, graph.val, graph.test)]
    graph = Graph(graph.adjacency, graph.features, labels, *split)
    explained = explainer("gcn", "identity", graph=graph)
    assert explained.explain(0, exact=False).truth is None
    assert explained.explain(1, exact=False).truth == []


def test_another_class_the_truth_and_names() -> None:
    graph = random_graph()
    names = [f"word {j}" for j in range(12)]
    labels = np.where(np.arange(30) == NODE, -1, graph.labels)
    ids = np.array([f"paper-{i}" for i in range(30)])
    split = (graph.train & (labels >= 0), graph.val, graph.test)
    graph = Graph(graph.adjacency, graph.features, labels, *split, ids, ("a", "b", "c"), names)
    explained = explainer("gcn", "identity", graph=graph)
    b = explained.explain(NODE, "b", exact=False)
    assert b.label == "b" and b.probability == b.probabilities["b"]
    assert b.truth is None and explained.explain(NODE + 1).truth == ["c"]
    assert b.node == "paper-7" and {feature.name for feature in b.features} <= set(names)
    assert b.rings[0].strongest[0].without is None
    with pytest.raises(GraphError, match=r"no class 'd'; there are a, b, c\.$"):
        explained.explain(NODE, "d")


@pytest.mark.parametrize("multilabel", [False, True])
def test_neighbours_have_their_label_or_the_predicted_one(multilabel: bool) -> None:
    graph = random_graph(multilabel=multilabel)
    hidden = graph.test & (np.arange(30) % 2 == 0)
    labels = graph.labels.copy()
    labels[hidden] = 0 if multilabel else -1
    graph = replace(graph, labels=labels, test=graph.test & ~hidden)
    explained = explainer("gcn", "identity", graph=graph)
    with torch.no_grad():
        p = explained.probabilities(explained.network(explained.A_hat, explained.X)).numpy()
    named = [u for ring in explained.explain(NODE, strongest=40, exact=False).rings for u in ring.strongest]
    assert {graph.unlabelled[u.id] for u in named} == {True, False}
    for u in named:
        if graph.unlabelled[u.id]:
            chosen = np.flatnonzero(p[u.id] > 0.5) if multilabel else [p[u.id].argmax()]
            assert u.truth is None and u.predicted == [graph.class_names[c] for c in chosen]
        else:
            chosen = np.flatnonzero(labels[u.id]) if multilabel else [labels[u.id]]
            assert u.predicted is None and u.truth == [graph.class_names[c] for c in chosen]


def test_unknown_nodes_get_a_hint(graph: Graph) -> None:
    assert find_node(graph, 7) == find_node(graph, "7") == 7
    for outside in (77, -1):
        with pytest.raises(
            GraphError, match=rf"^The graph 'graph' has no node '{outside}'; they are numbered 0 to \d+\.$"
        ):
            find_node(graph, outside)
    with pytest.raises(GraphError, match=r"no node 'n7'; did you mean '7'\?$"):
        find_node(graph, "n7")
    with pytest.raises(GraphError, match=r"no node 'nobody'; there are 0, 1, 2, 3, 4, \.\.\.$"):
        find_node(graph, "nobody")


def test_a_baseline_raises_a_model_error_before_its_graph_is_loaded(tmp_path) -> None:
    result = train(crowds(), Config(model="lp"), folder=tmp_path / "run")
    for run in (tmp_path / "run", result.model):
        with pytest.raises(ModelError, match=r"^LP is a baseline without a network, so it cannot be explained"):
            explain_node(run, 0)
    network = train(crowds(), Config(model="gcn", steps=1)).model
    with pytest.raises(GraphError, match="A model is used on a graph; pass one"):
        explain_node(network, 0)

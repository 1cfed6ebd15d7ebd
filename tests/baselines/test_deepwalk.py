import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from baselines.conftest import small_graph
from ngcn.baselines.deepwalk import DeepWalk
from ngcn.errors import ConfigError
from ngcn.graph import Graph

# Two hundred walks a node: a tiny graph has few words, and skip-gram sees each walk once
SETTINGS = {"dimensions": 8, "walks": 200, "window": 3, "length": 10}


@pytest.fixture
def cliques() -> Graph:
    """Two cliques of ten, joined by an edge; one labelled node each."""
    return small_graph(nx.barbell_graph(10, 0), [0] * 10 + [1] * 10, train=[3, 16])


def test_two_cliques_separate(cliques: Graph) -> None:
    deepwalk = DeepWalk(**SETTINGS)
    deepwalk.fit(cliques, seed=0)
    p = deepwalk.predict_proba(cliques)
    assert (p.argmax(axis=1) == cliques.labels).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_neighbours_have_the_nearer_vectors(cliques: Graph) -> None:
    """Also without any labels: within a clique the cosine is higher than across."""
    Z = DeepWalk(**SETTINGS).embed(cliques, seed=1)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    same = cliques.labels[:, None] == cliques.labels
    cosine = Z @ Z.T
    assert cosine[same].min() > cosine[~same].max()


def test_several_labels(cliques: Graph) -> None:
    both = np.stack([cliques.labels == 0, cliques.labels == 1, cliques.labels == 1], axis=1)
    graph = Graph(cliques.adjacency, cliques.features, both, cliques.train, cliques.val, cliques.test)
    deepwalk = DeepWalk(**SETTINGS, C=10.0)
    deepwalk.fit(graph, seed=0)
    assert ((deepwalk.predict_proba(graph) > 0.5) == both).all()


def test_a_class_without_training_nodes_has_no_chance(cliques: Graph) -> None:
    labels = cliques.labels.copy()
    labels[5] = 2
    graph = Graph(cliques.adjacency, cliques.features, labels, cliques.train, cliques.val, cliques.test)
    deepwalk = DeepWalk(**SETTINGS)
    deepwalk.fit(graph, seed=0)
    p = deepwalk.predict_proba(graph)
    assert p.shape == (20, 3)
    assert (p[:, 2] == 0).all()


def test_same_seed_same_vectors_in_another_process() -> None:
    """Names are hashed with a key that differs between processes; it must not matter."""
    program = (
        "import networkx as nx, numpy as np, scipy.sparse as sp;"
        "from ngcn.baselines.deepwalk import DeepWalk; from ngcn.graph import Graph;"
        "A = sp.csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph())); no = np.zeros(34, bool);"
        "Z = DeepWalk(dimensions=4, walks=2).embed(Graph(A, np.eye(34), np.zeros(34, int), no, no, no), seed=5);"
        "print(Z.tobytes().hex())"
    )

    def run(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout

    assert run("1") == run("2") != b""


def test_other_nodes_raise_an_error(cliques: Graph, path: Graph) -> None:
    deepwalk = DeepWalk(**SETTINGS)
    deepwalk.fit(cliques, seed=0)
    with pytest.raises(ConfigError, match="can only predict the 20 nodes that it was fitted on"):
        deepwalk.predict_proba(path)


def test_settings_out_of_range_raise_an_error() -> None:
    with pytest.raises(ConfigError, match=r"p must be a number above 0, not 0\.0"):
        DeepWalk(p=0.0)


def test_without_gensim_the_command_is_named(cliques: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ConfigError, match="pip install gensim"):
        DeepWalk().fit(cliques, seed=0)

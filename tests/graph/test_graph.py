"""Every check of Graph, by the message it gives."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.errors import GraphError
from ngcn.graph import Graph

NODES = 4


def mask(*nodes: int) -> np.ndarray:
    return np.isin(np.arange(NODES), nodes)


def good() -> dict:
    return {
        "adjacency": sp.csr_array(np.diag(np.ones(NODES - 1), 1)),
        "features": np.eye(NODES, 3),
        "labels": [0, 1, 1, -1],
        "train": mask(0),
        "val": mask(1),
        "test": mask(2),
    }


def compressed(kind: type, *indices: int) -> sp.csr_array:
    """A matrix with one entry in each of the first rows (or columns, for CSC), unchecked by scipy."""
    indptr = np.minimum(np.arange(NODES + 1), len(indices))
    return kind((np.ones(len(indices)), np.array(indices), indptr), shape=(NODES, NODES))


def edge(weight: float) -> sp.csr_array:
    return sp.csr_array(([1.0, weight], ([0, 2], [1, 3])), shape=(NODES, NODES))


WRONG = {
    "feature names too few": ({"feature_names": ["a", "b"]}, "3 features, but 2 feature names"),
    "feature names alike": ({"feature_names": ["a", "b", "a"]}, "'a' is used for more than one feature"),
    "no matrix": ({"adjacency": np.ones(NODES)}, "must be a square matrix"),
    "not square": ({"adjacency": np.ones((NODES, 3))}, r"must be a square matrix, .* shape \(4, 3\)"),
    "no nodes": ({"adjacency": np.ones((0, 0))}, "no nodes"),
    "edge out of range": ({"adjacency": compressed(sp.csr_array, 1, 7)}, "leads to node 7, .* numbered 0 to 3"),
    "edge below range": ({"adjacency": compressed(sp.csr_array, 1, -2)}, "leads to node -2"),
    "edge out of range by column": ({"adjacency": compressed(sp.csc_array, 1, 10**8)}, "leads to node 100000000"),
    "weight NaN": ({"adjacency": edge(np.nan)}, "1 edge weight.* NaN or infinite, .* from node 2 to node 3"),
    "weight infinite": ({"adjacency": edge(np.inf)}, "1 edge weight.* NaN or infinite, .* from node 2 to node 3"),
    "weight negative": ({"adjacency": edge(-1)}, "from node 2 to node 3 has a negative weight"),
    "features no matrix": ({"features": np.ones(NODES)}, r"features must be a matrix .* have shape \(4,\)"),
    "features too few": ({"features": np.eye(3)}, "features have 3 rows, but the graph has 4 nodes"),
    "features none": ({"features": np.ones((NODES, 0))}, "There are no features"),
    "features infinite": ({"features": np.where(np.eye(NODES), np.inf, 0)}, "4 feature.* first at node 0, feature 0"),
    "features sparse infinite": ({"features": edge(np.inf)}, "1 feature.* first at node 2, feature 3"),
    "features out of range": ({"features": compressed(sp.csr_array, 9)}, "entry in row or column 9, .* last one is 3"),
    "labels too few": ({"labels": [0, 1]}, r"each of 4 nodes, but have shape \(2,\)"),
    "labels a number": ({"labels": 1}, r"but have shape \(\)"),
    "labels of three dimensions": ({"labels": np.zeros((NODES, 1, 1))}, r"but have shape \(4, 1, 1\)"),
    "labels fractional": ({"labels": [0, 0.5, 1, 1]}, "whole class numbers"),
    "labels NaN": ({"labels": [0, np.nan, 1, 1]}, "whole class numbers"),
    "labels text": ({"labels": ["a", "b", "a", "b"]}, "whole class numbers"),
    "labels below -1": ({"labels": [0, 1, -3, -4]}, "Node 2 has label -3; use -1"),
    "multi-label not 0/1": ({"labels": np.full((NODES, 2), 2)}, "zeros and ones"),
    "mask not boolean": ({"train": np.array([1, 0, 0, 0])}, "train mask must be 4 booleans, .* but is int64"),
    "mask too short": ({"val": np.array([False, True])}, r"val mask must be 4 booleans, .* shape \(2,\)"),
    "train and val overlap": ({"val": mask(0)}, "both the train and the val split, node 0"),
    "train and test overlap": ({"test": mask(0)}, "both the train and the test split, node 0"),
    "val and test overlap": ({"test": mask(1, 2)}, "1 node.* both the val and the test split, node 1"),
    "train label missing": ({"train": mask(0, 3)}, "1 train node.* no label, node 3"),
    "val label missing": ({"val": mask(3)}, "1 val node.* no label, node 3"),
    "test label missing": ({"test": mask(3)}, "1 test node.* no label, node 3"),
    "node ids too few": ({"node_ids": ["a"]}, r"4 nodes, but the node ids have shape \(1,\)"),
    "node ids repeated": ({"node_ids": ["a", "b", "b", "c"]}, "node id 'b' is used for more than one"),
    "class names too few": ({"class_names": ["one"]}, "2 classes, but 1 class names"),
    "class names repeated": ({"class_names": ["a", "b", "a"]}, "class name 'a' is used for more than one class"),
    "class names too many": ({"labels": np.eye(NODES, 2), "class_names": ["a", "b", "c"]}, "but 3 class names"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_raises(change: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph(**{**good(), **change})


def test_good_graph_is_kept_as_given() -> None:
    graph = Graph(**good(), node_ids=list("wxyz"), class_names=["a", "b", "never seen"], name="path")
    assert repr(graph) == "Graph('path', nodes=4, edges=3, features=3, classes=3, train=1, val=1, test=1)"
    assert graph.adjacency.toarray().tolist() == np.diag(np.ones(3), 1).tolist()
    assert graph.labels.tolist() == [0, 1, 1, -1]
    assert graph.node_ids.tolist() == list("wxyz")
    assert not graph.multilabel


def test_fills_in_names() -> None:
    graph = Graph(**good())
    assert graph.node_ids.tolist() == [0, 1, 2, 3]
    assert graph.class_names == ("0", "1")
    assert Graph(**{**good(), "labels": np.zeros((NODES, 3))}).class_names == ("0", "1", "2")
    assert Graph(**good(), class_names=np.array(["a", "b"])).class_names == ("a", "b")


def test_multilabel_needs_no_label_on_a_node() -> None:
    graph = Graph(**{**good(), "labels": np.zeros((NODES, 5), bool)})
    assert graph.multilabel and graph.classes == 5 and graph.labels.dtype == np.float32


def test_edges_counts_each_once_whatever_the_direction() -> None:
    both_ways = sp.csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 1, 2, 3], [1, 0, 2, 1])), shape=(NODES, NODES))
    assert Graph(**{**good(), "adjacency": both_ways}).edges == 3  # 0-1, 1-3, and 2 to itself


def test_repeated_edges_add_up_and_zeros_go() -> None:
    repeated = sp.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 2])), shape=(NODES, NODES))
    adjacency = Graph(**{**good(), "adjacency": repeated}).adjacency
    assert adjacency.nnz == 1 and adjacency[0, 1] == 3


def test_does_not_share_memory_with_its_input() -> None:
    given = good()
    given["features"] = given["features"].astype(np.float32)
    given["node_ids"] = np.array(list("wxyz"))
    graph = Graph(**given)
    given["features"][:] = given["adjacency"].data[:] = 7
    given["train"][:] = True
    given["node_ids"][:] = "w"
    assert graph.features.max() == 1 and graph.adjacency.max() == 1 and graph.train.sum() == 1
    assert graph.node_ids.tolist() == list("wxyz")


def test_is_read_only_and_takes_another_split() -> None:
    graph = Graph(**good())
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.name = "other"
    other = graph.with_split(mask(1), mask(0), mask(2))
    assert other.train.tolist() == mask(1).tolist() and graph.train.tolist() == mask(0).tolist()
    with pytest.raises(GraphError, match="both the train and the val"):
        graph.with_split(mask(1), mask(1), mask(2))


def test_reordered_keeps_who_is_who(graph: Graph) -> None:
    order = np.random.default_rng(0).permutation(graph.nodes)
    moved = graph.reordered(order)
    np.testing.assert_array_equal(moved.node_ids, graph.node_ids[order])
    np.testing.assert_array_equal(moved.labels, graph.labels[moved.node_ids])
    np.testing.assert_array_equal(moved.test, graph.test[moved.node_ids])
    back = moved.reordered(np.argsort(order))
    assert (back.adjacency != graph.adjacency).nnz == 0
    assert (back.features != graph.features).nnz == 0


def test_feature_names_are_kept_or_numbers() -> None:
    assert Graph(**good()).feature_names == ("0", "1", "2")
    assert Graph(**good(), feature_names=["age", 7, "x"]).feature_names == ("age", "7", "x")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": [0, 1, 0, -1]},
        {"features": np.eye(NODES, 3) * 2},
        {"adjacency": sp.csr_array(np.diag(np.full(NODES - 1, 2.0), 1))},
        {"node_ids": list("abcd")},
        {"class_names": ["a", "b"]},
        {"feature_names": ["a", "b", "c"]},
        {"train": mask(3), "labels": [0, 1, 1, 0]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_fingerprint_is_of_everything(change: dict) -> None:
    before = Graph(**good()).fingerprint()
    assert Graph(**good()).fingerprint() == before
    assert Graph(**{**good(), **change}).fingerprint() != before


def test_unlabelled_nodes() -> None:
    assert Graph(**good()).unlabelled.tolist() == mask(3).tolist()
    none = np.zeros((NODES, 2))
    assert Graph(**{**good(), "labels": none}).unlabelled.tolist() == mask(3).tolist()  # the others are in a split
    none[3, 0] = 1
    assert not Graph(**{**good(), "labels": none}).unlabelled.any()

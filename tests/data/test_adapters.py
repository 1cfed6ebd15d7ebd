"""Graphs from other libraries, and from the files that other libraries write."""

from __future__ import annotations

import gzip
import sys
from decimal import Decimal
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from ngcn.errors import DatasetError, GraphError
from ngcn.graph import Graph, Schema, load_dataset, load_for_model

LABELS = ["x", "y", "x", "y", None]
SPLITS = ["train", "train", "val", "test", None]


def network(**extra: object) -> nx.Graph:
    G = nx.Graph(name="ring", **extra)
    for node, (label, split) in enumerate(zip(LABELS, SPLITS, strict=True)):
        known = {} if label is None else {"label": label, "split": split}
        G.add_node(node * 10, age=float(node), tall=node % 2, **known)
    nx.add_cycle(G, [0, 10, 20, 30, 40])
    G.edges[0, 10]["weight"] = 2.5
    return G


def check(graph: Graph) -> None:
    assert graph.node_ids.tolist() == [0, 10, 20, 30, 40]
    assert graph.labels.tolist() == [0, 1, 0, 1, -1] and graph.class_names == ("x", "y")
    assert graph.feature_names == ("age", "tall")
    np.testing.assert_array_equal(graph.features, [[0, 0], [1, 1], [2, 0], [3, 1], [4, 0]])
    both_ways = graph.adjacency.toarray() + graph.adjacency.toarray().T
    assert both_ways[0, 1] == 2.5 and both_ways[1, 2] == 1 and graph.edges == 5
    assert [mask.nonzero()[0].tolist() for mask in (graph.train, graph.val, graph.test)] == [[0, 1], [2], [3]]


def test_networkx() -> None:
    graph = Graph.from_networkx(network())
    check(graph)
    assert graph.name == "ring"
    nx.set_node_attributes(G := network(), "Rome", "town")
    assert Graph.from_networkx(G).feature_names == ("age", "tall", "town=Rome")
    del G.nodes[40]["age"]
    np.testing.assert_array_equal(Graph.from_networkx(G).features[:, 0], [0, 1, 2, 3, np.nan])
    G.nodes[40]["age"] = "old"
    with pytest.raises(DatasetError, match=r"the nodes of ring, row 5, column 'age': 'old' is not a number"):
        Graph.from_networkx(G)


def test_attributes_of_edges_that_are_not_used(caplog: pytest.LogCaptureFixture) -> None:
    nx.set_edge_attributes(G := network(), 2.0, "length")
    check(Graph.from_networkx(G))
    assert "the edges of ring: only source, target and weight of an edge are used, not length" in caplog.text


def test_what_gexf_calls_a_node_is_no_feature(tmp_path: Path) -> None:
    nx.write_gexf(nx.karate_club_graph(), tmp_path / "club.gexf")
    graph = load_dataset(str(tmp_path / "club.gexf"), label="club")
    assert graph.features.shape == (34, 34) and graph.class_names == ("Mr. Hi", "Officer")
    with pytest.raises(
        DatasetError, match=r"have no column 'label'; they have 'id', 'club': add it, or use another column with"
    ):
        load_dataset(str(tmp_path / "club.gexf"))


@pytest.mark.parametrize("ending", ["graphml", "gexf", "graphml.gz"])
def test_graphml_and_gexf(tmp_path: Path, ending: str) -> None:
    G = network()
    for node in G:
        G.nodes[node].setdefault("label", "")
    path = tmp_path / f"ring.{ending}"
    (nx.write_gexf if ending == "gexf" else nx.write_graphml)(G, path)
    if ending.endswith(".gz"):
        assert path.read_bytes()[:2] == gzip.compress(b"")[:2]
    graph = load_dataset(str(path), ignore=[])
    check(graph)
    check(load_dataset(f"{tmp_path}/"))


def test_pandas() -> None:
    G = network()
    nodes = pd.DataFrame(
        {"id": list(G), "label": LABELS, "split": SPLITS, "age": range(5), "tall": np.arange(5) % 2 == 1}
    )
    edges = pd.DataFrame(G.edges, columns=["source", "target"]).assign(weight=[2.5, 1, 1, 1, 1])
    check(Graph.from_pandas(nodes, edges))
    check(Graph.from_pandas(nodes.astype({"label": "category", "age": "Int64"}), edges.astype({"source": "string"})))
    missing = Graph.from_pandas(nodes.assign(age=[1, None, 2, 3, 4]), edges)
    np.testing.assert_array_equal(missing.features[:, 0], [1, np.nan, 2, 3, 4])
    with pytest.raises(DatasetError, match=r"the nodes: there is more than one column 'age'; rename or remove"):
        Graph.from_pandas(pd.concat([nodes, nodes[["age"]]], axis=1), edges)
    with pytest.raises(DatasetError, match=r"must be a data frame, not a list"):
        Graph.from_pandas([], edges)
    with pytest.raises(DatasetError, match=r"the nodes have no column 'id'; they have 'nr', 'label'"):
        Graph.from_pandas(nodes.rename(columns={"id": "nr"}), edges)
    with pytest.raises(DatasetError, match=r"the edges have 5 bad cells"):
        Graph.from_pandas(nodes, edges.assign(weight=0))


def test_decimals_are_numbers() -> None:
    def column(*texts: str) -> list[Decimal]:
        return [Decimal(text) for text in texts]

    nodes = pd.DataFrame({"id": column("12345678901234567891", "12345678901234567892", "3"), "label": column(*"121")})
    nodes = nodes.assign(split=["train", "train", "val"], price=column("-1.25", "0.10", "99.90"))
    edges = pd.DataFrame({"source": nodes["id"][:1], "target": nodes["id"][1:2].array, "weight": column("2.50")})
    graph = Graph.from_pandas(nodes, edges)
    np.testing.assert_array_equal(graph.features, np.float32([[-1.25], [0.1], [99.9]]))
    assert graph.node_ids.tolist() == [str(node) for node in nodes["id"]]
    assert graph.class_names == ("1", "2") and graph.adjacency[0, 1] == 2.5


def test_pandas_labels_with_gaps_are_whole_numbers() -> None:
    nodes = pd.DataFrame({"id": [1.0, 2.0, 3.0, 4.0], "label": [1, 2, np.nan, 1], "f": [0.5, 1, 2, 3]})
    nodes["split"] = ["train", "train", None, "val"]
    graph = Graph.from_pandas(nodes, pd.DataFrame({"source": [1], "target": [2]}))
    assert graph.class_names == ("1", "2") and graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.node_ids.tolist() == [1, 2, 3, 4]


def test_scipy() -> None:
    adjacency = sp.coo_array(nx.to_numpy_array(network()))
    features = np.array([[0, 0], [1, 1], [2, 0], [3, 1], [4, 0.0]])
    masks = tuple(np.array([split == part for split in SPLITS]) for part in ("train", "val", "test"))
    ids = np.arange(5) * 10
    names = ["age", "tall"]
    graph = Graph.from_scipy(adjacency, features, LABELS, masks=masks, node_ids=ids, feature_names=names)
    assert graph.labels.tolist() == [0, 1, 0, 1, -1] and graph.class_names == ("x", "y")
    assert abs(graph.adjacency - adjacency.tocsr()).max() == 0
    numbers = Graph.from_scipy(adjacency, sp.csr_array(features), [0, 1, 0, 1, -1], masks=masks, node_ids=ids)
    assert sp.issparse(numbers.features) and numbers.labels.tolist() == graph.labels.tolist()
    several = sp.csr_array(np.array([[1, 0], [0, 1], [1, 1], [0, 1], [0, 0]]))
    assert Graph.from_scipy(adjacency, features, several, masks=masks).labels.tolist() == several.toarray().tolist()
    for wrong_masks in (masks[:2], torch.ones(3, 5), 3):
        with pytest.raises(DatasetError, match="`masks` are three"):
            Graph.from_scipy(adjacency, features, LABELS, masks=wrong_masks)
    with pytest.raises(DatasetError, match="Features must be real numbers, and these are complex"):
        Graph.from_scipy(adjacency, features * 1j, LABELS)
    broken = sp.csr_array((np.ones(1), np.array([7]), np.array([0, 1, 1, 1, 1, 1])), shape=(5, 5))
    for wrong in ({"adjacency": broken}, {"features": features[:3]}, {"features": np.ones(5)}, {"labels": [0, 1, 0]}):
        with pytest.raises((GraphError, DatasetError)):
            Graph.from_scipy(
                **{"adjacency": adjacency, "features": features, "labels": [0, 1, 0, 1, -1], "masks": masks, **wrong}
            )


def test_pyg_there_and_back(caplog: pytest.LogCaptureFixture) -> None:
    Data = pytest.importorskip("torch_geometric.data").Data
    from torch_geometric.datasets import FakeDataset

    graph = Graph.from_networkx(network())
    data = graph.to_pyg()
    assert data.num_nodes == 5 and data.x.shape == (5, 2) and data.y.tolist() == [0, 1, 0, 1, -1]
    back = Graph.from_pyg(data)
    for part in ("train", "val", "test", "labels"):
        np.testing.assert_array_equal(getattr(back, part), getattr(graph, part))
    np.testing.assert_array_equal(back.features, graph.features)
    assert data.is_undirected() and back.edges == graph.edges
    assert abs(back.adjacency - graph.adjacency.maximum(graph.adjacency.T)).max() == 0
    fake = FakeDataset(num_graphs=1, avg_num_nodes=60, task="node", num_classes=3)[0]
    drawn = Graph.from_pyg(fake, name="fake")
    assert drawn.classes == 3 and drawn.train.any() and "fake has no split" in caplog.text
    several = Data(
        x=torch.eye(4), edge_index=torch.tensor([[0, 1, 0], [1, 2, 1]]), y=torch.tensor([[0], [1], [0], [1]])
    )
    for part, rows in (("train", [0, 1]), ("val", [2]), ("test", [3])):
        mask = torch.zeros(4, 2, dtype=torch.bool)
        mask[rows, 0] = True
        mask[:, 1] = part == "train"
        several[f"{part}_mask"] = mask
    graph = Graph.from_pyg(several)
    assert graph.train.tolist() == [True, True, False, False] and graph.adjacency.max() == 1
    with pytest.raises(DatasetError, match="does not fit its 2 nodes"):
        Graph.from_pyg(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [5]]), y=torch.tensor([0, 1])))
    with pytest.raises(DatasetError, match="no edge_index"):
        Graph.from_pyg(Data(x=torch.eye(2)))


@pytest.mark.parametrize("features", ["attr", "attr_matrix", "none"])
def test_npz_of_matrices(tmp_path: Path, features: str, caplog: pytest.LogCaptureFixture) -> None:
    random = np.random.default_rng(0)
    A = sp.random_array((30, 30), density=0.1, format="csr", rng=random)
    X = sp.random_array((30, 5), density=0.3, format="csr", rng=random)
    arrays = {f"adj_{part}": getattr(A, part) for part in ("data", "indices", "indptr", "shape")}
    if features == "attr":
        arrays |= {f"attr_{part}": getattr(X, part) for part in ("data", "indices", "indptr", "shape")}
    elif features == "attr_matrix":
        arrays["attr_matrix"] = X.toarray()
    names = np.array(["a", None], dtype=object)  # would have to be unpickled, and is not needed
    np.savez(tmp_path / "net.npz", labels=np.arange(30) % 3, class_names=names, **arrays)
    graph = load_dataset(str(tmp_path / "net.npz"))
    assert graph.name == "net" and abs(graph.adjacency - A.astype(np.float32)).max() == 0
    if features == "none":
        assert "no features" in caplog.text
    else:
        found = graph.features.toarray() if sp.issparse(graph.features) else graph.features
        np.testing.assert_allclose(found, X.toarray(), rtol=1e-6)
    assert graph.train.sum() == 15


def test_npz_with_names_of_classes(tmp_path: Path) -> None:
    names = np.array(["dog", "", "cat", "dog", "cat", "dog", "cat", "dog"])
    arrays = {"edges": np.array([[0, 1], [1, 2]]), "node_features": np.eye(8)}
    np.savez(tmp_path / "pets.npz", node_labels=names, **arrays)
    pets = load_dataset(str(tmp_path / "pets.npz"))
    assert pets.class_names == ("cat", "dog") and pets.labels.tolist() == [1, -1, 0, 1, 0, 1, 0, 1]
    trained = Schema(("bird", "dog"), pets.feature_names, False)
    assert load_for_model(str(tmp_path / "pets.npz"), trained).labels.tolist() == [1, -1, -1, 1, -1, 1, -1, 1]


def test_npz_of_edges(tmp_path: Path) -> None:
    masks = {
        f"{part}_masks": np.array([[i % 3 == n for i in range(9)], [True] * 9])
        for n, part in enumerate(("train", "val", "test"))
    }
    arrays = {
        "edges": np.array([[0, 1], [1, 2], [1, 2]]),
        "node_features": np.eye(9),
        "node_labels": np.arange(9) // 3 % 2,
    }
    for several in (masks, {name: rows.T for name, rows in masks.items()}):
        np.savez(tmp_path / "flat.npz", **arrays, **several)
        graph = load_dataset(f"{tmp_path}/")
        assert [mask.nonzero()[0][0] for mask in (graph.train, graph.val, graph.test)] == [0, 1, 2]
    assert graph.train.nonzero()[0].tolist() == [0, 3, 6] and graph.adjacency.max() == 1 and graph.edges == 2
    like = load_for_model(f"{tmp_path}/", Schema(["p", "q"], graph.feature_names))
    assert like.class_names == ("p", "q") and like.test.all()
    np.savez(tmp_path / "flat.npz", **arrays, **(masks | {"val_masks": np.zeros((3, 3))}))
    with pytest.raises(DatasetError, match=r"flat.npz .* A split has shape \(3, 3\); it needs a row .* of 9 nodes"):
        load_dataset(f"{tmp_path}/")


def published(folder: Path, *, columns: bool = False, key: str = "masks", **other: object) -> str:
    """An .npz file of 12 nodes with 10 splits: in split n, node n and the one after are for training, and so on."""
    nodes = (np.arange(12) - np.arange(10)[:, None]) % 12
    masks = {f"{part}_{key}": nodes // 2 == number for number, part in enumerate(("train", "val", "test"))}
    masks = {name: rows.T if columns else rows for name, rows in masks.items()}
    edges, labels = np.array([[0, 1], [1, 2]]), np.arange(12) % 2
    np.savez(folder / "mines.npz", edges=edges, node_features=np.eye(12), node_labels=labels, **{**masks, **other})
    return str(folder / "mines.npz")


@pytest.mark.parametrize(
    ("columns", "key"), [(False, "masks"), (True, "masks"), (False, "mask"), (True, "mask")], ids=str
)
def test_a_number_picks_one_of_several_splits(
    tmp_path: Path, columns: bool, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = published(tmp_path, columns=columns, key=key)
    graph = load_dataset(path, split=3)
    assert [mask.nonzero()[0].tolist() for mask in (graph.train, graph.val, graph.test)] == [[3, 4], [5, 6], [7, 8]]
    assert load_dataset(path, split="3").fingerprint() == graph.fingerprint() and "10 splits" not in caplog.text
    first = load_dataset(path)
    assert "mines has 10 splits: the first, 0, is used; `split=N` uses another, with N up to 9." in caplog.messages
    assert (
        first.train.nonzero()[0].tolist() == [0, 1] and first.fingerprint() == load_dataset(path, split=0).fingerprint()
    )


def test_splits_that_are_not_there(tmp_path: Path) -> None:
    path = published(tmp_path)
    with pytest.raises(
        DatasetError, match=r"mines has 10 splits, numbered 0 to 9, so there is no split 10; choose one"
    ):
        load_dataset(path, split=10)
    with pytest.raises(DatasetError, match=r"^cora has one split, so there is no split 3; use `split='given'`\.$"):
        load_dataset("cora", split=3)
    with pytest.raises(DatasetError, match="graph has no split, so there is no split 0; use `split='given'`"):
        Graph.from_scipy(np.eye(8), np.eye(8), np.arange(8) % 2, split="0")
    assert load_dataset("cora", split=0).fingerprint() == load_dataset("cora").fingerprint()


def test_masks_of_some_splits(tmp_path: Path) -> None:
    last = np.arange(12) == 11
    graph = load_dataset(published(tmp_path, test_masks=last), split=2)  # one for all splits
    assert graph.train.nonzero()[0].tolist() == [2, 3] and graph.test.nonzero()[0].tolist() == [11]
    with pytest.raises(DatasetError, match=r"The numbers of training, validation and test masks differ: 10, 10, 3;"):
        load_dataset(published(tmp_path, test_masks=np.tile(last, (3, 1))))


def test_npz_of_matrices_with_masks(tmp_path: Path) -> None:
    A = sp.csr_array(np.eye(9, k=1))
    arrays = {f"adj_{part}": getattr(A, part) for part in ("data", "indices", "indptr", "shape")}
    masks = {f"{part}_mask": np.arange(9) % 3 == number for number, part in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "net.npz", labels=np.arange(9) // 3 % 2, attr_matrix=np.eye(9), **arrays, **masks)
    assert load_dataset(str(tmp_path / "net.npz")).val.nonzero()[0].tolist() == [1, 4, 7]


def test_folders_of_published_files(tiny: Path) -> None:
    graph = load_dataset(f"{tiny}/")
    assert graph.name == "tiny" and graph.nodes == 8
    with pytest.raises(DatasetError, match="1433"):
        load_for_model(f"{tiny}/", Schema(["a", "b"], [str(i) for i in range(1433)]))
    with pytest.raises(DatasetError, match="has a format that does not take `one_hot`"):
        load_dataset(f"{tiny}/", one_hot=["x"])


def test_a_dataset_as_a_folder_is_the_dataset(planetoid_folder: Path, tmp_path: Path) -> None:
    for file in planetoid_folder.glob("ind.citeseer.*"):
        (tmp_path / file.name).symlink_to(file)
    folder, dataset = load_dataset(f"{tmp_path}/"), load_dataset("citeseer")
    assert (folder.labels == dataset.labels).all() and (folder.train == dataset.train).all()
    assert load_dataset(f"{tmp_path}/", split="random:5").train.sum() == 30


def test_to_pyg_says_what_it_needs(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(DatasetError, match=r"pip install 'ngcn\[pyg\]'"):
        graph.to_pyg()

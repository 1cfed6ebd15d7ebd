import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import load_dataset
from ngcn.errors import DatasetError, GraphError
from ngcn.graph import Graph, Schema, load_for_model, open_graph, store_graph
from ngcn.ops import undirected


@pytest.fixture(scope="module")
def graph():
    random = np.random.default_rng(0)
    A = sp.csr_array(np.triu(random.random((8, 8)) < 0.4).astype(np.float32))
    ids, part = [f"node {i}" for i in range(8)], np.arange(8) % 4
    masks = part == 0, part == 1, part == 2
    X = random.normal(size=(8, 3)).astype(np.float32)
    return Graph(A, X, [0, 1, 0, -1, 1, 0, 1, -1], *masks, node_ids=ids, class_names=["x", "y"], name="eight")


@pytest.fixture
def folder(graph, tmp_path):
    store_graph(graph, tmp_path / "eight")
    return tmp_path / "eight"


def test_a_stored_graph_is_the_same_graph(graph, folder):
    stored = open_graph(folder)
    assert isinstance(stored, Graph)
    np.testing.assert_array_equal(stored.adjacency.toarray(), undirected(graph.adjacency).toarray())
    for name in ("features", "labels", "train", "val", "test", "node_ids"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(graph, name))
    assert (stored.class_names, stored.feature_names, stored.name) == (("x", "y"), ("0", "1", "2"), "eight")
    assert stored.edges == np.triu(stored.adjacency.toarray()).sum()
    np.testing.assert_array_equal(stored.degrees, stored.adjacency.toarray().sum(axis=1))
    assert stored.ids(2, 4).to_pylist() == ["node 2", "node 3"]
    assert not stored.features.flags.writeable
    with pytest.raises(GraphError, match="keeps its order"):
        stored.reordered(np.arange(8))


def test_weights_sparse_features_and_multilabel(graph, tmp_path):
    several = np.eye(8, 3, dtype=np.float32)
    X = sp.csr_array(np.diag(np.arange(8.0)))
    graph = replace(graph, adjacency=3 * graph.adjacency, features=X, labels=several, class_names=list("abc"),
                    feature_names=list("ABCDEFGH"))  # fmt: skip
    stored = store_graph(graph, tmp_path)
    assert stored.weighted and stored.multilabel and stored.feature_names == tuple("ABCDEFGH")
    np.testing.assert_array_equal(stored.features.toarray(), X.toarray())
    np.testing.assert_array_equal(stored.labels, several)
    assert stored.adjacency.max() == 3


def test_the_fingerprint_is_that_of_content_and_split(graph, folder, tmp_path):
    stored = open_graph(folder)
    assert stored.fingerprint() == store_graph(graph, tmp_path / "again").fingerprint()
    other = replace(graph, features=graph.features + 1)
    assert stored.fingerprint() != store_graph(other, tmp_path / "other").fingerprint()
    assert stored.fingerprint() != stored.with_split(stored.val, stored.train, stored.test).fingerprint()


def test_load_dataset_opens_it_and_draws_splits(folder):
    assert load_dataset(f"{folder}/").train.tolist() == open_graph(folder).train.tolist()
    drawn = load_dataset(f"{folder}/", split="random:1", seed=1)
    assert drawn.train.sum() == 2 and drawn.folder == folder
    with pytest.raises(DatasetError, match="does not take `multilabel`"):
        load_dataset(f"{folder}/", multilabel=True)
    with pytest.raises(DatasetError, match="no split 3"):
        load_dataset(f"{folder}/", split=3)


def test_a_model_maps_its_classes(folder):
    known = load_for_model(f"{folder}/", Schema(["y", "z"], ["0", "1", "2"]))
    assert known.labels.tolist() == [-1, 0, -1, -1, 0, -1, 0, -1]
    assert known.test.tolist() == (known.labels >= 0).tolist() and known.class_names == ("y", "z")
    with pytest.raises(DatasetError, match="not the 2 of the model"):
        load_for_model(f"{folder}/", Schema(["x"], ["a", "b"]))


def damage(folder, name, change):
    array = np.load(folder / f"{name}.npy")
    np.save(folder / f"{name}.npy", change(array))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indptr", lambda a: a[:-1]),
        ("indptr", lambda a: a.astype(np.int32)),
        ("indptr", lambda a: a[::-1].copy()),
        ("indices", lambda a: a + 8),
        ("indices", lambda a: a - 8),
        ("indices", lambda a: a[1:]),
        ("features", lambda a: a.T),
        ("features", lambda a: np.asfortranarray(a)),
        ("labels", lambda a: a + 5),
        ("labels", lambda a: a - 5),
        ("split", lambda a: a.astype(bool)),
        ("ids", lambda a: np.arange(8.0)),
        ("degrees", lambda a: a[1:]),
    ],
)
def test_damaged_arrays_are_errors(folder, name, change):
    damage(folder, name, change)
    with pytest.raises(DatasetError, match=rf"{name}\.npy .*build"):
        open_graph(folder).degrees  # noqa: B018


@pytest.mark.parametrize("name", ["indptr", "features", "labels"])
def test_truncated_and_missing_files_are_errors(folder, name):
    path = folder / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DatasetError, match="damaged or too short"):
        open_graph(folder)
    path.write_bytes(b"\x80\x04 a pickle")
    with pytest.raises(DatasetError, match="damaged"):
        open_graph(folder)
    path.unlink()
    with pytest.raises(DatasetError, match="cannot be read: No such file"):
        open_graph(folder)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 99, "newer version"),
        ("nodes", 10**15, "damaged"),
        ("nodes", "8", "damaged"),
        ("features", 4, r"features\.npy"),
        ("feature_names", ["a"], "names of features"),
        ("class_names", ["a"], "no classes"),
    ],
)
def test_a_damaged_meta_file_is_an_error(folder, key, value, message):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, key: value}))
    with pytest.raises(DatasetError, match=message):
        open_graph(folder)

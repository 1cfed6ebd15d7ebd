"""The reader of GraphSAGE's format, on a set of that format made here."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ngcn.data import catalog
from ngcn.data.graphsage import read_graphsage
from ngcn.errors import DatasetError
from ngcn.graph import for_training, load_dataset

NODES, LINKS = 6, [(0, 1), (1, 2), (2, 2), (3, 4), (4, 3), (4, 5)]  # two graphs, a self-connection, a repeated link
ROW = [5, 4, 3, 2, 1, 0]  # node i has row 5 - i of the features
X = np.random.default_rng(0).normal(5, 3, (NODES, 3))
X[:, 2] = 7  # constant
Y = np.random.default_rng(1).integers(0, 2, (NODES, 4))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    folder = tmp_path / "ppi"
    folder.mkdir()

    def write(ids: list = list(range(NODES)), ends: list = list(range(NODES))) -> Path:  # noqa: B006
        nodes = [{"id": node, "val": i == 3, "test": i in (4, 5)} for i, node in enumerate(ids)]
        links = [{"source": ends[i], "target": ends[j], "test_removed": False} for i, j in LINKS]
        parts = {
            "G": {"directed": False, "graph": {"name": "x"}, "multigraph": False, "nodes": nodes, "links": links},
            "id_map": {str(node): ROW[i] for i, node in enumerate(ids)},
            "class_map": {str(node): Y[i].tolist() for i, node in enumerate(ids)},
        }
        for part, value in parts.items():
            (folder / f"ppi-{part}.json").write_text(json.dumps(value))
        np.save(folder / "ppi-feats.npy", X)
        return folder

    return write


def check(folder: Path, ids: list) -> None:
    graph = for_training(read_graphsage(folder))
    pairs = {(i, j) for a, b in LINKS for i, j in ((a, b), (b, a))}
    assert set(zip(*(ends.tolist() for ends in graph.adjacency.nonzero()), strict=True)) == pairs
    assert set(graph.adjacency.data.tolist()) == {1}
    assert [np.flatnonzero(mask).tolist() for mask in (graph.train, graph.val, graph.test)] == [[0, 1, 2], [3], [4, 5]]
    assert graph.labels.tolist() == Y.tolist() and graph.multilabel
    assert graph.node_ids.tolist() == ids
    given = X[ROW]
    wanted = (given - given[:3].mean(axis=0))[:, :2] / given[:3].std(axis=0)[:2]
    np.testing.assert_allclose(graph.features[:, :2], wanted, rtol=1e-5)
    assert (graph.features[:, 2] == 0).all()  # the constant one: centred, and not divided by zero
    assert load_dataset(f"{folder}/").fingerprint() == graph.fingerprint()


def test_reads_numbered_nodes(write: Callable) -> None:
    check(write(), list(range(NODES)))


def test_links_by_position_as_networkx_1_has_them(write: Callable) -> None:
    ids = [f"protein {i}" for i in range(NODES)]
    check(write(ids=ids), ids)


def test_links_by_id_as_networkx_2_has_them(write: Callable) -> None:
    ids = [f"protein {i}" for i in range(NODES)]
    check(write(ids=ids, ends=ids), ids)
    numbers = [100 + i for i in range(NODES)]
    check(write(ids=numbers, ends=numbers), numbers)


def test_features_are_standardised_on_training_nodes_only(write: Callable) -> None:
    features = read_graphsage(write()).features[0].matrix[:, :2]
    np.testing.assert_allclose(features[:3].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(features[:3].std(axis=0), 1, rtol=1e-5)
    assert abs(features.mean(axis=0)).max() > 1e-3


def rewrite(part: str, change: Callable) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / f"ppi-{part}.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return damage


DAMAGE = {
    "no file": (lambda folder: (folder / "ppi-G.json").unlink(), "ppi-G.json cannot be read as JSON"),
    "not JSON": (lambda folder: (folder / "ppi-id_map.json").write_text("{"), "ppi-id_map.json cannot be read as JSON"),
    "no features": (lambda folder: (folder / "ppi-feats.npy").unlink(), "ppi-feats.npy cannot be read"),
    "pickled features": (
        lambda folder: np.save(folder / "ppi-feats.npy", np.array([{}]), allow_pickle=True),
        "ppi-feats.npy cannot be read as an array of numbers",
    ),
    "no links": (rewrite("G", lambda G: {**G, "links": None}), "do not fit together"),
    "no split": (rewrite("G", lambda G: {**G, "nodes": [{"id": 0}]}), "'val' is missing"),
    "no classes for a node": (rewrite("class_map", lambda classes: {"0": classes["0"]}), "'1' is missing"),
    "ragged classes": (rewrite("class_map", lambda classes: {**classes, "0": [1]}), "do not fit together"),
    "row out of range": (rewrite("id_map", lambda rows: {**rows, "0": 99}), "do not fit together"),
    "link to nobody": (rewrite("G", lambda G: {**G, "links": [{"source": 0, "target": 77}]}), "77 is missing"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_files_give_one_clear_error(damage: Callable, message: str, write: Callable) -> None:
    folder = write()
    damage(folder)
    with pytest.raises(DatasetError, match=message):
        read_graphsage(folder)


def test_load_dataset_takes_the_published_files_and_no_others(
    clean: Path, write: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    monkeypatch.setenv("NGCN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"ppi-G\.json is not the published file of ppi"):
        load_dataset("ppi")
    dataset = catalog.find("ppi")
    monkeypatch.setitem(catalog.DATASETS, "ppi", replace(dataset, files=dict.fromkeys(dataset.files)))
    assert load_dataset("ppi").nodes == NODES

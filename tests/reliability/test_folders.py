"""Damaged folders: graphs on disk and searches."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from conftest import random_graph

from ngcn import Config, ConfigError, DatasetError, Graph, GraphError, RunError, load_dataset, tune
from ngcn.graph import open_graph, store_graph
from ngcn.graph import stored as stored_graphs
from ngcn.json_file import fits
from ngcn.large import build
from ngcn.report.inspection import inspect_graph


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored") / "graph"
    store_graph(random_graph(), folder)
    return folder


@pytest.fixture
def stored(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "graph"))


def of_header(text: bytes) -> bytes:
    """An .npy file with this header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "zip": lambda path: path.write_bytes(b"PK\x05\x06" + bytes(18)),
    "objects": lambda path: np.save(path, np.array([1, "a"], dtype=object), allow_pickle=True),
    "open bracket": lambda path: path.write_bytes(of_header(b"{'descr': '<i8', ((\n")),
    "huge": lambda path: path.write_bytes(of_header(b"{'descr': '<i8', 'fortran_order': False, 'shape': (2**62,)}\n")),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "type": lambda path: np.save(path, np.load(path).astype(np.complex64)),
    "shape": lambda path: np.save(path, np.load(path)[:-1]),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["indptr", "indices", "labels", "split", "ids", "features_indptr"])
def test_arrays_of_a_graph_on_disk(stored: Path, name: str, damage: str) -> None:
    DAMAGE[damage](stored / f"{name}.npy")
    with pytest.raises(DatasetError, match=rf"{name}\.npy .*build .*again"):
        open_graph(stored)


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 2**32 - 1])
def test_characters_that_do_not_exist(stored: Path, code: int) -> None:
    ids = np.load(stored / "ids.npy").astype("U8")
    np.save(stored / "ids.npy", ids)
    open_graph(stored)
    ids.view(np.uint32)[7] = code
    np.save(stored / "ids.npy", ids)
    with pytest.raises(DatasetError, match=r"ids\.npy has characters that do not exist"):
        open_graph(stored)


@pytest.mark.parametrize("prefix", ["", "features_"])
@pytest.mark.parametrize("chunk", [stored_graphs.CHUNK, 3])
def test_entries_out_of_order(stored: Path, prefix: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_graphs, "CHUNK", chunk)
    open_graph(stored)
    path, starts = stored / f"{prefix}indices.npy", np.load(stored / f"{prefix}indptr.npy")
    indices = np.load(path)
    row = int(np.flatnonzero(np.diff(starts) > 1)[-1])
    indices[starts[row] : starts[row + 1]] = indices[starts[row] : starts[row + 1]][::-1].copy()
    np.save(path, indices)
    with pytest.raises(DatasetError, match=r"indices\.npy is damaged"):
        open_graph(stored)


@pytest.mark.parametrize("value", [None, -1, 10**17, "a", [], True])
def test_the_description_of_a_graph_on_disk(stored: Path, value: object) -> None:
    good = json.loads((stored / "meta.json").read_text())
    for key in ("nodes", "entries", "features", "sparse", "multilabel", "class_names", "feature_names"):
        if fits(value, type(good[key])) and key not in ("nodes", "entries", "features"):
            continue
        (stored / "meta.json").write_text(json.dumps({**good, key: value}))
        with pytest.raises(DatasetError):
            open_graph(stored)


def test_the_names_of_many_features_cost_no_memory(stored: Path) -> None:
    path = stored / "meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "features": 10**12, "feature_names": 10**12}))
    with pytest.raises(DatasetError, match="names of features"):
        open_graph(stored)


def test_what_is_missing_in_a_graph_on_disk(whole: Path) -> None:
    found = inspect_graph(f"{whole}/")
    assert found.ok and not found.missing


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "study"
    tune(random_graph(), {"model": "gcn", "steps": 2}, folder=folder, trials=2)
    return folder


CHANGES = {
    "no database": None,
    "a number": "update trials set number = '[]'",
    "a state": "update trials set state = 4611686018427387904",
    "a time": "update trials set datetime_start = 7",
    "a sign of life": "update trial_heartbeats set heartbeat = 'x'",
    "a setting": """update trial_user_attributes set value_json = '{"hidden": "x"}' where key = 'settings'""",
    "a score": "update trial_user_attributes set value_json = '[]' where key = 'score'",
    "a parameter of the next trial": "insert into trial_params select null, max(trial_id) + 1, 'recipe', 99, "
    """'{"name": "CategoricalDistribution", "attributes": {"choices": ["standard"]}}' from trials""",
    "a distribution": "update trial_params set distribution_json = '[1]'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_search(search: Path, tmp_path: Path, change: str) -> None:
    folder = shutil.copytree(search, tmp_path / "study")
    if sql := CHANGES[change]:
        with sqlite3.connect(folder / "study.db") as database:
            assert database.execute(sql).rowcount
        database.close()
    else:
        (folder / "study.db").write_bytes(b"x" * 1000)
    with pytest.raises(RunError, match=r"study\.db cannot be used as a study"):
        tune(random_graph(), {"model": "gcn", "steps": 2}, folder=folder, trials=3)


def test_numbers_that_are_too_large_for_features(graph: Graph) -> None:
    with pytest.raises(ValueError, match="must be a matrix of numbers"):
        Graph(graph.adjacency, [[10**5000]], graph.labels, graph.train, graph.val, graph.test)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="must be matrices of numbers"):
        Graph.from_scipy(graph.adjacency, [[10**5000]], graph.labels)


SCHEMA = {"a": int, "b?": float | None, "c?": [{"d": str}], "e?": ({"x", "y"}, list[int])}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, True),
        ({"a": 1, "b": None, "c": None, "e": {"x": [1]}, "other": 3}, True),
        ({"a": 1, "c": [{"d": "t"}], "e": {}}, True),
        ({}, False),
        ([], False),
        ({"a": True}, False),
        ({"a": 1.0}, False),
        ({"a": 1, "b": float("nan")}, False),
        ({"a": 1, "c": [{}]}, False),
        ({"a": 1, "e": {"z": [1]}}, False),
        ({"a": 1, "e": {"x": [1.5]}}, False),
        ({"a": 1, "e": None}, False),
    ],
)
def test_schemas(value: object, expected: bool) -> None:
    assert fits(value, SCHEMA) is expected
    assert not fits([], {"a?": int})


@pytest.mark.parametrize("table", ["nodes.csv.gz", "edges.csv.gz"])
def test_damaged_gzip_files(tmp_path: Path, table: str) -> None:
    """In whatever part of the file, and read as a whole or in parts."""
    rows = {"nodes.csv.gz": "id,label,x\n", "edges.csv.gz": "source,target\n"}
    for i in range(200):
        rows["nodes.csv.gz"] += f"{i},{'ab'[i % 2]},{i * i % 17}\n"
        rows["edges.csv.gz"] += f"{i},{i * 7 % 200}\n"
    for name, text in rows.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    good = (tmp_path / table).read_bytes()
    for place in range(10, len(good), len(good) // 12):
        (tmp_path / table).write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        with pytest.raises(DatasetError):
            load_dataset(f"{tmp_path}/")
        with pytest.raises(DatasetError):
            build(tmp_path / "edges.csv.gz", tmp_path / "nodes.csv.gz", out=tmp_path / "big")
        assert not (tmp_path / "big").exists()


def test_a_first_line_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_bytes(b"source,t\xffrget\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,x\na,y,1\nb,z,2\n")
    with pytest.raises(DatasetError, match=r"edges\.csv"):
        build(tmp_path / "edges.csv", tmp_path / "nodes.csv", out=tmp_path / "big")


def test_arrays_that_are_not_numbers(tmp_path: Path) -> None:
    parts = {
        "data": np.array(["a"]),
        "indices": np.array([0]),
        "indptr": np.array([0, 1, 1]),
        "shape": np.array([2, 2]),
    }
    arrays = {f"{name}_{part}": value for name in ("adj", "attr") for part, value in parts.items()}
    np.savez(tmp_path / "g.npz", labels=np.array([0, 1]), **{**arrays, "adj_data": np.ones(1)})
    with pytest.raises(DatasetError, match="attr_data are not numbers"):
        load_dataset(str(tmp_path / "g.npz"))


def test_more_features_than_names_fit_into_memory(graph: Graph) -> None:
    with pytest.raises(GraphError, match=r"1,000,000,000 features; at most 10,000,000"):
        Graph(graph.adjacency, sp.csr_array((graph.nodes, 10**9)), graph.labels, graph.train, graph.val, graph.test)


def test_nodes_of_the_split_of_a_graph_on_disk_have_labels(tmp_path: Path) -> None:
    graph = random_graph()
    store_graph(graph, tmp_path / "graph")
    labels = np.where(np.arange(graph.nodes) == graph.train.argmax(), -1, graph.labels)
    np.save(tmp_path / "graph" / "labels.npy", labels)
    with pytest.raises(DatasetError, match="labels that are no classes"):
        open_graph(tmp_path / "graph")


@pytest.mark.parametrize("wrong", [np.nan, 2.0, -1.0])
def test_several_labels_of_a_graph_on_disk_are_zeros_and_ones(tmp_path: Path, wrong: float) -> None:
    graph = random_graph()
    labels = np.eye(graph.classes, dtype=np.float32)[graph.labels]
    store_graph(replace(graph, labels=labels), tmp_path / "graph")
    assert open_graph(tmp_path / "graph").multilabel
    labels[7, 1] = wrong
    np.save(tmp_path / "graph" / "labels.npy", labels)
    with pytest.raises(DatasetError, match="labels that are no classes"):
        open_graph(tmp_path / "graph")


@pytest.mark.filterwarnings("error")
def test_a_tensor_with_a_gradient_is_no_number() -> None:
    with pytest.raises(ConfigError, match="lr must be a number"):
        Config(lr=torch.ones(1, requires_grad=True))  # type: ignore[arg-type]

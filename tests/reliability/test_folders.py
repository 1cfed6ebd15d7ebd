"""Damaged folders: graphs on disk and searches."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import random_graph

from ngcn import DatasetError, Graph, RunError, tune
from ngcn.graph import open_graph, store_graph
from ngcn.json_file import fits


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


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "study"
    tune(random_graph(), {"model": "gcn", "steps": 2}, folder=folder, trials=2)
    return folder


CHANGES = {
    "no database": None,
    "a state": "update trials set state = 4611686018427387904",
    "a time": "update trials set datetime_start = 7",
    "a setting": """update trial_user_attributes set value_json = '{"hidden": "x"}' where key = 'settings'""",
    "a score": "update trial_user_attributes set value_json = '[]' where key = 'score'",
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

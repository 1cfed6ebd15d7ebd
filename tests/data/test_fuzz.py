"""Random tables and random bytes give a graph or an error of one sentence."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngcn.errors import DatasetError, GraphError
from ngcn.graph import Graph, load_dataset

CELLS = st.one_of(
    st.sampled_from(["", "a", "b", "c", "d", "1", "2.5", "-1", "nan", "x|y", "train", "val", "0", '"', " a ", "1e400"]),
    st.text(max_size=4),
)
COLUMNS = st.lists(
    st.sampled_from(["id", "label", "split", "graph", "source", "target", "weight", "feature", "value", "x", "y"]),
    min_size=1,
    max_size=6,
)
TIDY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Mostly with the right number of cells in a row."""
    columns = draw(COLUMNS)
    width = st.just(len(columns)) if draw(st.booleans()) else st.integers(0, 7)
    rows = draw(st.lists(width.flatmap(lambda n: st.lists(CELLS, min_size=n, max_size=n)), max_size=8))
    return "\n".join(draw(st.sampled_from([",", ";", "\t"])).join(row) for row in [columns, *rows])


@st.composite
def near_misses(draw: st.DrawFn) -> tuple[str, str]:
    """Two tables that fit together but for some cells."""
    size = draw(st.integers(0, 8))
    ids = [f"n{i}" for i in range(size)]
    nodes = [["id", "label", "split", "x"]]
    nodes += [
        [node, draw(st.sampled_from("pq")), draw(st.sampled_from(["train", "val", "test", ""])), "3"] for node in ids
    ]
    ends = st.sampled_from(ids or ["n0"])
    edges = [["source", "target", "weight"]] + [[draw(ends), draw(ends), "1"] for _ in range(draw(st.integers(0, 6)))]
    for table in (nodes, edges):
        for _ in range(draw(st.integers(0, 2))):
            row = draw(st.sampled_from(table))
            row[draw(st.integers(0, len(row) - 1))] = draw(CELLS)
    return tuple("\n".join(",".join(row) for row in table) for table in (nodes, edges))  # type: ignore[return-value]


def outcome(folder: Path, files: dict[str, bytes], **how: object) -> None:
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        graph = load_dataset(f"{folder}/", **how)  # type: ignore[arg-type]
    except (DatasetError, GraphError) as error:
        assert str(error).endswith((".", "?")) and len(str(error)) > 20
    else:
        assert isinstance(graph, Graph) and graph.nodes > 0 and graph.train.any() and graph.val.any()


@TIDY
@given(tables(), tables(), st.one_of(st.none(), tables()), st.booleans())
def test_random_tables(tmp_path: Path, nodes: str, edges: str, features: str | None, multilabel: bool) -> None:
    files = {"nodes.csv": nodes, "edges.csv": edges} | ({} if features is None else {"features.csv": features})
    outcome(
        tmp_path, {name: text.encode("utf-8", "surrogatepass") for name, text in files.items()}, multilabel=multilabel
    )


@TIDY
@given(near_misses())
def test_nearly_good_tables(tmp_path: Path, pair: tuple[str, str]) -> None:
    outcome(
        tmp_path,
        {
            "nodes.csv": pair[0].encode("utf-8", "surrogatepass"),
            "edges.tsv": pair[1].replace(",", "\t").encode("utf-8", "surrogatepass"),
        },
    )


@TIDY
@given(
    st.binary(max_size=300),
    st.sampled_from(["nodes.csv", "nodes.csv.gz", "nodes.parquet", "g.npz", "g.graphml", "g.gexf"]),
)
def test_random_bytes(tmp_path: Path, content: bytes, name: str) -> None:
    outcome(tmp_path, {name: content, "edges.csv": b"source,target\na,b\n"} if "nodes" in name else {name: content})


def good(kind: str) -> tuple[str, bytes]:
    file = io.BytesIO()
    frame = pd.DataFrame(
        {"id": list("abcd"), "label": list("xyxy"), "split": ["train"] * 2 + ["val"] * 2, "f": range(4)}
    )
    if kind == "npz":
        np.savez(file, edges=np.array([[0, 1]]), node_features=np.eye(4), node_labels=np.arange(4) % 2)
        return "g.npz", file.getvalue()
    if kind == "parquet":
        frame.to_parquet(file)
        return "nodes.parquet", file.getvalue()
    return "nodes.csv.gz", gzip.compress(frame.to_csv(index=False).encode())


@pytest.mark.parametrize("kind", ["npz", "parquet", "gz"])
def test_every_cut(tmp_path: Path, kind: str) -> None:
    name, content = good(kind)
    edges = {} if kind == "npz" else {"edges.csv": b"source,target\na,b\n"}
    outcome(tmp_path, {name: content, **edges})
    for end in range(0, len(content) - 1, 1 if kind == "gz" else 37):
        outcome(tmp_path, {name: content[:end], **edges})


@TIDY
@given(st.sampled_from(["npz", "gz"]), st.data())
def test_a_changed_byte(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    name, content = good(kind)
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] = data.draw(st.integers(0, 255))
    outcome(tmp_path, {name: bytes(changed), **({} if kind == "npz" else {"edges.csv": b"source,target\na,b\n"})})

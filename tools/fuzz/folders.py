"""Inputs that are folders: graphs on disk, and searches of `ngcn tune`."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
from pathlib import Path
from random import Random

import numpy as np

from tools.fuzz import mutate
from tools.fuzz.arrays import QUICK, any_array

USES = (  # Python with a graph on disk
    "ngcn.train(graph, ngcn.Config(model='gcn', steps=2))",
    "print(graph, graph.fingerprint(), graph.degrees.sum(), graph.ids(0, 3), graph.edges)",
    "ngcn.predict(ngcn.Run.open({run}), graph)",
    "graph.features[3:9].sum(), graph.labels[:5], graph.adjacency[:5].sum()",
)


def stored(draw: Random, folder: Path, fixtures: Path) -> tuple[list[str], str]:
    """The arguments, or the code, that use a graph on disk with changed files."""
    kind = draw.choice(["dense", "sparse", "several"])
    graph = folder / "graph"
    shutil.copytree(fixtures / "stored" / kind, graph)
    for _ in range(draw.choice([1, 1, 2])):
        meta = graph / "meta.json"
        path = meta if draw.random() < 0.4 else draw.choice(sorted(graph.iterdir()))
        match draw.randrange(10):
            case 0 if not path.is_dir():
                path.unlink(missing_ok=True)
                _replace(draw, path)
            case 1 | 2 if path.is_file():
                path.write_bytes(mutate.raw(draw, path.read_bytes()))
            case 3 if path.is_file():
                other = draw.choice([each for each in sorted(graph.iterdir()) if each.is_file()])
                path.write_bytes(other.read_bytes())
            case _ if path.suffix == ".npy" and path.is_file():
                path.write_bytes(_array(draw, path))
            case _ if path.is_file():
                path.write_bytes(mutate.json_text(draw, path.read_text(errors="replace")))
    run = str(fixtures / "runs" / {"dense": "gcn", "sparse": "bare", "several": "multi"}[kind])
    match draw.randrange(6):
        case 0:
            return ["predict", run, "graph/", "--all", "--out", "p.csv"], ""
        case 1:
            return draw.choice([["evaluate", run, "graph/"], ["inspect", "graph/"]]), ""
        case 2 | 3:
            use = draw.choice(USES).replace("{run}", repr(run))
            return [], f"import ngcn\nfrom ngcn.graph import open_graph\ngraph = open_graph('graph')\n{use}\n"
    sampled = ["--batch", "sampled", "--model", "ngcn", "--powers", "2", "--hidden", "4", "--walks", draw.choice("12")]
    return ["train", "graph/", *QUICK, *draw.choice([[], sampled])], ""


def _replace(draw: Random, path: Path) -> None:
    """By something that is no file, or by nothing."""
    match draw.randrange(4):
        case 0:
            path.touch()
        case 1 if not path.exists():
            path.mkdir()
        case 2 if not path.exists():
            os.mkfifo(path)


def _array(draw: Random, path: Path) -> bytes:
    """An array of another type, shape or content; or in another file format."""
    try:
        array = np.load(path)
    except Exception:  # NumPy raises any, for a file that was changed before
        return b""
    content = io.BytesIO()
    if draw.random() < 0.1:
        np.savez(content, array)
    else:
        np.save(content, any_array(draw, array) if isinstance(array, np.ndarray) else np.zeros(3))
    return content.getvalue()


def study(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    """A search with damaged files is continued."""
    shutil.copytree(fixtures / "study", folder / "study")
    path = folder / "study/study.db"
    match draw.randrange(8):
        case 0:
            path.write_bytes(draw.choice([b"", b"\x00" * 5000, draw.randbytes(300), b"SQLite format 3\x00"]))
        case 1:
            path.unlink()
            _replace(draw, path)
        case 2 | 3:
            path.write_bytes(mutate.raw(draw, path.read_bytes()))
        case _:
            _change_rows(draw, path)
    graph = draw.choice([["nodes.csv"], ["nodes.csv"], ["several.csv", "--multilabel"]])
    given = [
        "--edges",
        str(fixtures / "tables/edges.csv"),
        "--model",
        "gcn",
        "--steps",
        draw.choice(["3", "3", "3", "4"]),
    ]
    return [
        "tune",
        str(fixtures / "tables" / graph[0]),
        *graph[1:],
        *given,
        "--trials",
        "4",
        "--threads",
        "1",
        "--out",
        "study",
    ]


def _change_rows(draw: Random, path: Path) -> None:
    """Values of the database, its rows and its tables."""
    with sqlite3.connect(path) as database:
        names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        for _ in range(mutate.times(draw)):
            table = draw.choice(sorted(names))
            columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
            where = draw.choice(["", f" where rowid = (select min(rowid) from {table})"])
            value = draw.choice(
                [mutate.word(draw), "{}", "[]", '{"a": 1}', "COMPLETE", "null", None, 0, -1, 2**62, 1e300, b"\xff"]
            )
            if isinstance(value, str):
                value = value.encode(errors="replace").decode()
            try:
                match draw.randrange(12):
                    case 0:
                        database.execute(f"drop table {table}")
                        names.remove(table)
                    case 1 | 2:
                        database.execute(f"delete from {table}{where}")
                    case _ if columns:
                        database.execute(f"update {table} set {draw.choice(columns)} = ?{where}", (value,))
            except sqlite3.Error:
                continue
            if not names:
                break
    database.close()

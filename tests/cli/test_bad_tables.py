"""Invalid files give one sentence with file, row, column and remedy, and exit code 2. Nothing is written."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

Ngcn = Callable[..., Result]
NODES = "id,label,split,age\na,x,train,1\nb,y,train,2\nc,x,val,3\nd,y,test,4\ne,,,5\n"
EDGES = "source,target\na,b\nb,c\nd,e\n"


def parquet(text: str) -> bytes:
    file = io.BytesIO()
    pd.read_csv(io.StringIO(text)).to_parquet(file)
    return file.getvalue()


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def seems_encrypted(archive: bytes) -> bytes:
    """The flag for it set in every entry of the table of contents, whatever version of zip has written it."""
    return re.sub(rb"(?s)(PK\x01\x02.{4}).", lambda entry: entry[1] + b"\x01", archive)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("exploded"),)  # type: ignore[return-value]


FLAT = {"edges": np.array([[0, 1], [1, 2]]), "node_features": np.eye(3), "node_labels": np.array([0, 1, 0])}
ADJ = {"adj_data": np.ones(2), "adj_indices": np.array([1, 2]), "adj_indptr": np.array([0, 1, 2, 2])}

# what is wrong: files that differ from the good ones, and what the sentence has to say
WRONG: dict[str, tuple[dict[str, str | bytes | None], list[str]]] = {
    "no nodes file": ({"nodes.csv": None}, ["g has no nodes.csv"]),
    "no edges file": ({"edges.csv": None}, ["g/edges.csv cannot be read: No such file"]),
    "nothing at all": (
        {"nodes.csv": None, "edges.csv": None},
        ["holds no graph", "should hold nodes.csv and edges.csv", "NAME-G.json."],
    ),
    "tables of other names": (
        {"nodes.csv": None, "edges.csv": None, "people.csv": NODES, "calls.tsv": EDGES, "notes.txt": "x"},
        [
            "g holds no graph that can be read",
            "; it has calls.tsv, people.csv: name the table of nodes in place of the folder, and that of ",
            "edges with --edges FILE.",
        ],
    ),
    "nodes of another name": (
        {"nodes.csv": None, "people.csv": NODES},
        ["g has no nodes.csv", "; it has edges.csv, people.csv: name the table of nodes in place of the folder"],
    ),
    "two of a kind": ({"nodes.tsv": NODES}, ["both nodes.csv and nodes.tsv", "rename"]),
    "no id": (
        {"nodes.csv": NODES.replace("id", "name")},
        ["nodes.csv has no column 'id'", "its first line names 'name', 'label'"],
    ),
    "no label": ({"nodes.csv": NODES.replace("label", "lable")}, ["no column 'label'", "rename 'lable'?"]),
    "label of another name": (
        {"nodes.csv": NODES.replace("label", "kind")},
        ["nodes.csv has no column 'label'", "'id', 'kind'", "or use another column with --label COLUMN"],
    ),
    "points and commas": (
        {"nodes.csv": "id;label;age\na;x;1,5\nb;y;2.5\nc;x;3.5\nd;y;\n", "edges.csv": "source;target\na;b\n"},
        ["nodes.csv, row 2, column 'age': '1,5' is not a number; correct it, or train with --ignore age."],
    ),
    "dates of either order": (
        {"nodes.csv": "id,label,born\na,x,1/2/2000\nb,y,3/4/2000\n", "edges.csv": "source,target\na,b\n"},
        ["column 'born': these dates may have the day or the month first; write them as 2000-12-31", "--ignore born"],
    ),
    "several cells": (
        {
            "nodes.csv": "id,label,age,born\n"
            + "".join(f"n{i},x,{'old' if i < 5 else i},2000-{i}-01\n" for i in range(14)),
            "edges.csv": "source,target\nn0,n1\n",
        },
        [
            "nodes.csv has 7 bad cells: row 2, column 'age': 'old' is not a number; row 2, column ",
            "column 'born': '2000-0-01' is not a date like the others; row 3, column 'age'",
            "row 5, column 'age': 'old' is not a number; and 2 more; correct them, or train with --ignore age --",
        ],
    ),
    "missing weight": (
        {"edges.csv": "source,target,weight\na,b,n/a\n"},
        ["row 2, column 'weight': 'n/a' is not a number"],
    ),
    "no target": ({"edges.csv": "source,to\na,b\n"}, ["edges.csv has no column 'target'"]),
    "column twice": ({"nodes.csv": NODES.replace("age", "label")}, ["more than one column 'label'"]),
    "unknown node": (
        {"edges.csv": EDGES + "a,zz\n"},
        [
            "edges.csv, row 5, column 'target': there is no node 'zz'",
            "add it there, remove the row, or drop such edges with ",
            "--unknown-nodes drop.",
        ],
    ),
    "unknown feature": (
        {"features.csv": "id,feature\nzz,sun\n"},
        ["features.csv, row 2, column 'id': there is no node 'zz' in ", "nodes.csv; add it there, or remove the row."],
    ),
    "few of the nodes": (
        {
            "nodes.csv": "id,label,age\n1,x,1\n2,y,2\n3,x,3\n4,y,4\n",
            "edges.csv": "source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(1, 200)),
        },
        [
            "edges.csv: 196 of 199 rows have ids that are not in ",
            "nodes.csv, which has 4 of the 200 ids here; add a row for each node, its label empty if it is unknown, ",
            "or drop such edges with --unknown-nodes drop.",
        ],
    ),
    "missing end": ({"edges.csv": EDGES + "a,\n"}, ["edges.csv, row 5, column 'target': a node id is missing"]),
    "duplicate id": ({"nodes.csv": NODES + "b,x,,1\n"}, ["row 7, column 'id': the id 'b' is in row 3 already"]),
    "duplicate id after blank rows": (
        {"nodes.csv": "\n" + NODES.replace("\nb,", "\n\n\nb,") + '"\n\n\nf",x,,1\n\nb,x,,1\n'},
        ["row 12, column 'id': the id 'b' is in row 6 already"],
    ),
    "missing id": ({"nodes.csv": NODES + ",x,,1\n"}, ["nodes.csv, row 7, column 'id': a node id is missing"]),
    "label never trained": (
        {"nodes.csv": NODES.replace("d,y", "d,z")},
        [
            "nodes.csv, row 5, column 'label': no training node has the label 'z'",
            "put a node that has it into the training split",
        ],
    ),
    "infinity in parquet": (
        {"nodes.csv": None, "nodes.parquet": parquet(NODES.replace(",2\n", ",inf\n")), "edges.csv": EDGES},
        ["nodes.parquet, row 2, column 'age': inf is not a finite number", "--ignore age"],
    ),
    "infinite": ({"nodes.csv": NODES.replace(",2\n", ",-inf\n")}, ["row 3, column 'age'", "--ignore age"]),
    "too large": ({"nodes.csv": NODES.replace(",2\n", ",1e99\n")}, ["row 3, column 'age': 1e+99 is too large"]),
    "text in a number column": (
        {"nodes.csv": NODES.replace(",4\n", ",old\n")},
        ["nodes.csv, row 5, column 'age': 'old' is not a number; correct it, or train with --ignore age"],
    ),
    "negative weight": (
        {"edges.csv": "source,target,weight\na,b,1\nb,c,-2\n"},
        ["edges.csv, row 3, column 'weight': the weight -2 is not above 0", "remove the edge"],
    ),
    "zero weight": ({"edges.csv": "source,target,weight\na,b,0\n"}, ["row 2, column 'weight': the weight 0 is not"]),
    "weight of text": ({"edges.csv": "source,target,weight\na,b,big\n"}, ["row 2, column 'weight': 'big' is not a"]),
    "empty nodes": ({"nodes.csv": ""}, ["nodes.csv is empty; it needs a first line"]),
    "empty edges": ({"edges.csv": b""}, ["edges.csv is empty"]),
    "blank": ({"edges.csv": b"\n \n"}, ["edges.csv is empty"]),
    "no rows": ({"nodes.csv": "id,label,age\n"}, ["nodes.csv has no rows, so the graph has no nodes"]),
    "cut gzip": (
        {"nodes.csv": None, "nodes.csv.gz": gzip.compress(NODES.encode() * 99)[:-30]},
        ["nodes.csv.gz is a truncated or damaged gzip file; copy or create it again"],
    ),
    "no gzip": ({"nodes.csv": None, "nodes.csv.gz": NODES}, ["nodes.csv.gz is not a gzip file"]),
    "cut parquet": (
        {"nodes.csv": None, "nodes.parquet": parquet(NODES)[:-50]},
        ["nodes.parquet is truncated, damaged or not a Parquet file"],
    ),
    "no parquet": (
        {"nodes.csv": None, "nodes.parquet": NODES},
        ["nodes.parquet is truncated, damaged or not a Parquet"],
    ),
    "latin-1": (
        {"nodes.csv": NODES.replace("\nd,", "\nZoë,").encode("latin-1")},
        ["nodes.csv, row 5: a character is not in UTF-8; save the file in UTF-8 (in Excel: save as 'CSV UTF-8')."],
    ),
    "latin-1 in edges": (
        {"nodes.csv": NODES.replace("\nd,", "\nZoë,"), "edges.csv": EDGES.replace("d,", "Zoë,").encode("latin-1")},
        ["edges.csv, row 4: a character is not in UTF-8; save the file in UTF-8 (in Excel: save as 'CSV UTF-8')."],
    ),
    "utf-16": (
        {"nodes.csv": NODES.encode("utf-16")},
        ["nodes.csv is text in UTF-16; save it in UTF-8 (in Excel: save as 'CSV UTF-8')."],
    ),
    "binary": ({"nodes.csv": bytes(range(256)) * 4}, ["nodes.csv"]),
    "open quotes": (
        {"nodes.csv": NODES.replace("age", '"age') + "f,x,,1\n" * 20_000},
        ["nodes.csv: the quotation marks of its first line do not match"],
    ),
    "ragged": ({"nodes.csv": NODES + "f,x\n"}, ["nodes.csv is not a table, row #7: Expected 4 columns, got 2"]),
    "ragged after blank rows": ({"nodes.csv": NODES + "\r\n\nf,x\n"}, ["row #9: Expected 4 columns, got 2"]),
    "one class": (
        {"nodes.csv": NODES.replace("y", "x")},
        ["nodes.csv, column 'label': all labels are 'x'", "training needs two classes"],
    ),
    "no labels": (
        {"nodes.csv": "id,label,age\na,,1\nb,,2\n", "edges.csv": "source,target\na,b\n"},
        ["nodes.csv, column 'label': no node has a label"],
    ),
    "too few labels": (
        {"nodes.csv": "id,label,age\na,x,1\nb,y,2\n", "edges.csv": "source,target\na,b\n"},
        ["g: every label has one training node only, so none is left for validation", "with --label COLUMN"],
    ),
    "labels that are amounts": (
        {
            "nodes.csv": "id;label;age\n" + "".join(f"n{i};{i // 2 * 9 % 17},{i % 5};{i}\n" for i in range(20)),
            "edges.csv": "source;target\nn0;n1\n",
        },
        [
            "nodes.csv, column 'label': there are 20 different numbers for 20 nodes, but ngcn predicts classes, not ",
            "numbers; divide them into ranges, or use another column of labels with --label COLUMN.",
        ],
    ),
    "nothing to train on": (
        {"nodes.csv": "id,label,split\na,x,val\nb,y,test\n", "edges.csv": "source,target\na,b\n"},
        ["g has no training nodes; label some, or add labelled nodes to the split."],
    ),
    "unknown split": (
        {"nodes.csv": NODES.replace("val", "vla")},
        ["row 4, column 'split': 'vla' is not a split; use train"],
    ),
    "split without label": (
        {"nodes.csv": NODES.replace("e,,,", "e,,test,")},
        ["row 6, column 'split'", "needs a label"],
    ),
    "across graphs": (
        {"nodes.csv": NODES.replace("age", "graph").replace("5", "1")},
        [
            "edges.csv has 3 bad cells: row 2, column 'source': the edge is between the graphs '1' and '2'",
            "remove such",
        ],
    ),
    "missing graph": ({"nodes.csv": NODES.replace("age", "graph").replace(",5", ",")}, ["row 6, column 'graph'"]),
    "feature of no node": (
        {"features.csv": "id,feature\nzz,sun\n"},
        ["features.csv, row 2, column 'id': there is no node"],
    ),
    "feature of no name": ({"features.csv": "id,feature\na,\n"}, ["features.csv, row 2, column 'feature'", "missing"]),
    "feature of text": (
        {"features.csv": "id,feature,value\na,sun,hot\n"},
        ["row 2, column 'value': 'hot' is not a number"],
    ),
    "feature twice": ({"features.csv": "id,feature\na,age\n"}, ["g has the feature 'age' twice"]),
    "cut npz": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**FLAT)[:-40]},
        ["g.npz is damaged, truncated or not"],
    ),
    "no npz": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": b"PK nothing"},
        ["g.npz is damaged, truncated or not an .npz"],
    ),
    "npz that seems encrypted": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": seems_encrypted(npz(**FLAT))},
        ["g/g.npz is damaged: File"],
    ),
    "npz of something": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(a=np.ones(3))},
        ["has neither adj_indptr nor edges", "the guide `Your own graph`"],
    ),
    "npz with a pickle": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**{**FLAT, "node_labels": np.array([Bomb()] * 3)})},
        ["array 'node_labels' of", "could run code when loaded; save it as plain numbers"],
    ),
    "npz that does not fit": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**{**FLAT, "edges": np.array([[0, 9]])})},
        ["The arrays of", "do not fit together"],
    ),
    "npz of no nodes": (
        {
            "edges.csv": None,
            "nodes.csv": None,
            "g.npz": npz(edges=np.zeros((0, 2), int), node_features=np.zeros((0, 2)), node_labels=np.zeros(0, int)),
        },
        ["g.npz", "no nodes"],
    ),
    "npz with infinity": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**{**FLAT, "node_features": np.full((3, 2), np.inf)})},
        ["g.npz", "infinite, the first at node 0, feature 0"],
    ),
    "npz with a negative weight": (
        {
            "edges.csv": None,
            "nodes.csv": None,
            "g.npz": npz(**{**ADJ, "adj_data": [1, -1]}, adj_shape=[3, 3], labels=[0, 1, 0]),
        },
        ["g.npz", "edge from node 1 to node 2 has a negative weight"],
    ),
    "npz without labels": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**ADJ, adj_shape=[3, 3])},
        ["no array 'labels'"],
    ),
    "npz out of range": (
        {"edges.csv": None, "nodes.csv": None, "g.npz": npz(**ADJ, adj_shape=[3, 2], labels=[0, 1, 0])},
        ["do not fit together"],
    ),
    "cut graphml": (
        {"edges.csv": None, "nodes.csv": None, "g.graphml": "<graphml><graph>"},
        ["g.graphml is damaged or truncated"],
    ),
    "graphml of something": (
        {"edges.csv": None, "nodes.csv": None, "g.graphml": "<page/>"},
        ["g.graphml cannot be read by networkx"],
    ),
    "graphml of no nodes": (
        {"edges.csv": None, "nodes.csv": None, "g.graphml": "<graphml><graph edgedefault='directed'/></graphml>"},
        ["g.graphml holds a graph without nodes"],
    ),
    "gexf of something": (
        {"edges.csv": None, "nodes.csv": None, "g.gexf": "<page/>"},
        ["g.gexf cannot be read by networkx"],
    ),
    "pickle in planetoid": (
        {"edges.csv": None, "nodes.csv": None, "ind.g.graph": pickle.dumps(Bomb()), "ind.g.x": pickle.dumps(Bomb())},
        ["which no Planetoid file needs"],
    ),
    "two graphs": (
        {"edges.csv": None, "nodes.csv": None, "a.npz": "", "b.npz": ""},
        ["more than one graph (a.npz, b.npz)"],
    ),
}


def write(folder: Path, files: dict[str, str | bytes | None]) -> None:
    folder.mkdir()
    for name, content in {"nodes.csv": NODES, "edges.csv": EDGES, **files}.items():
        if content is not None:
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("wrong", WRONG)
def test_invalid_files_give_one_sentence(ngcn: Ngcn, wrong: str) -> None:
    files, parts = WRONG[wrong]
    write(Path("g"), files)
    before = sorted(Path.cwd().rglob("*"))
    result = ngcn("train", "g/", "--steps", "1")
    assert result.exit_code == 2, result.output
    *notes, sentence = result.stderr.splitlines()
    said = next((line for line in result.stderr.splitlines() if parts[0] in line), sentence)
    assert [part for part in parts if part not in said] == [], result.stderr
    assert result.stdout == "" and sentence.endswith((".", "?")) and not any("Traceback" in note for note in notes)
    assert sorted(Path.cwd().rglob("*")) == before  # and nothing exploded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent/"], "There is no file or folder "),
        (["absent"], "no dataset 'absent', nor a file or folder of that name"),
        (["corra"], "did you mean cora?"),
        (["g/nodes.csv"], "is a table of nodes; a graph needs a table of edges too, with --edges."),
        (["--nodes", "g/nodes.csv"], "is a table of nodes; a graph needs a table of edges too"),
        (["--nodes", "absent.csv", "--edges", "g/edges.csv"], "absent.csv"),
        (["--nodes", "g/nodes.csv", "--edges", "absent.csv"], "absent.csv cannot be read: No such file"),
        (["g", "--nodes", "g/nodes.csv"], "a graph or --nodes, not both"),
        (["g", "--one-hot", "town"], "no column 'town'"),
        (["g", "--ignore", "agee"], "did you mean 'age'?"),
        (["g", "--one-hot", "label"], "'label' of"),
        (["g", "--label", "kind"], "no column 'kind'"),
        (["g", "--split", "random:9"], "needs 9 training nodes per class, but class x has 2"),
        (["g", "--feature-table", "absent.parquet"], "absent.parquet cannot be read"),
        (["g/readme.txt"], "is not a graph that can be read"),
        (["cora", "--one-hot", "town"], "cora is a dataset of the catalog, which does not take --one-hot"),
        (["g", "--feature-table", "g/readme.txt"], "is not a table that can be read; use .csv, .tsv, .parquet"),
    ],
)
def test_invalid_commands_give_one_sentence(ngcn: Ngcn, arguments: list[str], message: str) -> None:
    write(Path("g"), {"readme.txt": "hello"})
    result = ngcn("train", *arguments)
    assert result.exit_code == 2 and message in result.stderr, result.output
    assert result.stderr.count("\n") == 1 and not Path("runs").exists()


def test_warns_about_doubtful_class_names(ngcn: Ngcn) -> None:
    write(Path("g"), {"nodes.csv": NODES.replace("e,,", "e,NA,train") + "f,x|y,train,1\n"})
    result = ngcn("train", "g", "--model", "gcn", "--steps", "1")
    assert result.exit_code == 0, result.output
    assert "nodes.csv, column 'label': 'NA' is read as a class; leave the cell empty" in result.stderr
    assert "'x|y' is read as one class; --multilabel would read several labels" in result.stderr


def test_warns_about_values_that_do_not_count(ngcn: Ngcn) -> None:
    amounts = "id,feature,value\na,shoes,10\nb,hats,2000\nc,shoes,20\n"
    write(Path("g"), {"features.csv": amounts, "nodes.csv": NODES})
    command = ("train", "g", "--model", "gcn", "--steps", "1", "--ignore", "age", "--out")
    assert "which features a node has, not their values" in ngcn(*command, "a").stderr
    assert "not their values" not in ngcn(*command, "b", "--features", "row").stderr


def test_a_constant_column_is_a_warning(ngcn: Ngcn) -> None:
    write(Path("g"), {"nodes.csv": NODES.replace("age", "age,size").replace("\n", ",7\n").replace("size,7", "size")})
    result = ngcn("train", "g", "--model", "gcn", "--steps", "2")
    assert result.exit_code == 0 and "'size' has the same value for every node" in result.stderr


def test_a_note_is_printed_once(ngcn: Ngcn) -> None:
    write(Path("g"), {"nodes.csv": NODES.replace("age", "")})
    assert ngcn("train", "g/", "--steps", "1").stderr.count("a column without a name") == 1
    found = json.loads(ngcn("inspect", "g/", "--json").stdout)
    assert len([text for text in found["warnings"] if "a column without a name" in text]) == 1


def test_all_problems_are_lines_of_one_message(ngcn: Ngcn) -> None:
    write(Path("g"), {"edges.csv": EDGES + "a,zz\n", "nodes.csv": NODES.replace("train,2", "vla,old")})
    result = ngcn("train", "g/")
    assert result.exit_code == 2 and result.stderr.splitlines()[-4] == "3 problems:"
    unknown, cells, split = result.stderr.splitlines()[-3:]
    assert "no node 'zz'" in unknown and "'old' is not a number" in cells and "'vla' is not a split" in split
    assert json.loads(ngcn("inspect", "g/", "--json").stdout)["problems"] == [unknown[2:], cells[2:], split[2:]]


def test_edges_to_unknown_nodes_can_be_dropped(ngcn: Ngcn) -> None:
    nodes = "id,label,age\n" + "".join(f"{i},{'xy'[i % 2]},{i}\n" for i in range(40))
    edges = "source,target\n" + "".join(f"{i},{i + 3}\n" for i in range(40))
    for folder in ("g", "new"):
        write(Path(folder), {"nodes.csv": nodes, "edges.csv": edges})
    fast = ("--model", "gcn", "--steps", "2", "--out")
    commands = {
        "inspect": ("inspect", "g/"),
        "train": ("train", "g/", *fast, "run"),
        "build": ("build", "g/", "--out", "big"),
        "tune": ("tune", "g/", "--trials", "1", *fast, "tuned"),
    }
    for name, command in commands.items():
        result = ngcn(*command)
        assert result.exit_code == 2 and "drop such edges with --unknown-nodes drop." in result.output, name
        result = ngcn(*command, "--unknown-nodes", "drop")
        assert result.exit_code == 0 and "3 of 40 rows are left out" in " ".join(result.output.split()), name
    assert "--unknown-nodes drop" in ngcn("inspect", "g/", "--unknown-nodes", "drop").stdout.splitlines()[-1]
    for command in (("predict", "run", "new/", "--all", "--out", "all.csv"), ("evaluate", "run", "new/")):
        result = ngcn(*command)
        assert result.exit_code == 0 and "new/edges.csv: 3 of 40 rows are left out" in result.stderr
    ngcn("train", "big/", *fast, "of-big")
    assert ngcn("predict", "of-big", "big/", "--all", "--out", "big.csv").exit_code == 0

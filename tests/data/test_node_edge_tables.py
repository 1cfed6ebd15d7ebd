"""Valid tables: every column, kind of file and option."""

from __future__ import annotations

import gzip
import logging
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from ngcn.data.splits import draw_split, hold_out
from ngcn.data.table_file import read_table
from ngcn.errors import ConfigError, DatasetError
from ngcn.graph import Graph, load_dataset

NODES = """id,label,split,age,height
a,cat,train,1,10
b,dog,train,2,20
c,cat,val,3,30
d,dog,test,4,45.5
e,,,5,60
"""
EDGES = "source,target,weight\na,b,1\nb,c,2.5\nd,e,1\n"


def write(folder: Path, nodes: str = NODES, edges: str = EDGES, features: str | None = None) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in (("nodes", nodes), ("edges", edges), ("features", features)):
        if text is not None:
            (folder / f"{name}.csv").write_text(text)
    return f"{folder}/"


def test_every_column_has_its_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = load_dataset(write(tmp_path / "zoo"))
    assert graph.name == "zoo"
    assert graph.node_ids.tolist() == list("abcde") and graph.class_names == ("cat", "dog")
    assert graph.feature_names == ("age", "height")
    np.testing.assert_array_equal(graph.features, [[1, 10], [2, 20], [3, 30], [4, 45.5], [5, 60]])
    assert graph.labels.tolist() == [0, 1, 0, 1, -1]
    assert [mask.nonzero()[0].tolist() for mask in (graph.train, graph.val, graph.test)] == [[0, 1], [2], [3]]
    expected = np.zeros((5, 5))
    expected[[0, 1, 3], [1, 2, 4]] = 1, 2.5, 1
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    (warning,) = caplog.messages
    assert warning.startswith("1 validation node is few: a score on them has a standard error of up to 50 points")


def test_every_kind_of_file_gives_the_same_graph(tmp_path: Path) -> None:
    want = load_dataset(write(tmp_path / "zoo")).fingerprint()
    for number, kind in enumerate(
        ("tsv", "csv.gz", "tsv.gz", "parquet", "parquet.gz", "semicolons", "bom", "quotes", "dos")
    ):
        folder = tmp_path / str(number) / "zoo"
        folder.mkdir(parents=True)
        for name, text in (("nodes", NODES), ("edges", EDGES)):
            path = folder / f"{name}.{kind}"
            content = text.replace(",", "\t").encode() if "tsv" in kind else text.encode()
            if "parquet" in kind:
                table = pd.read_csv(tmp_path / "zoo" / f"{name}.csv", keep_default_na=False)
                table.to_parquet(path)
                content = path.read_bytes()
            if kind in ("semicolons", "bom", "quotes", "dos"):
                path = folder / f"{name}.csv"
                content = {
                    "semicolons": text.replace(",", ";"),
                    "bom": "\ufeff" + text,
                    "quotes": text.replace("a,", '"a",')
                    .replace("height", " Height ")
                    .replace(" Height ", '" height "'),
                    "dos": text.replace("\n", "\r\n"),
                }[kind].encode()
            path.write_bytes(gzip.compress(content) if kind.endswith(".gz") else content)
        assert load_dataset(f"{folder}/").fingerprint() == want, kind


def test_the_index_of_a_frame_is_no_column(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    want = load_dataset(write(tmp_path / "zoo"))
    frames = {name: pd.read_csv(f"{tmp_path}/zoo/{name}.csv", keep_default_na=False) for name in ("nodes", "edges")}
    for name, frame in frames.items():
        frame.index += 5
        frame.to_csv(f"{tmp_path}/zoo/{name}.csv")
    assert load_dataset(f"{tmp_path}/zoo").fingerprint() == want.fingerprint()
    assert "zoo/nodes.csv: a column without a name ('') is ignored; give it a name to use it." in caplog.text
    assert "zoo/edges.csv: a column" in caplog.text and "only source" not in caplog.text
    read = [pd.read_csv(f"{tmp_path}/zoo/{name}.csv", keep_default_na=False) for name in frames]
    assert Graph.from_pandas(*read).fingerprint() == want.fingerprint() and "the edges: a" in caplog.text
    (tmp_path / "zoo/nodes.csv").unlink()
    frames["nodes"].sample(frac=1, random_state=0).sort_values("id").to_parquet(tmp_path / "zoo/nodes.parquet")
    assert load_dataset(f"{tmp_path}/zoo").fingerprint() == want.fingerprint()
    assert "zoo/nodes.parquet: a column without a name ('__index_level_0__')" in caplog.text
    bare = "id,label,split,,\na,x,train,,\nb,y,train,,\nc,x,val,,\n"  # commas at the end
    graph = load_dataset(write(tmp_path / "g", bare, "source,target\na,b\n", ",id,feature\n0,a,sun\n"))
    assert graph.feature_names == ("sun",)


def test_files_may_have_any_name(tmp_path: Path) -> None:
    write(tmp_path / "zoo")
    (tmp_path / "zoo/nodes.csv").rename(tmp_path / "zoo/animals.csv")
    (tmp_path / "zoo/edges.csv").rename(tmp_path / "zoo/bites.csv")
    graph = load_dataset(str(tmp_path / "zoo/animals.csv"), edges=tmp_path / "zoo/bites.csv")
    assert graph.name == "animals" and graph.edges == 3
    assert (
        Graph.from_tables(tmp_path / "zoo/animals.csv", tmp_path / "zoo/bites.csv").fingerprint() == graph.fingerprint()
    )


@pytest.mark.parametrize(
    ("ids", "kept"),
    [(["3", "1", "-2"], [3, 1, -2]), (["007", "7", "8"], ["007", "7", "8"]), (["x y", "é", "ü|,;"], None)],
)
def test_ids_are_not_changed(tmp_path: Path, ids: list[str], kept: list[object] | None) -> None:
    frame = pd.DataFrame({"id": ids, "label": ["x", "y", "x"], "split": ["train", "train", "val"], "f": [1, 2, 3]})
    (tmp_path / "zoo").mkdir()
    frame.to_csv(tmp_path / "zoo/nodes.csv", index=False)
    pd.DataFrame({"source": ids[:2], "target": ids[1:]}).to_csv(tmp_path / "zoo/edges.csv", index=False)
    graph = load_dataset(f"{tmp_path}/zoo")
    assert graph.node_ids.tolist() == (kept or ids)
    assert graph.adjacency.toarray()[[0, 1], [1, 2]].tolist() == [1, 1]


def test_the_separator_is_that_of_the_first_line_outside_quotes(tmp_path: Path) -> None:
    nodes = '\n"id";label;"a, b, c, d";x\nu;1;2;3\nv;2;2;3\nw;1;2;3\nx;2;2;3\n'
    graph = load_dataset(write(tmp_path, nodes, "source;target\nu;v\n"), ignore=["x"])
    assert graph.feature_names == ("a, b, c, d",) and graph.features[0, 0] == 2


def test_warns_about_imbalance(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for rare, warned in ((2, True), (6, False)):
        caplog.clear()
        rows = "".join(f"n{i},{'sick' if i < rare else 'well'},{i}\n" for i in range(20))
        load_dataset(write(tmp_path, f"id,label,x\n{rows}", "source,target\nn0,n1\n"))
        assert ("90 % of the labels are 'well'; always predicting it has the same accuracy" in caplog.text) == warned


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([f"{i * 1.37:.2f}" for i in range(60)], True),
        (["21.38 €", "7 €", *(f"{i}.5 €" for i in range(58))], True),
        ([f"{i % 9}.5" for i in range(60)], False),  # few different ones, such as marks
        ([f"{i}.0" if i < 40 else "1.0" for i in range(60)], False),  # whole, as pandas writes them
        ([f"v{i}.5" if i < 40 else "v" for i in range(60)], False),
    ],
)
@pytest.mark.parametrize("split", ["given", "random:2"])
def test_labels_that_are_measured_are_no_classes(tmp_path: Path, labels: list[str], told: bool, split: str) -> None:
    rows = "".join(f"{i},{label},{i}\n" for i, label in enumerate(labels))
    path = write(tmp_path / "g", f"id,label,f\n{rows}", "source,target\n0,1\n")
    different = len(set(labels))
    try:
        load_dataset(path, split=split)
    except DatasetError as error:
        assert (f"column 'label': there are {different} different numbers for 60 nodes" in str(error)) == told
    else:
        assert not told


def test_labels_that_are_measured_are_told_with_what_else_is_wrong(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * 1.37:.2f},{'old' if i < 9 else i}\n" for i in range(60))
    with pytest.raises(DatasetError, match=r"(?s)^2 problems:.*'old' is not a number.*60 different numbers"):
        load_dataset(write(tmp_path / "g", f"id,label,f\n{rows}", "source,target\n0,1\n"))


def test_a_process_may_end_as_soon_as_it_has_read(tmp_path: Path) -> None:
    """Threads of Arrow that were just starting aborted one in three of them."""
    (tmp_path / "nodes.csv").write_text(NODES)
    code = "from ngcn.data.table_file import read_table; import torch; read_table('nodes.csv')"
    for _ in range(5):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_one_hot_ignore_and_another_label(tmp_path: Path) -> None:
    nodes = "id,kind,colour,note,age,split\n1,x,red,?,3,train\n2,y,blue,!,4,train\n3,x,,,5,val\n4,y,red,,6,test\n"
    graph = load_dataset(
        write(tmp_path / "g", nodes, "source,target\n1,2\n"), label="kind", one_hot=["colour"], ignore=["note"]
    )
    assert graph.feature_names == ("age", "colour=blue", "colour=red")
    np.testing.assert_array_equal(graph.features, [[3, 0, 1], [4, 1, 0], [5, 0, 0], [6, 0, 1]])


def test_true_and_false_are_numbers(tmp_path: Path) -> None:
    flags = pd.DataFrame({"id": [1, 2, 3], "label": [True, False, True], "rich": [True, True, False]})
    flags["split"] = ["train", "train", "val"]
    folder = write(tmp_path / "g", edges="source,target\n1,2\n")
    flags.to_csv(f"{folder}nodes.csv", index=False)
    graph = load_dataset(folder)
    np.testing.assert_array_equal(graph.features, [[1], [1], [0]])
    assert graph.class_names == ("False", "True") and graph.feature_names == ("rich",)
    flags["rich"] = ["True", "", "false"]
    flags.to_csv(f"{folder}nodes.csv", index=False)
    np.testing.assert_array_equal(load_dataset(folder).features, [[1], [np.nan], [0]])


def test_split_and_graph_can_be_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "g", NODES.replace("split,age", "Split,graph").replace("e,,,5", "e,,,"))
    with pytest.raises(DatasetError, match=r"row 6, column 'graph': the graph is missing; .* `ignore=\['graph'\]`"):
        load_dataset(path)
    graph = load_dataset(path, ignore=["split", "graph"])
    assert graph.feature_names == ("height",) and graph.test.sum() == 0 and "g has no split" in caplog.text
    for needed in ("id", "Label"):
        with pytest.raises(DatasetError, match=f"'{needed.lower()}' of .*nodes.csv is needed; remove `ignore="):
            load_dataset(path, ignore=["graph", needed])


def test_sparse_features_alone_and_beside_columns(tmp_path: Path) -> None:
    bare = "id,label,split\na,x,train\nb,y,train\nc,x,val\n"
    edges = "source,target\na,b\n"
    graph = load_dataset(write(tmp_path / "g", bare, edges, "id,feature,value\na,sun,2\nb,moon,1\na,sun,1\n"))
    assert sp.issparse(graph.features) and graph.feature_names == ("moon", "sun")
    np.testing.assert_array_equal(graph.features.toarray(), [[0, 3], [1, 0], [0, 0]])
    both = bare.replace("split", "split,age").replace("train", "train,7").replace("val", "val,9")
    graph = load_dataset(write(tmp_path / "h", both, edges, "id,feature\na,sun\n"))
    assert graph.feature_names == ("age", "sun")
    np.testing.assert_array_equal(graph.features, [[7, 1], [7, 0], [9, 0]])


def test_wide_tables_of_counts_become_sparse(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(0.1, (60, 40))
    nodes = pd.DataFrame({"id": range(60), "label": np.arange(60) % 2, **{f"w{c}": counts[:, c] for c in range(40)}})
    edges = pd.DataFrame({"source": [0, 1], "target": [2, 3]})
    graph = Graph.from_pandas(nodes, edges)
    assert sp.issparse(graph.features)
    np.testing.assert_array_equal(graph.features.toarray(), counts)
    assert not sp.issparse(Graph.from_pandas(nodes.assign(age=50), edges).features)  # not a word


def test_multilabel(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nodes = "id,label,split,x\n1,b|a,train,1\n2,c,train,2\n3,|,train,3\n4,a,val,4\n5,,,5\n"
    graph = load_dataset(write(tmp_path / "g", nodes, "source,target\n1,2\n"), multilabel=True)
    assert graph.class_names == ("a", "b", "c") and graph.multilabel
    assert graph.labels.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert graph.train.tolist() == [True, True, True, False, False]
    assert "differ only" not in caplog.text
    load_dataset(write(tmp_path / "g", nodes.replace("2,c", "2,A|c"), "source,target\n1,2\n"), multilabel=True)
    assert "'A' (1 node) and 'a' (2 nodes) differ only in upper and lower case" in caplog.text


def test_an_edge_listed_twice_is_one_unless_it_has_weights(tmp_path: Path) -> None:
    twice = "source,target\na,b\na,b\nb,a\n"
    assert load_dataset(write(tmp_path / "g", NODES, twice)).adjacency.max() == 1
    weights = "source,target,weight\na,b,1\na,b,2\n"
    assert load_dataset(write(tmp_path / "h", NODES, weights)).adjacency.max() == 3


def test_missing_features_and_splits_are_made_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = "".join(f"n{i},{'xy'[i % 2]}\n" if i < 20 else f"n{i},\n" for i in range(30))
    path = write(tmp_path / "g", "id,label\n" + rows, "source,target,kind\nn0,n1,a\n")
    graph = load_dataset(path, seed=1)
    assert sp.issparse(graph.features) and (graph.features.toarray() == np.eye(30)).all()
    assert "g has no features: every node is a feature of its own." in caplog.text
    assert (
        "g has no split: 10 training, 6 validation and 4 test nodes; half of each class drawn with seed 1"
        in caplog.text
    )
    assert "only source, target and weight of an edge are used, not kind" in caplog.text
    for mask, per_class in ((graph.train, 5), (graph.val, 3), (graph.test, 2)):
        assert np.bincount(graph.labels[mask]).tolist() == [per_class] * 2
    assert load_dataset(path, seed=1).fingerprint() == graph.fingerprint() != load_dataset(path, seed=2).fingerprint()
    caplog.clear()
    few = load_dataset(path, split="random:2", seed=1)
    assert few.train.sum() == 4 and few.val.sum() + few.test.sum() == 16
    assert "g, split random:2: 4 training, 5 validation and 11 test nodes." in caplog.text
    assert "5 validation nodes are few: a score on them has a standard error of up to 22 points" in caplog.text


def test_a_split_without_validation_takes_some_of_training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = "".join(f"n{i},{'xy'[i % 2]},{'train' if i < 16 else 'test'},{i}\n" for i in range(20))
    graph = load_dataset(write(tmp_path / "g", "id,label,split,f\n" + rows, "source,target\nn0,n1\n"))
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (12, 4, 4)
    assert (
        "4 training nodes, drawn with seed 0, are used for validation" in caplog.text
        and "4 validation nodes are few" in caplog.text
    )


def test_several_graphs_are_split_as_wholes(tmp_path: Path) -> None:
    rows = [f"{g}{i},{'xy'[i % 2]},{g},{i}" for g in "PQRSTUVW" for i in range(4)]
    edges = "source,target\n" + "".join(f"{g}0,{g}1\n" for g in "PQRSTUVW")
    graph = load_dataset(write(tmp_path / "g", "\n".join(["id,label,graph,f", *rows]) + "\n", edges))
    where = [{node[0] for node in graph.node_ids[mask]} for mask in (graph.train, graph.val, graph.test)]
    assert [len(graphs) for graphs in where] == [4, 2, 2] and len(set.union(*where)) == 8


@pytest.mark.parametrize(("first", "step", "told"), [(1.7e9, 1, True), (1.7e9, 3600, False), (0.3, 1e-17, False)])
def test_numbers_that_single_precision_cannot_tell_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, first: float, step: float, told: bool
) -> None:
    rows = [f"{i},{'xy'[i % 2]},{first + i * step!r},{i}" for i in range(20)]
    load_dataset(write(tmp_path / "g", "\n".join(["id,label,when,f", *rows]) + "\n", "source,target\n1,2\n"))
    assert ("column 'when': single precision cannot tell such large numbers apart" in caplog.text) == told
    assert ("subtract 1700000000 from each" in caplog.text) == told


def test_a_slash_makes_a_path_of_a_dataset_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cora"), write(tmp_path / "zoo")
    assert load_dataset("cora").nodes == 2708 and load_dataset("cora/").nodes == load_dataset("./cora").nodes == 5
    assert load_dataset("zoo").nodes == 5


@pytest.mark.parametrize("marked", ["train", ""])
def test_a_draw_leaves_a_node_of_every_label_in_training(tmp_path: Path, marked: str) -> None:
    rows = [f"n{i},{'rare' if i == 5 else 'ab'[i % 2]},{marked},{i}" for i in range(16)]
    path = write(tmp_path / "g", "\n".join(["id,label,split,f", *rows]) + "\n", "source,target\nn0,n1\n")
    everybody = np.ones(16, bool)
    for seed in range(8):
        graph = load_dataset(path, multilabel=True, seed=seed)
        drawn = hold_out(everybody, np.ones((16, 1)), seed)[1] if marked else draw_split(everybody, None, seed)[1]
        assert graph.train[5] and set(np.flatnonzero(graph.val != drawn)) <= {5}  # nothing else moves


def test_warnings_can_be_turned_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(
        tmp_path / "g",
        NODES.replace(",10\n", ",20\n").replace("30\n", "20\n").replace("45.5", "20").replace("60", "20"),
    )
    with caplog.at_level(logging.ERROR, "ngcn.data"):
        load_dataset(path)
    assert caplog.text == ""
    load_dataset(path)
    assert "g: 'height' has the same value for every node, so it is uninformative" in caplog.text
    load_dataset(write(tmp_path / "g", re.sub(r"[0-9.]+,[0-9.]+(?=\n)", "1,2", NODES)))
    assert "g: 'age', 'height' have the same value for every node, so they are uninformative" in caplog.text


@pytest.mark.parametrize("names", [("src", "dst"), ("from", "to"), ("ID_1", "ID_2"), ("citing", "cited")])
def test_columns_of_ids_of_other_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: tuple[str, str]
) -> None:
    want = load_dataset(write(tmp_path / "zoo"))
    edges = EDGES.replace("source,target", ",".join(names))
    path = write(tmp_path / "zoo", NODES.replace("id,", "node_id,"), edges, "node_id,feature\na,sun\n")
    how = {"source": names[0], "target": names[1]} if names[0] == "citing" else {}
    graph = load_dataset(path, **how)
    np.testing.assert_array_equal(graph.adjacency.toarray(), want.adjacency.toarray())
    assert graph.feature_names == ("age", "height", "sun")
    told = f"edges are from {names[0]!r} to {names[1]!r}; `source` and `target` name others." in caplog.text
    assert told == (not how) and "only source" not in caplog.text
    path = write(tmp_path / "zoo", NODES.replace("id,", "who,"), edges)
    assert load_dataset(path, id="who", **how).node_ids.tolist() == list("abcde")
    with pytest.raises(DatasetError, match=r"nodes\.csv has no column 'id'; .* use another column with `id='COLUMN'`"):
        load_dataset(path, **how)
    with pytest.raises(DatasetError, match=r"edges\.csv has no column 'start'; .* use one of these for `source`"):
        load_dataset(path, id="who", source="start")


def test_a_repeated_feature_is_added_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "zoo", features="id,feature\na,sun\na,moon\na,sun\nb,sun\n")
    assert load_dataset(path).features[:2, 2:].tolist() == [[1, 2], [0, 1]]
    assert "features.csv: 1 row repeats a feature of a node; the values are added." in caplog.text


def test_weights_with_decimal_commas(tmp_path: Path) -> None:
    nodes = NODES.replace(",", ";")
    graph = load_dataset(write(tmp_path / "zoo", nodes, "source;target;weight\na;b;2,5\nb;c;1\nd;e;1.000,5\n"))
    assert graph.adjacency.data.tolist() == [2.5, 1, 1000.5]


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Of all three files, and of all rows of each."""
    nodes = (
        "id,label,split,age,height\na,cat,train,old,10\na,dog,train,new,20\n,cat,vla,3,30\nd,dog,test,4,45.5\ne,,,5,1\n"
    )
    edges = "source,target,weight\na,b,1\nb,,-2\nd,f,0\nd,a,x\n"
    features = "id,what\nq,sun\na,moon\n"
    with pytest.raises(DatasetError, match="8 problems:") as raised:
        load_dataset(write(tmp_path / "zoo", nodes, edges, features))
    for text in (
        r"nodes\.csv, row 4, column 'id': a node id is missing",
        r"nodes\.csv, row 3, column 'id': the id 'a' is in row 2 already",
        r"edges\.csv has 4 bad cells: row 2, column 'target': there is no node 'b' .*row 3, column 'target': a node",
        r"edges\.csv, row 5, column 'weight': 'x' is not a number",
        r"nodes\.csv has 2 bad cells: row 2, column 'age': 'old' .*; row 3, column 'age': 'new'",
        r"features\.csv, row 2, column 'id': there is no node 'q'",
        r"features\.csv has no column 'feature'",
        r"nodes\.csv, row 4, column 'split': 'vla' is not a split",
    ):
        assert re.search(text, str(raised.value)), text
    path = write(tmp_path / "zoo", nodes.replace("id,", ",").replace("age", "graph"), edges, None)
    with pytest.raises(DatasetError) as raised:
        load_dataset(path, one_hot=["size", "colour"])
    for text in ("no column 'id'", "'target': a node id is missing", "'size'", "'colour'", "'vla' is not a split"):
        assert text in str(raised.value), text
    (tmp_path / "zoo" / "edges.csv").unlink()
    with pytest.raises(DatasetError, match=r"(?s)edges\.csv cannot be read.*no column 'id'"):
        load_dataset(path)


def test_ids_that_lost_their_leading_zeros(tmp_path: Path) -> None:
    nodes = "id,label,age\n" + "".join(f"{i:04},{'xy'[i % 2]},{i}\n" for i in range(20))
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 20}\n" for i in range(20))
    padded = "source,target\n" + "".join(f"{i:04},{(i + 1) % 20:04}\n" for i in range(20))
    assert load_dataset(write(tmp_path / "zoo", nodes, padded)).edges == 20
    for given, lost, there, here in (
        ((nodes, edges), "edges", "0000", "0"),
        ((re.sub("(?m)^0+(?=[0-9])", "", nodes), padded), "nodes", "0", "0000"),
    ):
        with pytest.raises(DatasetError) as raised:
            load_dataset(write(tmp_path / "zoo", *given))
        text = str(raised.value).replace(f"{tmp_path}/zoo/", "")
        looks = f"ids look like '{there}' there, and like '{here}' here"
        remedy = f"{lost}.csv lost the leading zeros; in pandas, read ids with dtype=str."
        assert text == f"edges.csv: all 20 rows have ids that are not in nodes.csv; {looks}: {remedy}"
    table = pd.read_csv(tmp_path / "zoo" / "nodes.csv").assign(id=[f"{i:04}" for i in range(20)])
    with pytest.raises(DatasetError, match="the edges lost the leading zeros"):
        Graph.from_pandas(table, pd.DataFrame({"source": range(19), "target": range(1, 20)}))


def test_unknown_ids(tmp_path: Path) -> None:
    nodes = "id,label,age\n" + "".join(f"n{i},{'xy'[i % 2]},{i}\n" for i in range(20))
    edges = "source,target\n" + "".join(f"{i} n,{(i + 1) % 20} n\n" for i in range(20))
    for more, rows in (("", "all 20 rows"), ("n1,n2\n", "20 of 21 rows")):
        looks = "ids look like 'n0' there, and like '0 n' here: write them alike, or use another column with `id="
        with pytest.raises(DatasetError, match=rf"edges\.csv: {rows} have ids that are not in .*nodes\.csv; {looks}"):
            load_dataset(write(tmp_path / "zoo", nodes, edges + more))
    some = "source,target\n" + "".join(f"n{i},{'uv'[i % 2]}\n" for i in range(9)) + "n1,\n"
    remedy = (
        "2 different ids are unknown: add them there, remove the rows, or drop such edges with `unknown_nodes='drop'`"
    )
    with pytest.raises(DatasetError, match=rf"edges\.csv has 10 bad cells: .*; and 5 more; {remedy}\.$"):
        load_dataset(write(tmp_path / "zoo", nodes, some))
    with pytest.raises(DatasetError, match=r"features\.csv: all 6 rows have ids that are not in .*like '5' here"):
        load_dataset(write(tmp_path / "zoo", nodes, "source,target\n", "id,feature\n" + "5,sun\n" * 6))
    with pytest.raises(DatasetError, match=r"a node id is missing; fill it in or remove the row\.$"):
        load_dataset(write(tmp_path / "zoo", nodes, "source,target\nn1,\n", "id,feature\nn1,sun\n"))


def test_columns_of_edges_that_are_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    amounts = "source,target,kind,amount,gone\na,b,x,2.5 €,\nb,c,y,7 €,n/a\n"
    load_dataset(write(tmp_path / "zoo", edges=amounts))
    used = "edges.csv: only source, target and weight of an edge are used, not kind, amount, gone"
    assert f"{used}; rename a column of numbers to 'weight' to use it as the weight." in caplog.text
    caplog.clear()
    load_dataset(write(tmp_path / "zoo", edges=re.sub(",[0-9.]+ €", ",z", amounts)))
    assert f"{used}." in caplog.text
    nodes = pd.DataFrame({"id": list("abcd"), "label": list("xyxy"), "f": range(4)})
    caplog.clear()
    load_dataset(write(tmp_path / "zoo", edges="source,target,weight,year\na,b,1,2000\n"))
    assert "are used, not year." in caplog.text
    for typed, told in (([1, 2], True), ([True, False], False), (pd.to_datetime(["2020", "2021"]), False)):
        caplog.clear()
        Graph.from_pandas(nodes, pd.DataFrame({"source": ["a", "b"], "target": ["c", "d"], "more": typed}))
        assert ("not more; rename a column of numbers" in caplog.text) == told


@pytest.mark.parametrize(("weight", "shown"), [(3050, "3,050"), (0.00123, "0.00123"), (99.99, "100"), (12.34, "12.3")])
def test_the_mean_weight(tmp_path: Path, caplog: pytest.LogCaptureFixture, weight: float, shown: str) -> None:
    load_dataset(write(tmp_path / "zoo", edges=f"source,target,weight\na,b,{weight}\n"))
    assert f"edges.csv: the mean weight is {shown}, but self-loops have weight 1" in caplog.text


def test_repeated_edges_and_self_loops_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_dataset(write(tmp_path / "zoo", edges=EDGES))
    assert "repeat" not in caplog.text and "itself" not in caplog.text
    load_dataset(write(tmp_path / "zoo", edges=EDGES + "a,b,1\na,b,3\nc,c,1\n"))
    loop = "1 row is an edge from a node to itself, and not used: models add their own."
    assert f"edges.csv: 2 rows repeat an edge: their weights are added; {loop}" in caplog.text
    caplog.clear()
    load_dataset(write(tmp_path / "zoo", edges="source,target\na,b\nb,a\na,b\n"))
    assert "edges.csv: 1 row repeats an edge: each edge counts once." in caplog.text


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("blank", ["", '""', "short", "long", "blank"])
def test_rows_of_empty_cells_are_skipped(tmp_path: Path, separator: str, blank: str) -> None:
    ending, cells = "tsv" if separator == "\t" else "csv", {"short": ["", " "], "long": [""] * 9, "blank": ["  "]}

    def spread(table: str) -> str:
        """The table with such rows after the first and the second line, and at the end."""
        names, *rows = table.replace(",", separator).splitlines(keepends=True)
        row = separator.join(cells.get(blank, [blank] * len(names.split(separator)))) + "\n"
        return "".join([names, row, rows[0], row, "\n", row, *rows[1:], row, row])

    tables = {"nodes": NODES, "edges": EDGES, "features": "id,feature,value\na,sun,1\nb,rain,2\n"}
    want = load_dataset(write(tmp_path / "zoo", **tables)).fingerprint()
    folder = tmp_path / "other" / "zoo"
    folder.mkdir(parents=True)
    for name, table in tables.items():
        (folder / f"{name}.{ending}").write_text(spread(table))
    assert load_dataset(f"{folder}/").fingerprint() == want
    (folder / f"edges.{ending}").write_text(spread(EDGES.replace("d,e", "d,z")))
    with pytest.raises(DatasetError, match=rf"edges\.{ending}, row 8, column 'target': there is no node 'z'"):
        load_dataset(f"{folder}/")
    (folder / f"edges.{ending}").write_text(spread(EDGES + "d\n"))
    with pytest.raises(DatasetError, match=r"row #9: Expected 3 columns, got 1"):
        load_dataset(f"{folder}/")


def test_a_row_without_an_id_is_no_empty_row(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nodes\.csv, row 9, column 'id': a node id is missing"):
        load_dataset(write(tmp_path / "zoo", NODES + ",,,,\n,,,,\n,,,,6\n"))
    (tmp_path / "one.csv").write_text('id\na\n\n""\n')
    table = read_table(tmp_path / "one.csv")
    assert len(table) == 2 and table.row_number(1) == 4


@pytest.mark.parametrize("form", ["{}", "n{}", "Node-{:05}"])
def test_ids_of_more_nodes_than_the_table_has(tmp_path: Path, form: str) -> None:
    ids = list(map(form.format, range(2000)))
    nodes = "id,label,age\n" + "".join(f"{ids[7 * i]},{'xy'[i % 2]},{i}\n" for i in range(60))
    edges = "source,target\n" + "".join(f"{ids[i]},{ids[i - 1]}\n" for i in range(2000))
    told = r"edges\.csv: all 2,000 rows have ids that are not in .*nodes\.csv, which has 60 of the 2,000 ids here; "
    remedy = "add a row for each node, its label empty if it is unknown"
    with pytest.raises(DatasetError, match=rf"{told}{remedy}, or drop such edges with `unknown_nodes='drop'`\.$"):
        load_dataset(write(tmp_path / "zoo", nodes, edges))
    features = "id,feature\n" + "".join(f"{id},sun\n" for id in ids)
    with pytest.raises(DatasetError, match=rf"features\.csv: 1,940 of 2,000 rows .*; {remedy}\.$"):
        load_dataset(write(tmp_path / "zoo", nodes, "source,target\n", features))
    other = "source,target\n" + "".join(f"<{i}>,<{i + 1}>\n" for i in range(2000)) + f"{ids[0]},{ids[7]}\n"
    with pytest.raises(DatasetError, match=r"2,000 of 2,001 rows have .*; ids look like .* and like '<0>' here"):
        load_dataset(write(tmp_path / "zoo", nodes, other))


def test_edges_to_unknown_nodes_can_be_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    want = load_dataset(write(tmp_path / "zoo")).fingerprint()
    more = EDGES.replace("d,e", "z,a,-1\ny,z,1\nd,e") + "a,z,1\n"
    folder = write(tmp_path / "zoo", edges=more)
    with pytest.raises(DatasetError, match="4 bad cells: row 4, column 'source': there is no node 'z'"):
        load_dataset(folder)
    caplog.clear()
    graph = load_dataset(folder, unknown_nodes="drop")
    assert graph.fingerprint() == want and graph.read_with == {"unknown_nodes": "drop"}
    (told,) = (text for text in caplog.messages if "edges" in text)
    assert told.endswith(
        "edges.csv: 3 of 6 rows are left out: their ids are not in " + f"{folder}nodes.csv, first 'z', 'y'."
    )
    frames = (pd.read_csv(f"{folder}{name}.csv") for name in ("nodes", "edges"))
    assert Graph.from_pandas(*frames, unknown_nodes="drop", name="zoo").adjacency.nnz == 3
    with pytest.raises(DatasetError, match=r"row 8, column 'target': a node id is missing"):
        load_dataset(write(tmp_path / "zoo", edges=more + "a,,1\n"), unknown_nodes="drop")
    with pytest.raises(DatasetError, match=r"row 8, column 'weight': the weight -1 is not above 0"):
        load_dataset(write(tmp_path / "zoo", edges=more + "a,b,-1\n"), unknown_nodes="drop")
    with pytest.raises(DatasetError, match=r"row 2, column 'source': there is no node 'z' .* or remove the row\.$"):
        load_dataset(write(tmp_path / "zoo", edges="source,target\nz,a\n"), unknown_nodes="drop")
    with pytest.raises(DatasetError, match=r"row 3, column 'id': there is no node 'z'"):
        load_dataset(write(tmp_path / "zoo", features="id,feature\na,sun\nz,sun\n"), unknown_nodes="drop")
    with pytest.raises(ConfigError, match="unknown_nodes must be one of error, drop, not 'skip'"):
        load_dataset(write(tmp_path / "zoo"), unknown_nodes="skip")


def test_an_edge_between_graphs_is_named_whatever_is_dropped(tmp_path: Path) -> None:
    nodes, edges = NODES.replace("age", "graph").replace(",5,", ",4,"), "source,target\nz,a\nz,z\n\nd,e\na,b\n"
    with pytest.raises(DatasetError, match="row 6, column 'source': the edge is between the graphs '1' and '2'"):
        load_dataset(write(tmp_path / "zoo", nodes, edges), unknown_nodes="drop")


def test_a_signalling_nan_is_a_bad_cell_without_a_warning(tmp_path: Path) -> None:
    folder = write(tmp_path / "zoo")
    odd = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    edges = {"source": ["a", "b"], "target": ["b", "c"], "weight": np.r_[1.0, odd]}
    pq.write_table(pa.table(edges), tmp_path / "zoo/edges.parquet")
    (tmp_path / "zoo/edges.csv").unlink()
    with pytest.raises(DatasetError, match="row 2, column 'weight': nan is not a finite number"):
        load_dataset(folder)

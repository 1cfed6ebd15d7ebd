"""`ngcn build` on small graphs: the same as the reader of small tables, on the same files."""

import errno
import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ngcn import Config, build, load_dataset
from ngcn.data import large_table
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError, DatasetError
from ngcn.graph import _features, store_graph
from ngcn.large.building import buckets, cache, features, work
from ngcn.runs import load_graph


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """So small that even these tables are read in several chunks, and edges sorted in several buckets."""
    monkeypatch.setattr(large_table, "CELLS", 3000)
    monkeypatch.setattr(large_table, "BLOCK", 2000)
    monkeypatch.setattr(buckets, "BUCKET", 1000)


def tables(nodes=300, edges=3000, *, weighted=False, ids=None, seed=0):
    """Edges with repetitions in both directions, self-loops and isolated nodes; features of several kinds."""
    random = np.random.default_rng(seed)
    ids = np.arange(nodes) if ids is None else ids(np.arange(nodes))
    ends = random.integers(nodes - 5, size=(2, edges)) // np.array([[1], [3]])
    ends[1, :3] = ends[0, :3]
    ends[:, 10:20] = ends[:, 20:30]
    ends[:, 30:40] = ends[::-1, 40:50]
    edge_table = pd.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})
    if weighted:
        edge_table["weight"] = random.uniform(0.5, 2, edges).round(3)
    label = pd.Series(random.choice(["10", "9", "x"], nodes))
    split = pd.Series(random.choice(["train", "val", "test", None], nodes))
    label[split.isna() & (random.random(nodes) < 0.7)] = None
    node_table = pd.DataFrame({"id": ids, "label": label, "split": split})
    node_table["age"] = random.normal(size=nodes).round(4)
    node_table.loc[3, "age"] = np.nan
    node_table["member"] = random.choice(["yes", "no"], nodes)
    node_table["town"] = random.choice(["Rome", "Oslo", "Bern"], nodes)
    return node_table, edge_table


def write(folder: Path, node_table, edge_table, ending: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, table in (("nodes", node_table), ("edges", edge_table)):
        path = folder / f"{name}.{ending}"
        if ending == "parquet":
            table.to_parquet(path, row_group_size=700)
        else:
            table.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    return folder


def same(built, folder: Path, scratch: Path, **how) -> None:
    """Compare with what the reader of small tables makes of the same files."""
    expected = store_graph(load_dataset(folder, **how), scratch)
    for path in sorted(scratch.glob("*.npy")):
        if path.stem == "split" or "features" in path.stem:
            continue
        there = np.load(built.folder / path.name)
        if path.stem in ("weights", "degrees"):
            np.testing.assert_allclose(there, np.load(path), rtol=1e-6)
        else:
            np.testing.assert_array_equal(there, np.load(path))
    there, dense = (X.toarray() if sp.issparse(X) else X for X in (built.features, expected.features))
    np.testing.assert_allclose(there, dense, rtol=1e-5, atol=1e-6)
    assert (built.edges, built.weighted, built.multilabel) == (expected.edges, expected.weighted, expected.multilabel)
    assert list(built.columns) == list(expected.columns)
    assert (built.class_names, built.feature_names) == (expected.class_names, expected.feature_names)


IDS = {
    "numbers": None,
    "in another order": lambda i: i[::-1].copy(),
    "far apart": lambda i: i * 10**15 - 7,
    "text": lambda i: np.array([f"nœud {j * 7919 % 1000}" for j in i], object),
    "numbers, then text": lambda i: np.array([str(j) if j < 290 else f"0{j}" for j in i], object),
}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_it_is_the_graph_of_the_reader_in_memory(ids, ending, tmp_path):
    weighted = ending == "parquet"
    folder = write(tmp_path / "tables", *tables(ids=IDS[ids], weighted=weighted), ending)
    built = build(folder, out=tmp_path / "graph")
    same(built, folder, tmp_path / "expected")
    whole = load_dataset(folder)
    for split in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(built, split), getattr(whole, split))
    assert not (tmp_path / "graph/.build").exists()


def test_a_bucket_that_is_too_large_is_sorted_in_parts(tmp_path, monkeypatch):
    folder = write(tmp_path / "tables", *tables(weighted=True), "csv")
    monkeypatch.setattr(buckets, "BUCKET", 10**6)
    monkeypatch.setattr(buckets, "LEAST", 500)
    monkeypatch.setattr(buckets, "CHUNK", 999)
    same(build(folder, out=tmp_path / "graph", memory=1000), folder, tmp_path / "expected")


def test_features_in_files(tmp_path):
    """A dense matrix goes beside the columns of nodes, a sparse one in their place."""
    nodes, edges = tables()
    random = np.random.default_rng(1)
    folder = write(tmp_path / "tables", nodes, edges, "csv")
    X = random.normal(size=(300, 4))
    np.save(folder / "features.npy", X)
    built = build(folder, out=tmp_path / "dense", half=True)
    assert built.feature_names == ("age", "member", "town=Bern", "town=Oslo", "town=Rome", "0", "1", "2", "3")
    assert built.features.dtype == np.float16
    np.testing.assert_array_equal(built.features[:, 5:], X.astype(np.float16))

    folder = write(tmp_path / "labels", nodes[["id", "label"]], edges, "csv")
    words = sp.random_array((300, 50), density=0.1, rng=random, format="csr")
    words.indices[:3] = words.indices[:3][::-1].copy()  # not sorted
    sp.save_npz(tmp_path / "words.npz", words)
    built = build(folder / "edges.csv", folder / "nodes.csv", features=tmp_path / "words.npz", out=tmp_path / "sparse")
    np.testing.assert_array_equal(built.features.toarray(), words.toarray().astype(np.float32))
    for path, message in ((tmp_path / "few.npy", "has 299 rows"), (folder / "nodes.csv", "no matrix")):
        np.save(tmp_path / "few.npy", X[:299])
        with pytest.raises(DatasetError, match=message):
            build(folder / "edges.csv", folder / "nodes.csv", features=path, out=tmp_path / path.stem)


def test_a_table_of_features(tmp_path):
    nodes, edges = tables(ids=IDS["text"])
    random = np.random.default_rng(1)
    words = pd.DataFrame({"id": random.choice(nodes["id"], 2000), "feature": random.integers(40, size=2000)})
    words["value"] = random.uniform(size=2000).round(3)
    folder = write(tmp_path / "tables", nodes[["id", "label"]], edges, "csv")
    words.to_csv(folder / "features.csv", index=False)
    built = build(folder, out=tmp_path / "graph")
    same(built, folder, tmp_path / "expected")
    assert built.node_columns == 0


def test_without_features_structure_is_used(tmp_path, monkeypatch):
    nodes, edges = tables(weighted=True)
    folder = write(tmp_path / "tables", nodes[["id", "label"]], edges[edges["source"] != edges["target"]], "csv")
    same(build(folder, out=tmp_path / "identity"), folder, tmp_path / "a")
    monkeypatch.setattr(_features, "IDENTITY_NODES", 100)
    monkeypatch.setattr(features, "IDENTITY_NODES", 100)
    same(build(folder, out=tmp_path / "structure"), folder, tmp_path / "b")


def test_several_labels_part_files_and_other_columns(tmp_path):
    nodes, edges = tables()
    nodes["label"] = [f"{i % 3} | b{i % 5}" if i % 4 else None for i in range(300)]
    nodes.loc[4, "label"] = "|"
    nodes = nodes.rename(columns={"id": "key", "label": "kinds"}).drop(columns=["split", "age"])
    how = {"id": "key", "label": "kinds", "multilabel": True, "ignore": ["town"], "source": "from", "target": "to"}
    edges = edges.rename(columns={"source": "from", "target": "to"})
    whole = write(tmp_path / "tables", nodes, edges, "tsv.gz")
    (tmp_path / "edges").mkdir()
    for part in range(3):
        edges[part::3].to_parquet(tmp_path / "edges" / f"part-{part}.parquet")
    built = build(tmp_path / "edges", whole / "nodes.tsv.gz", out=tmp_path / "graph", **how)
    same(built, whole, tmp_path / "expected", **how)
    np.save(tmp_path / "pairs.npy", edges.to_numpy().T)
    how |= {"source": None, "target": None}
    again = build(tmp_path / "pairs.npy", whole / "nodes.tsv.gz", out=tmp_path / "again", **how)
    np.testing.assert_array_equal(again.adjacency.indices, built.adjacency.indices)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_graphs_without_edges_or_labels(ending, tmp_path, caplog):
    nodes, edges = tables()
    folder = write(tmp_path / "tables", nodes.drop(columns=["label", "split"]), edges[:0], ending)
    built = build(folder, out=tmp_path / "graph", multilabel=True)
    assert built.edges == 0 and built.classes == 0 and built.unlabelled.all() and not built.degrees.any()
    assert "has no edges" in caplog.text and "no node is labelled" in caplog.text
    write(folder, nodes[:0], edges, ending)
    with pytest.raises(DatasetError, match="has no rows"):
        build(folder, out=tmp_path / "other")


BAD = [  # table, column, row in the file, cell, message
    ("edges", "target", 2500, 999, "there is no node '999'"),
    ("edges", "source", 2501, None, "a node id is missing"),
    ("edges", "weight", 7, -1, "is not above 0"),
    ("nodes", "id", 299, 7, "the id '7' is in row 9"),
    ("nodes", "split", 200, "training", "'training' is not a split"),
]


@pytest.mark.parametrize(("name", "column", "row", "cell", "message"), BAD, ids=[column for _, column, *_ in BAD])
def test_a_bad_row_is_named(name, column, row, cell, message, tmp_path):
    both = dict(zip(("nodes", "edges"), tables(weighted=True), strict=True))
    both[name][column] = both[name][column].astype(object)
    both[name].loc[row - 2, column] = cell
    folder = write(tmp_path / "tables", both["nodes"], both["edges"], "csv")
    with pytest.raises(DatasetError, match=rf"{name}\.csv, row {row}, .*{message}"):
        build(folder, out=tmp_path / "graph")


def test_an_odd_cell_is_missing_and_named_and_repeated_edges_are_counted(tmp_path, caplog):
    nodes, edges = tables()
    nodes["age"] = nodes["age"].astype(object)
    nodes.loc[248, "age"] = "old"
    built = build(write(tmp_path / "tables", nodes, edges, "csv"), out=tmp_path / "graph")
    assert np.isnan(built.features[248, 0]) and not np.isnan(built.features[247, 0])
    assert "nodes.csv, column 'age': 1 cell cannot be read as a number and is filled like a missing" in caplog.text
    assert "'old' (row 250)" in caplog.text
    assert f"edges.csv: {3000 - built.edges:,} of 3,000 rows repeat an edge, in either direction" in caplog.text


def test_what_took_long_is_kept_after_a_bad_row(tmp_path, monkeypatch):
    nodes, edges = tables()
    folder = write(tmp_path / "tables", nodes, pd.concat([edges, edges + 300]), "csv")
    stages = []

    def attempt():
        stages.clear()
        return build(folder, out=tmp_path / "graph", on_progress=lambda stage, *rows: stages.append(stage))

    with pytest.raises(DatasetError, match="row 3002, "):
        attempt()
    assert not (tmp_path / "graph").exists()
    monkeypatch.setattr(work, "WORTH", 0)
    for _ in range(2):
        with pytest.raises(DatasetError, match="row 3002, "):
            attempt()
    edges.to_csv(folder / "edges.csv", index=False)
    built = attempt()
    assert "Reading nodes" not in stages and "Reading edges" in stages
    same(built, folder, tmp_path / "expected")


def test_a_row_with_too_many_cells_is_named_whatever_is_before_it(tmp_path):
    folder = write(tmp_path / "tables", *tables(), "csv")
    with (folder / "edges.csv").open("a") as file:
        file.write('\n\n0,"1"\n1,2,3\n')
    with pytest.raises(DatasetError, match=r"edges\.csv is not a table, row #3005: Expected 2 columns, got 3"):
        build(folder, out=tmp_path / "graph")
    with gzip.open(folder / "edges.csv.gz", "wt") as file:
        file.write("source,target\n" + "1,2\n" * 3000 + "\n1,two\n")
    with pytest.raises(DatasetError, match=r"edges\.csv\.gz, row 3003, column 'target': there is no node 'two'"):
        build(folder / "edges.csv.gz", folder / "nodes.csv", out=tmp_path / "graph")
    (folder / "latin.csv").write_bytes("source,target\n1,2\n\n1,Zoë\n".encode("latin-1"))
    with pytest.raises(DatasetError, match=r"latin\.csv, row 4: a character is not in UTF-8; .*save as 'CSV UTF-8'"):
        build(folder / "latin.csv", folder / "nodes.csv", out=tmp_path / "graph")
    (folder / "edges.parquet").write_bytes(b"PAR1 not really")
    for name, message in (("edges.parquet", "truncated or damaged"), ("none.csv", "cannot be read: No such file")):
        with pytest.raises(DatasetError, match=f"{name} .*{message}"):
            build(folder / name, folder / "nodes.csv", out=tmp_path / "graph")


class _Stop(Exception):  # noqa: N818
    """Stands for the end of the process: nothing cleans up after it."""


@pytest.mark.parametrize("weighted", [False, True])
def test_a_build_that_was_stopped_anywhere_continues(weighted, tmp_path, monkeypatch):
    folder = write(tmp_path / "tables", *tables(weighted=weighted), "parquet")
    expected = build(folder, out=tmp_path / "expected")
    monkeypatch.setattr(buckets, "SECONDS", -1)  # note what is done after each piece
    stops, stages = 0, []
    while stops < 100:
        left = 2  # so that each attempt takes one step more than the last, wherever it starts

        def step(stage, done, total):
            nonlocal left
            stages.append(stage)
            left -= 1
            if not left:
                raise _Stop

        try:
            built = build(folder, out=tmp_path / "graph", on_progress=step)
            break
        except _Stop:
            stops += 1
            assert not (tmp_path / "graph/meta.json").exists()
    assert built.fingerprint() == expected.fingerprint() and stops >= 6
    assert stages.count("Reading nodes") == 1
    assert build(folder, out=tmp_path / "graph", on_progress=step).folder == built.folder  # nothing left to do


def test_a_full_disk_is_one_error_and_the_build_continues(tmp_path, monkeypatch):
    folder = write(tmp_path / "tables", *tables(), "parquet")
    with monkeypatch.context() as patch:
        patch.setattr(work.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 10_000})())
        with pytest.raises(DatasetError, match="needs about 0 MB more on the disk, and 0 MB are free"):
            build(folder, out=tmp_path / "graph")

    def full(path, array):
        if "edges" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(buckets, "append_to", full)
        with pytest.raises(OSError, match=r"No space is left on the disk\. Free some and repeat the command") as caught:
            build(folder, out=tmp_path / "graph")
    assert caught.value.filename == str(tmp_path / "graph")
    same(build(folder, out=tmp_path / "graph"), folder, tmp_path / "expected")


def test_folders_that_cannot_be_built_into(tmp_path):
    folder = write(tmp_path / "tables", *tables(), "csv")
    with work.Work(tmp_path / "graph").locked(), pytest.raises(DatasetError, match="is being built by another process"):
        build(folder, out=tmp_path / "graph")
    with pytest.raises(DatasetError, match="tables holds other files"):
        build(folder, out=folder)
    build(folder, out=tmp_path / "graph")
    with pytest.raises(DatasetError, match="was built from something else"):
        build(folder, out=tmp_path / "graph", ignore=["age"])
    with pytest.raises(DatasetError, match="no table of edges"):
        build(tmp_path / "graph", out=tmp_path / "other")


LIMITED = """
import resource, sys
from pathlib import Path
from ngcn import build
build(*sys.argv[1:3], out=sys.argv[1] + ".small")  # imports and kernels count, too
held = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1])
resource.setrlimit(resource.RLIMIT_DATA, (held + 150_000_000,) * 2)
print(build(sys.argv[3], sys.argv[2], out=sys.argv[3] + ".large").edges)
"""


def test_memory_does_not_grow_with_the_tables(tmp_path):
    """20 million edges take 320 MB; here, they are self-loops in a file without content, and one edge."""
    folder = write(tmp_path / "tables", *tables(), "csv")
    np.save(tmp_path / "small.npy", np.array([[0, 1], [1, 2]]))
    large = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.int64, (20_000_000, 2))
    large[-1] = 3, 4
    del large
    arguments = [str(path) for path in (tmp_path / "small.npy", folder / "nodes.csv", tmp_path / "large.npy")]
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=100)
    assert done.stdout == "1\n", done.stderr


def test_training_builds_a_large_graph(tmp_path, monkeypatch, caplog):
    folder = write(tmp_path / "tables", *tables(), "csv")
    assert not cache.needs_build(str(folder)) and not cache.needs_build("cora")
    assert not cache.needs_build(str(folder / "nodes.csv"), edges="")
    monkeypatch.setattr(cache, "MOST_EDGES", 1000)
    assert cache.needs_build(str(folder)) and not cache.needs_build(str(folder), text=["town"])
    assert cache.needs_build(str(folder / "nodes.csv"), edges=str(folder / "edges.csv"))
    config = Config(dataset=f"{folder}/", split="random:5", ignore=["town"])
    graph = load_graph(config, tmp_path)
    assert graph.folder.parent == tmp_path / "graphs" and graph.name == "tables" and graph.train.sum() == 15
    assert "tables is large: it is built on disk, in" in caplog.text
    whole = load_dataset(folder, split="random:5", ignore=["town"])
    np.testing.assert_array_equal(graph.val, whole.val)
    caplog.clear()
    assert load_graph(config, tmp_path).fingerprint() == graph.fingerprint() and "built" not in caplog.text
    (folder / "edges.csv").write_text("source,target\n0,1\n" + "1,2\n" * 1200)
    assert load_graph(config, tmp_path).edges == 2 and "have changed" in caplog.text


def test_pieces_of_a_table(tmp_path):
    parquet = write(tmp_path / "parquet", *tables(), "parquet") / "edges.parquet"  # row groups of 700
    csv = write(tmp_path / "csv", *tables(seed=1), "csv") / "edges.csv"
    table = large_table.LargeTable([parquet, csv, parquet])

    def ends(chunks):
        return [cell for chunk in chunks for cell in chunk.texts("source", "missing").to_pylist()]

    pieces = table.pieces(1000)
    assert [start for start, _ in pieces] == [(0, 0), (0, 1400), (0, 2800), (2, 0), (2, 1400), (2, 2800)]
    in_pieces = [end for piece in pieces for end in ends(table.chunks(["source"], *piece))]
    assert in_pieces == ends(table.chunks(["source"]))
    assert (table.rows_before((0, 1400)), table.pieces(10**6)) == (1400, [((0, 0), (3, 0))])


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_tables_in_object_storage(kind, tmp_path):
    """File systems of pyarrow and of fsspec; the graph is the same, and nothing of the copies stays."""
    fsspec = pytest.importorskip("fsspec")
    folder = write(tmp_path / "tables", *tables(), "parquet")
    url = f"file://{folder}"
    if kind == "memory":
        url = "memory://bucket/tables"
        fsspec.filesystem("memory").put(str(folder), "/bucket/tables", recursive=True)
    expected, found = build(folder, out=tmp_path / "here"), build(url, out=tmp_path / "there")
    for path in expected.folder.glob("*.npy"):
        assert (found.folder / path.name).read_bytes() == path.read_bytes()
    assert not (found.folder / ".build").exists()
    build([f"{url}/edges.parquet"], f"{url}/nodes.parquet", out=tmp_path / "parts")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"edges": "memory://bucket/none"}, "memory://bucket/none cannot be read"),
        ({"edges": "nowhere://bucket/x"}, "nowhere://bucket/x cannot be read: Protocol not known"),
        ({"out": "s3://bucket/graph"}, "needs a folder on a disk"),
    ],
)
def test_urls_that_cannot_be_used(wrong, message, tmp_path):
    with pytest.raises((ConfigError, DatasetError), match=message):
        build(**{"edges": tmp_path, "out": tmp_path / "graph"} | wrong)
    assert not (tmp_path / "graph").exists()
    with pytest.raises(DatasetError, match="ngcn build s3://bucket/x --out"):
        check_exists(Config(dataset="s3://bucket/x").dataset)


def test_a_class_named_nul(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    (folder / "nodes.csv").write_text("id,label\n0,\x00\n1,a\n2,\n")
    assert set(build(folder, out=tmp_path / "graph").class_names) == {"\x00", "a"}


@pytest.mark.parametrize("cells", ['""', ""])
@pytest.mark.parametrize("ending", ["csv", "tsv.gz"])
def test_rows_of_empty_cells_are_skipped(ending, cells, tmp_path):
    node_table, edge_table = tables(weighted=True)
    node_table.loc[50:80, ["age", "member", "town"]] = None  # rows that are empty in the columns of features
    folder = write(tmp_path / "tables", node_table, edge_table, ending)
    want = build(folder, out=tmp_path / "want", one_hot=["town"]).fingerprint()
    opener, mark = (gzip.open, "\t") if ending == "tsv.gz" else (open, ",")
    for name, width in (("nodes", 6), ("edges", 3)):
        path = folder / f"{name}.{ending}"
        with opener(path, "rt") as file:
            names, *rows = file.read().splitlines()
        empty = mark.join([cells] * width)
        lines = [names, empty, *rows[:60], "", *[empty] * 99, *rows[60:], *[empty] * 500]
        with opener(path, "wt") as file:
            file.write("\n".join(lines))
    assert build(folder, out=tmp_path / "built", one_hot=["town"]).fingerprint() == want
    same(build(folder, out=tmp_path / "again"), folder, tmp_path / "scratch")
    lines[170] = mark.join(["absent", "0", "1"])
    with opener(folder / f"edges.{ending}", "wt") as file:
        file.write("\n".join(lines))
    with pytest.raises(DatasetError, match="row 171, column 'source': there is no node 'absent'"):
        build(folder, out=tmp_path / "bad")
    lines[171] = "0"
    with opener(folder / f"edges.{ending}", "wt") as file:
        file.write("\n".join(lines))
    with pytest.raises(DatasetError, match=r"row #172: Expected 3 columns, got 1"):
        build(folder, out=tmp_path / "ragged")


@pytest.mark.parametrize("ids", [None, lambda i: 3 * i + 2**59, lambda i: np.char.add("n", i.astype(str))])
@pytest.mark.parametrize("strange", ["text", "number"])
def test_edges_to_unknown_nodes_can_be_dropped(ids, strange, tmp_path, caplog):
    node_table, edge_table = tables(weighted=True, ids=ids)
    odd = "gone" if strange == "text" else str(2**62 + 5)
    edge_table = edge_table.astype({"source": str, "target": str})
    edge_table.loc[[5, 700, 701], "source"] = odd
    edge_table.loc[[5, 2999], "target"] = f"{odd}0"[:19]
    folder = write(tmp_path / "tables", node_table, edge_table, "csv")
    with pytest.raises(DatasetError, match=r"row 7, column 'source': there is no node .*`unknown_nodes='drop'`"):
        build(folder, out=tmp_path / "bad")
    built = build(folder, out=tmp_path / "built", unknown_nodes="drop", one_hot=["town"])
    told = f"edges.csv: 4 of 3,000 rows are left out: their ids are not in {folder / 'nodes.csv'}, first '{odd}'"
    assert told in caplog.text and built.read_with == {"unknown_nodes": "drop"}
    same(built, folder, tmp_path / "scratch", unknown_nodes="drop", one_hot=["town"])
    edge_table["source"] = odd
    folder = write(tmp_path / "tables", node_table, edge_table, "csv")
    with pytest.raises(DatasetError, match=f"edges.csv: all 3,000 rows have ids that are not in .* first '{odd}'"):
        build(folder, out=tmp_path / "none", unknown_nodes="drop")

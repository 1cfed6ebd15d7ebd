"""`ngcn build` on a cluster: the files of this machine."""

import pytest
from large.test_building import IDS, tables, write

from ngcn import Ray, build
from ngcn.data import large_table
from ngcn.errors import DatasetError
from ngcn.large.building import buckets, features


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Tables of several pieces, and edges in several buckets."""
    monkeypatch.setattr(large_table, "CELLS", 3000)
    monkeypatch.setattr(buckets, "BUCKET", 1000)
    monkeypatch.setattr(buckets, "LEAST", 500)
    monkeypatch.setattr(buckets, "LEAST_PIECE", 700)
    monkeypatch.setattr(features, "CHUNK", 300)


def contents(graph):
    return {path.name: path.read_bytes() for path in graph.folder.glob("*.npy")}


@pytest.mark.parametrize(("ending", "ids"), [("csv", "numbers"), ("parquet", "text")])
def test_the_files_are_those_of_this_machine(cluster, tmp_path, ending, ids):
    folder = write(tmp_path / "tables", *tables(ids=IDS[ids], weighted=True), ending)
    here = build(folder, out=tmp_path / "here", name="graph", memory=1000)
    there = build(folder, out=tmp_path / "there", name="graph", memory=1000, engine=Ray(cluster.address))
    assert contents(here) == contents(there)
    assert not (there.folder / ".build").exists()


def test_part_files_and_a_table_of_features(cluster, tmp_path):
    nodes, edges = tables()
    for part in range(3):
        write(tmp_path / f"part-{part}", nodes, edges[part * 1000 : (part + 1) * 1000], "csv")
    folder = write(tmp_path / "tables", nodes[["id", "label", "split"]], edges, "csv")
    (folder / "edges.csv").unlink()
    (folder / "edges").mkdir()
    for part in range(3):
        (tmp_path / f"part-{part}/edges.csv").rename(folder / f"edges/{part}.csv")
    rows = "".join(f"{i % 300},word {i % 7},{i}\n" for i in range(2000))
    (folder / "features.csv").write_text(f"id,feature,value\n{rows}")
    here = build(folder, out=tmp_path / "here", name="graph")
    there = build(folder, out=tmp_path / "there", name="graph", engine=Ray(cluster.address))
    assert contents(here) == contents(there)
    assert here.edges == build(write(tmp_path / "whole", nodes, edges, "csv"), out=tmp_path / "one").edges


def test_an_error_in_a_table_is_that_of_this_machine(cluster, tmp_path):
    nodes, edges = tables()
    edges.loc[2345, "target"] = 9999
    folder = write(tmp_path / "tables", nodes, edges, "parquet")
    with pytest.raises(DatasetError, match=r"row 2346.*no node '9999'"):
        build(folder, out=tmp_path / "there", engine=Ray(cluster.address))
    assert not (tmp_path / "there").exists()

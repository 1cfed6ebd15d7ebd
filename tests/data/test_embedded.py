import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.data import catalog
from ngcn.data.planetoid import _matrix, read_planetoid
from ngcn.graph import for_training, load_dataset

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools/build_cora.py"))


def test_is_small() -> None:
    assert catalog.EMBEDDED_CORA.stat().st_size <= 150_000


def test_what_is_known_of_cora() -> None:
    graph = load_dataset("cora")
    assert (graph.nodes, graph.edges, graph.features.shape, graph.features.nnz) == (2708, 5278, (2708, 1433), 49216)
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (140, 500, 1000)
    assert dict(zip(graph.class_names, np.bincount(graph.labels).tolist(), strict=True)) == {
        "Theory": 351,
        "Reinforcement_Learning": 217,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Case_Based": 298,
        "Rule_Learning": 180,
    }
    ends = graph.adjacency.nonzero()
    assert (graph.labels[ends[0]] == graph.labels[ends[1]]).mean() == pytest.approx(0.81, abs=0.005)


def test_equals_planetoids_files_entry_by_entry(planetoid_folder: Path) -> None:
    published = replace(catalog.find("cora"), files=TOOL["PLANETOID_SHA256"])
    catalog.verify(published, planetoid_folder)
    embedded, files = load_dataset("cora"), for_training(read_planetoid(planetoid_folder, "cora"))
    assert (embedded.adjacency != files.adjacency).nnz == 0
    assert (embedded.features != files.features).nnz == 0
    assert embedded.adjacency.shape == files.adjacency.shape and embedded.features.shape == files.features.shape
    for field in ("labels", "train", "val", "test", "node_ids"):
        np.testing.assert_array_equal(getattr(embedded, field), getattr(files, field))


def test_steps_and_back() -> None:
    steps = TOOL["steps"]
    matrix = sp.csr_array(np.random.default_rng(0).random((30, 20)) < 0.2, dtype=np.float32)
    assert (_matrix(steps(matrix), matrix.shape) != matrix).nnz == 0

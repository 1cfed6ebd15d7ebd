import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.errors import ConfigError, RunError
from ngcn.graph import store_graph
from ngcn.large import Prepared, links_of, memory_bytes, powers_of, products
from ngcn.ops import normalize

NORMALIZATIONS = ("symmetric", "row", "walk")


def dense_powers(graph, how, X, most):
    A, products = normalize(graph.adjacency, how).matrix.toarray().astype(np.float64), [X.astype(np.float64)]
    for _ in range(most):
        products.append(A @ products[-1])
    return products


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("place", ["memory", "folder", "stored"])
def test_powers_equal_the_dense_ones(graph, how, place, tmp_path):
    expected = dense_powers(graph, how, graph.features, 3)
    if place == "stored":
        graph = store_graph(graph, tmp_path / "graph")
    folder = None if place == "memory" else tmp_path / "products"
    found = powers_of(links_of(graph), how, Prepared(graph), [0, 1, 3], folder=folder)
    assert list(found) == [0, 1, 3]
    for k, S in found.items():
        np.testing.assert_allclose(S[0:60], expected[k], atol=2e-6)
        rows = np.array([5, 59, 5, 0])
        np.testing.assert_array_equal(S[rows], S[0:60][rows])


@pytest.fixture
def in_pieces(monkeypatch):
    """So little memory that there are several slabs and blocks."""
    monkeypatch.setattr(products, "SMALLEST_BLOCK", 1)
    monkeypatch.setattr(products, "OTHER", 0)
    monkeypatch.setattr(products, "PER_NODE", 0)
    return {"memory": int(60 * 4 * 2.5 / 0.85)}


def test_pieces_do_not_change_bits(graph, tmp_path, in_pieces):
    whole = powers_of(links_of(graph), "symmetric", Prepared(graph), [2])[2]
    pieces = powers_of(links_of(graph), "symmetric", Prepared(graph), [2], folder=tmp_path, **in_pieces)[2]
    assert len(pieces.pieces) == 4 and len(pieces.pieces[0]) > 3
    np.testing.assert_array_equal(pieces[0:60], whole[0:60])
    np.testing.assert_array_equal(pieces[7:33], whole[7:33])


def test_half_precision_is_close_and_takes_half_the_space(graph, tmp_path):
    single = powers_of(links_of(graph), "symmetric", Prepared(graph), [3], folder=tmp_path / "4")[3]
    half = powers_of(links_of(graph), "symmetric", Prepared(graph), [3], folder=tmp_path / "2", half=True)[3]
    assert half.dtype == np.float16
    np.testing.assert_allclose(half[0:60], single[0:60], atol=4e-3)
    assert (half[0:60] != single[0:60]).any()


def test_finished_blocks_are_kept(graph, tmp_path, in_pieces):
    links, X, calls = links_of(graph), Prepared(graph), []

    class Stops:
        def run(self, tasks):
            for task in tasks:
                if len(calls) == 10:
                    raise KeyboardInterrupt
                yield task()
                calls.append(task.out)

    with pytest.raises(KeyboardInterrupt):
        powers_of(links, "row", X, [3], folder=tmp_path, executor=Stops(), **in_pieces)
    written = {path: path.stat().st_mtime_ns for path in calls}
    found = powers_of(links, "row", X, [3], folder=tmp_path, **in_pieces)[3]
    assert {path: path.stat().st_mtime_ns for path in calls} == written
    np.testing.assert_array_equal(found[0:60], powers_of(links, "row", X, [3])[3][0:60])


def test_tasks_run_in_other_processes_in_any_order(graph, tmp_path, in_pieces):
    stored = store_graph(graph, tmp_path / "graph")

    class Elsewhere:
        def run(self, tasks):
            for packed in [pickle.dumps(task) for task in reversed(tasks)]:
                assert len(packed) < 2000  # paths, no content
                products._kept.clear()
                yield pickle.loads(packed)()

    arguments = links_of(stored), "symmetric", Prepared(stored), [2]
    done = []
    how = {"executor": Elsewhere(), "on_progress": lambda *numbers: done.append(numbers)}
    found = powers_of(*arguments, folder=tmp_path / "products", **how, **in_pieces)[2]
    np.testing.assert_array_equal(found[0:60], powers_of(*arguments)[2][0:60])
    assert done[-1][0] == done[-1][1] == len(done)
    packed = pickle.dumps(found)
    assert packed.count(b".npy") == len(done) // 2  # paths, no content
    np.testing.assert_array_equal(pickle.loads(packed)[0:60], found[0:60])


def test_other_products_and_damage_are_errors(graph, tmp_path):
    links, X = links_of(graph), Prepared(graph)
    powers_of(links, "row", X, [1], folder=tmp_path, key="a")
    with pytest.raises(RunError, match="normalization"):
        powers_of(links, "walk", X, [1], folder=tmp_path, key="a")
    with pytest.raises(RunError, match="key"):
        powers_of(links, "row", X, [1], folder=tmp_path, key="b")
    (tmp_path / "1" / "0-0.npy").write_bytes(b"\x93NUMPY damaged")
    with pytest.raises(RunError, match=r"0-0\.npy is damaged or too short; delete it"):
        powers_of(links, "row", X, [1], folder=tmp_path, key="a")
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(RunError, match=r"plan\.json is damaged"):
        powers_of(links, "row", X, [1], folder=tmp_path, key="a")


def test_operators_that_large_graphs_lack(graph):
    with pytest.raises(ConfigError, match="symmetric, row, walk, not laplacian"):
        powers_of(links_of(graph), "laplacian", Prepared(graph), [1])


def test_too_little_memory_or_space_is_an_error(graph, tmp_path, monkeypatch):
    links, X = links_of(graph), Prepared(graph)
    with pytest.raises(ConfigError, match="`memory` must be at least"):
        powers_of(links, "row", X, [1], folder=tmp_path, memory=100)
    monkeypatch.setattr(products.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 10})())
    with pytest.raises(OSError, match="GB are free"):
        powers_of(links, "row", X, [1], folder=tmp_path)


def test_memory_sizes():
    assert memory_bytes("500mb") == 500_000_000
    for wrong in ("many", "0", "-4GB", "4XB", ""):
        with pytest.raises(ConfigError, match="memory must be a size"):
            memory_bytes(wrong)


def test_sparse_features_are_prepared_by_rows(graph, tmp_path):
    X = sp.random_array((60, 9), density=0.3, random_state=0, format="csr", dtype=np.float32)
    stored = store_graph(replace(graph, features=X, feature_names=None), tmp_path)
    prepared = Prepared(stored, _twice)
    np.testing.assert_array_equal(prepared[10:30], 2 * X.toarray()[10:30])
    np.testing.assert_array_equal(prepared[np.array([3, 59, 3])], 2 * X.toarray()[[3, 59, 3]])
    again = pickle.loads(pickle.dumps(prepared))
    np.testing.assert_array_equal(again[0:60], prepared[0:60])


def _twice(rows):
    return 2 * rows

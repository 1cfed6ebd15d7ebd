import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn.errors import ConfigError
from ngcn.ops import normalize, undirected
from ngcn.ops.walks import WALKED, Walks

WALKS = 20_000


def small_graph(weighted: bool) -> sp.csr_array:
    """12 nodes: a hub, a pair that only has itself, a node with a self-loop and edges, one with only a self-loop, one
    without anything."""
    random = np.random.default_rng(0)
    A = np.triu(random.random((12, 12)) < 0.25, 1).astype(float)
    A[0, 1:8] = 1
    A[:, 8:] = 0
    A[8, 9] = 1  # a component of its own
    if weighted:
        A *= random.choice([0.05, 1.0, 7.0], size=A.shape)
    A = A + A.T
    A[3, 3], A[10, 10] = 2.0 if weighted else 1.0, 1.0  # 11 is isolated
    return sp.csr_array(A)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", WALKED)
def test_estimates_of_rows_match_the_powers(how: str, weighted: bool) -> None:
    A = small_graph(weighted)
    exact = normalize(A, how).matrix.astype(np.float64).toarray()  # type: ignore[arg-type]
    walks, nodes = Walks(A, how), np.arange(12)
    stops = walks.stops(nodes, WALKS, 4, key=(0, 1))
    for k in range(5):
        columns, entries = walks.rows(stops, k)
        estimate = np.stack([np.bincount(c, e, minlength=12) for c, e in zip(columns, entries, strict=True)])
        wanted = np.linalg.matrix_power(exact, k)
        # The variance of one walk is at most (largest factor) * entry
        largest = np.sqrt((walks.degrees[:, None] + 1) / (walks.degrees + 1)) if how == "symmetric" else 1.0
        error = np.sqrt(np.maximum(wanted * largest, 0) / WALKS)
        assert (abs(estimate - wanted) <= 5 * error + 1e-6).all(), k
        if k == 0:
            assert estimate == pytest.approx(np.eye(12))  # exact, for isolated nodes of "walk" too


@pytest.mark.parametrize("how", WALKED)
def test_degrees_are_those_of_the_operator(how: str) -> None:
    for weighted in (False, True):
        A = small_graph(weighted)
        plain = undirected(A).toarray() + (np.eye(12) if how != "walk" else 0)
        walks = Walks(A, how)
        assert walks.degrees + walks.loops == pytest.approx(plain.sum(axis=1))


def test_frequencies_of_single_steps_follow_the_weights() -> None:
    """A chi-squared statistic over all transitions; its mean is the number of degrees of freedom."""
    A = small_graph(weighted=True)
    walks = Walks(A, "row")
    stops = walks.stops(np.arange(12), 5000, 8, key=(7, 0))
    T = normalize(A, "row").matrix.astype(np.float64).toarray()
    left, arrived = stops[:, :, :-1].ravel(), stops[:, :, 1:].ravel()
    counts = np.zeros((12, 12))
    np.add.at(counts, (left, arrived), 1)
    expected = counts.sum(axis=1, keepdims=True) * T
    assert counts[T == 0].sum() == 0
    known = expected > 5
    statistic = ((counts - expected)[known] ** 2 / expected[known]).sum()
    freedom = known.sum() - 12
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_depend_on_the_key_and_not_on_the_threads(weighted: bool) -> None:
    walks, nodes = Walks(small_graph(weighted)), np.arange(12).repeat(40)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(walks.stops(nodes, 8, 6, key=(3, 5)))
    finally:
        torch.set_num_threads(before)
    assert (found[0] == found[1]).all()
    assert (found[0] != walks.stops(nodes, 8, 6, key=(3, 6))).any()
    assert (found[0] != walks.stops(nodes, 8, 6, key=(4, 5))).any()
    assert (found[0][:, :, :4] == walks.stops(nodes, 8, 3, key=(3, 5))).all()  # longer walks begin with the shorter
    assert (found[0][:5] == walks.stops(nodes[:5], 8, 6, key=(3, 5))).all()


def test_read_only_arrays_and_other_integers(tmp_path) -> None:
    """The arrays of a graph on disk."""
    A = small_graph(weighted=True)
    expected = Walks(A).stops(np.arange(12), 3, 4, key=(0, 0))
    for name in ("indptr", "indices", "data"):
        np.save(tmp_path / f"{name}.npy", getattr(A, name))
    arrays = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices", "data")}
    on_disk = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=A.shape)
    assert (Walks(on_disk).stops(np.arange(12), 3, 4, key=(0, 0)) == expected).all()


def test_an_operator_without_walks() -> None:
    with pytest.raises(ConfigError, match="not 'laplacian'"):
        Walks(small_graph(weighted=False), "laplacian")

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.ops import Operators, normalize, normalize_rows, rescaled_laplacian


def dense_reference(A: np.ndarray, how: str) -> np.ndarray:
    A = np.maximum(A, A.T)
    np.fill_diagonal(A, 1)
    degree = A.sum(axis=1)
    if how == "row":
        return A / degree[:, None]
    return A / np.sqrt(degree[:, None] * degree[None, :])


@pytest.mark.parametrize("how", ["symmetric", "row"])
def test_matches_the_definition(graph, how):
    expected = dense_reference(graph.adjacency.toarray().astype(np.float64), how)
    np.testing.assert_allclose(normalize(graph.adjacency, how).matrix.toarray(), expected, rtol=1e-6)


def test_takes_scipys_older_matrices_and_no_other_names(graph):
    matrix = sp.csr_matrix(graph.adjacency)
    np.testing.assert_array_equal(normalize(matrix).matrix.toarray(), normalize(graph.adjacency).matrix.toarray())
    with pytest.raises(ValueError, match="symmetric, row, laplacian, walk, in, out, not 'sym'"):
        normalize(matrix, "sym")


def test_row_normalisation_is_a_random_walk(graph):
    np.testing.assert_allclose(normalize(graph.adjacency, "row").matrix.sum(axis=1), 1, rtol=1e-6)


def test_power_is_the_walk_between_half_steps(graph):
    """The paper's equation: Â^k = D^-1/2 A T^(k-1) D^-1/2 with T = D^-1 A."""
    A = np.maximum(graph.adjacency.toarray(), graph.adjacency.toarray().T).astype(np.float64)
    np.fill_diagonal(A, 1)
    degree = A.sum(axis=1)
    T = A / degree[:, None]
    half = np.diag(degree**-0.5)
    A_hat = normalize(graph.adjacency).double()
    for k in (1, 2, 5):
        np.testing.assert_allclose(
            A_hat.power(k).matrix().toarray(), half @ A @ np.linalg.matrix_power(T, k - 1) @ half, atol=1e-6
        )


def test_existing_self_connections_count_once():
    looped = sp.csr_array(np.array([[5.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(normalize(looped, "row").matrix.toarray(), 0.5)


def test_directed_keeps_the_direction():
    edge = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert normalize(edge, directed=True).matrix.toarray()[1, 0] == 0
    assert normalize(edge).matrix.toarray()[1, 0] > 0


def test_isolated_node_keeps_its_own_value():
    alone = sp.csr_array((2, 2), dtype=np.float32)
    np.testing.assert_array_equal(normalize(alone).matrix.toarray(), np.eye(2))


def test_normalize_rows_leaves_empty_rows(graph):
    features = graph.features.copy()
    features.data[features.indptr[3] : features.indptr[4]] = 0
    sums = normalize_rows(features).sum(axis=1)
    assert sums[3] == 0
    np.testing.assert_allclose(np.delete(sums, 3), np.delete(np.diff(features.indptr) > 0, 3), rtol=1e-6)


def test_the_laplacian_is_a_normalisation(graph):
    L = normalize(graph.adjacency, "laplacian")
    np.testing.assert_array_equal(L.matrix.toarray(), rescaled_laplacian(graph.adjacency).matrix.toarray())
    assert L.symmetric
    with pytest.raises(ValueError, match="needs undirected edges"):
        normalize(graph.adjacency, "laplacian", directed=True)


def mean_over(A: np.ndarray) -> np.ndarray:
    """Rows of A without the diagonal, each divided by its sum."""
    A = A.astype(np.float64)
    np.fill_diagonal(A, 0)
    degree = A.sum(axis=1, keepdims=True)
    return np.divide(A, degree, out=np.zeros_like(A), where=degree > 0)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("how", ["walk", "in", "out"])
def test_means_over_neighbours_are_dense_formulas(graph, how, directed):
    """Weighted directed edges, with loops; `in` and `out` have a direction whatever `directed` says."""
    A = graph.adjacency.toarray()
    A[3, 3], A[4, 4], A[5, 6], A[6, 5] = 2.0, 0.1, 0.5, 1.5
    A[29, :] = A[:, 29] = A[28, :] = 0  # a node without edges, one without edges out of it
    expected = mean_over({"in": A.T, "out": A, "walk": A if directed else np.maximum(A, A.T)}[how])
    found = normalize(sp.csr_array(A), how, directed=directed)
    np.testing.assert_allclose(found.matrix.toarray(), expected, rtol=1e-6)
    assert found.matrix.dtype == np.float32 and not found.symmetric
    assert not found.matrix.diagonal().any() and not found.matrix.toarray()[29].any()
    sums = found.matrix.sum(axis=1)
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-6)


def test_sources_and_targets_of_edges():
    """0 -> 1 (weight 3), 2 -> 1 (weight 1), 0 -> 3; node 4 has a loop alone."""
    A = np.zeros((5, 5))
    A[0, 1], A[2, 1], A[0, 3], A[4, 4] = 3, 1, 1, 7
    edges = sp.csr_array(A)
    sources, targets = normalize(edges, "in").matrix.toarray(), normalize(edges, "out").matrix.toarray()
    np.testing.assert_allclose(sources[1], [0.75, 0, 0.25, 0, 0])
    np.testing.assert_allclose(sources[3], [1, 0, 0, 0, 0])
    np.testing.assert_allclose(targets[0], [0, 0.75, 0, 0.25, 0])
    assert not sources[[0, 2, 4]].any() and not targets[[1, 3, 4]].any()
    np.testing.assert_allclose(normalize(edges, "walk").matrix.toarray()[1], [0.75, 0, 0.25, 0, 0])
    assert A[4, 4] == edges[4, 4] == 7  # what was given is left as it was


def test_in_and_out_are_walk_if_all_edges_go_both_ways(graph):
    both = graph.adjacency.maximum(graph.adjacency.T)
    walk = normalize(both, "walk").matrix.toarray()
    for how in ("in", "out"):
        np.testing.assert_array_equal(normalize(both, how).matrix.toarray(), walk)


def test_operators_are_made_once(graph):
    A = Operators(graph.adjacency)
    assert not A and A["walk"] is A["walk"] and list(A) == ["walk"]
    for how in ("symmetric", "row", "walk", "in", "out"):
        np.testing.assert_array_equal(A[how].matrix.toarray(), normalize(graph.adjacency, how).matrix.toarray())
    np.testing.assert_array_equal(A.matrix.toarray() > 0, normalize(graph.adjacency).matrix.toarray() > 0)
    directed = Operators(graph.adjacency, directed=True)
    expected = normalize(graph.adjacency, "walk", directed=True).matrix.toarray()
    np.testing.assert_array_equal(directed["walk"].matrix.toarray(), expected)
    with pytest.raises(ValueError, match="not 'sideways'"):
        A["sideways"]

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.ops import normalize, normalize_rows, rescaled_laplacian


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
    with pytest.raises(ValueError, match="symmetric, row or laplacian, not 'sym'"):
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

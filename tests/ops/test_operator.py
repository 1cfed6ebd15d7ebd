"""Implicit powers against dense matrix powers in float64, with and without a limit on what is wanted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn.ops import Operator, Reach, propagate
from ngcn.ops.cpu.sparse_kernels import FAR

POWERS = [(0,), (1,), (5,), (0, 1, 2), (2, 5)]


def dense_powers(A_hat: Operator, Z: torch.Tensor, powers: tuple[int, ...]) -> torch.Tensor:
    A = torch.from_numpy(A_hat.matrix.toarray())
    return torch.stack([torch.linalg.matrix_power(A, k) @ z for k, z in zip(powers, Z, strict=True)])


def randn(*shape: int, requires_grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=requires_grad)


@pytest.mark.parametrize("powers", POWERS)
@pytest.mark.parametrize("columns", [1, 3, 5, 8, 16, 27, 40, 64, 77, 150])
def test_equals_dense_powers(backend, A_hat, powers, columns):
    Z = randn(len(powers), A_hat.nodes, columns)
    torch.testing.assert_close(propagate(A_hat, Z, powers), dense_powers(A_hat, Z, powers))


@pytest.mark.parametrize("powers", POWERS)
def test_gradient(backend, A_hat, powers):
    Z = randn(len(powers), A_hat.nodes, 2, requires_grad=True)
    assert torch.autograd.gradcheck(lambda Z: propagate(A_hat, Z, powers), Z)


@pytest.mark.parametrize("powers", [(0, 1, 2), (1,), (0, 3)])
def test_only_what_is_wanted_and_all_of_it(backend, A_hat, powers):
    """Two layers with a limited reach give the same rows, and the same gradient, as two unlimited ones."""
    rows = np.array([4, 7])
    Z = randn(len(powers), A_hat.nodes, 2, requires_grad=True)
    weight = randn(len(powers), len(rows), 2)

    full = propagate(A_hat, propagate(A_hat, Z, powers).tanh(), powers)[:, rows]
    (full * weight).sum().backward()
    expected, Z.grad = Z.grad, None

    reach = Reach.of(A_hat, rows, powers, layers=2)
    limited = propagate(A_hat, propagate(A_hat, Z, powers, reach).tanh(), powers, reach.after_layer)[:, rows]
    (limited * weight).sum().backward()
    torch.testing.assert_close(limited, full)
    torch.testing.assert_close(Z.grad, expected)


def test_out_of_reach_is_zero(backend, A_hat):
    reach = Reach.of(A_hat, np.array([0]), (0, 1))
    result = propagate(A_hat, torch.ones(2, A_hat.nodes, 1, dtype=torch.float64), (0, 1), reach)
    assert (result[1, 1:] == 0).all()
    assert result[1, 0] != 0


def test_distances_follow_the_inflow():
    chain = Operator(sp.csr_array(np.diag(np.ones(3), 1)))  # row v takes from v + 1
    np.testing.assert_array_equal(chain.distances(np.array([1]), 9), [9, 0, 1, 2])


def test_reaches_are_cached_by_rows_powers_and_layers():
    chain = Operator(sp.csr_array(np.diag(np.ones(3), 1)))
    reach = Reach.of(chain, np.array([1]), (0, 2))
    assert Reach.of(chain, np.array([1]), (0, 2)) is reach
    np.testing.assert_array_equal(reach.distance, [3, 0, 1, 2])
    same_bytes = np.array([1, 0], np.int32)
    np.testing.assert_array_equal(Reach.of(chain, same_bytes, (0, 2)).distance, [0, 0, 1, 2])
    assert Reach.of(chain, np.array([1]), (0, 2), layers=2).layers == 2
    assert not Reach.of(chain, None, (0, 2)).distance.any()
    for row in range(20):
        Reach.of(chain, np.array([row % 4, 0, 1][: 1 + row // 4]), (0, 1))
    assert len(chain.cache["reach"]) <= 16


def test_explicit_power_and_its_largest_entries(A_hat):
    dense = np.linalg.matrix_power(A_hat.matrix.toarray(), 3)
    P = A_hat.power(3)
    np.testing.assert_allclose(P.matrix().toarray(), dense)
    pruned = P.matrix(largest=2).toarray()
    assert ((pruned > 0).sum(axis=1) == np.minimum(2, (dense > 0).sum(axis=1))).all()
    np.testing.assert_allclose(pruned.max(axis=1), dense.max(axis=1))
    edge_index, edge_weight = P.edges()
    rebuilt = torch.zeros(A_hat.nodes, A_hat.nodes, dtype=torch.float64)
    rebuilt[edge_index[1], edge_index[0]] = edge_weight
    torch.testing.assert_close(rebuilt, torch.from_numpy(dense))


@pytest.mark.parametrize("columns", [10, 20, 43, 64, 75])
def test_blocks_that_do_not_fit_into_the_cache(columns: int) -> None:
    random = np.random.default_rng(columns)
    nodes = FAR // columns + 1
    matrix = sp.random_array((nodes, nodes), density=3 / nodes, format="csr", dtype=np.float64, rng=random)
    Z = torch.from_numpy(random.standard_normal((2, nodes, columns)))
    result = propagate(Operator(matrix), Z, (1, 2))
    np.testing.assert_allclose(result[0], matrix @ Z[0].numpy(), atol=1e-12)
    np.testing.assert_allclose(result[1], matrix @ (matrix @ Z[1].numpy()), atol=1e-12)

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngcn import normalize
from ngcn.ops import propagate_average

POWERS = (0, 2, 3, 8)


@pytest.mark.parametrize("how", ["symmetric", "row"])  # with row, Â is not its own transpose
def test_it_is_the_mean_of_dense_powers_and_so_is_its_gradient(backend, graph, how):
    A_hat = normalize(graph.adjacency, how).double()
    A, Z = torch.from_numpy(A_hat.matrix.toarray()), torch.randn(4, graph.nodes, 3, dtype=torch.float64)
    Z.requires_grad_()
    expected = [
        sum(torch.linalg.matrix_power(A, j) for j in range(k + 1)) @ Z[p] / (k + 1) for p, k in enumerate(POWERS)
    ]
    torch.testing.assert_close(propagate_average(A_hat, Z, POWERS), torch.stack(expected))
    assert torch.autograd.gradcheck(lambda Z: propagate_average(A_hat, Z, POWERS), Z, fast_mode=True)


def test_blocks_in_any_memory_order(backend, graph):
    A_hat = normalize(graph.adjacency)
    Z = torch.from_numpy(np.random.default_rng(0).random((graph.nodes, 2, 5)).astype(np.float32)).transpose(0, 1)
    torch.testing.assert_close(propagate_average(A_hat, Z, (1, 2)), propagate_average(A_hat, Z.contiguous(), (1, 2)))

"""A workspace must never hand out memory that is still in use."""

from __future__ import annotations

import numpy as np
import torch

from ngcn.ops import Features, Operator, Workspace, propagate, relu_dropout, tower_linear
from ngcn.ops.workspace import empty


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_is_reused_when_free_and_not_before() -> None:
    with Workspace():
        first = empty((3, 4), np.float32)
        second = empty((3, 4), np.float32)
        place = address(first)
        assert place != address(second)
        assert place % 64 == address(second) % 64 == 0
        del first
        assert address(empty((3, 4), np.float64)) != place
        assert address(empty((3, 4), np.float32)) == place


def test_tensors_and_graphs_keep_memory_in_use() -> None:
    with Workspace():
        array = empty((2, 2), np.float32)
        array[:] = 1
        place, leaf = address(array), torch.ones(2, 2, requires_grad=True)
        result = (torch.from_numpy(array)[0] * leaf).sum()  # the graph has saved the view for backward
        del array
        assert address(empty((2, 2), np.float32)) != place
        result.backward()
        del result, leaf
        assert address(empty((2, 2), np.float32)) == place


def test_results_outlive_the_workspace() -> None:
    with Workspace():
        kept = relu_dropout(torch.ones(1, 2, 3))
    others = [relu_dropout(torch.full((1, 2, 3), 7.0)) for _ in range(9)]
    assert (kept == 1).all() and len(others) == 9


def test_without_or_outside_a_workspace_nothing_is_shared() -> None:
    with Workspace() as workspace:
        with workspace:  # may be opened again
            place = address(empty((5, 5), np.float32))
        assert address(empty((5, 5), np.float32)) == place
        with Workspace():
            assert address(empty((5, 5), np.float32)) != place
    assert workspace._free == {}


def test_same_numbers_with_and_without(A_hat: Operator, X: Features) -> None:
    W = torch.randn(2, X.shape[1], 6, dtype=torch.float64, requires_grad=True)
    V = torch.randn(2, 2, 3, 4, dtype=torch.float64, requires_grad=True)

    def step() -> list[torch.Tensor]:
        out = tower_linear(relu_dropout(propagate(A_hat, X.times(W, 2), (0, 2))), V)
        return [out, *torch.autograd.grad(out.square().sum(), (W, V))]

    expected = step()
    with Workspace():
        results = [step() for _ in range(4)]
    assert all(torch.equal(a, b) for result in results for a, b in zip(result, expected, strict=True))

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from ngcn.ops import Dropout, relu_dropout, relu_normalize_dropout, set_num_threads, tower_linear

TOWERS = (0, 1, 2)


def randn(*shape: int, requires_grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=requires_grad)


@pytest.mark.parametrize("inner", [1, 6, 16])
@pytest.mark.parametrize("outer", [1, 7, 8, 17])
def test_tower_linear_is_a_matrix_per_tower(inner, outer):
    H, W = randn(21, 3 * inner), randn(3, inner, outer)
    expected = torch.einsum("nti,tio->nto", H.view(21, 3, inner), W).flatten(1)
    torch.testing.assert_close(tower_linear(H, W, TOWERS), expected)


def test_tower_linear_gradient():
    H, W = randn(9, 15, requires_grad=True), randn(3, 5, 2, requires_grad=True)
    assert torch.autograd.gradcheck(lambda H, W: tower_linear(H, W, TOWERS), (H, W))


@pytest.mark.parametrize("operation", [relu_dropout, relu_normalize_dropout])
@pytest.mark.parametrize("probability", [0.0, 0.5, 0.3])
def test_activation_gradient(operation, probability):
    dropout = Dropout.draw(probability)
    Y = randn(9, 15)
    Y = (Y + 0.1 * Y.sign()).requires_grad_()  # away from the kink of ReLU
    assert torch.autograd.gradcheck(lambda Y: operation(Y, TOWERS, dropout), Y)


def test_activation_without_dropout():
    Y = randn(9, 15)
    torch.testing.assert_close(relu_dropout(Y, TOWERS), Y.relu())
    expected = normalize(Y.relu().view(9, 3, 5), dim=-1).flatten(1)
    torch.testing.assert_close(relu_normalize_dropout(Y, TOWERS), expected)


def test_mask_is_fair_and_independent_across_draws():
    Y = torch.ones(400, 36)
    first, second = ((relu_dropout(Y, TOWERS, Dropout.draw(0.5)) > 0).double().flatten() for _ in range(2))
    sigma = 0.5 / len(first) ** 0.5
    assert abs(first.mean() - 0.5) < 5 * sigma
    assert abs(torch.corrcoef(torch.stack([first, second]))[0, 1]) < 5 * 2 * sigma
    neighbours = torch.corrcoef(torch.stack([first[:-1], first[1:]]))[0, 1]
    assert abs(neighbours) < 5 * 2 * sigma


def test_divergence_stays_visible():
    Y = torch.full((2, 3), float("nan"))
    assert relu_dropout(Y, TOWERS).isnan().all()


def test_same_bits_on_one_and_two_threads():
    H, W = torch.randn(999, 48, requires_grad=True), torch.randn(3, 16, 7, requires_grad=True)
    results = []
    threads = torch.get_num_threads()
    for n in (1, 2):
        set_num_threads(n)
        out = tower_linear(relu_dropout(H, TOWERS), W, TOWERS)
        results.append([out, *torch.autograd.grad(out.sum(), (H, W))])
    set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from ngcn.ops import NONE, Dropout, relu_dropout, relu_normalize_dropout, tower_linear

REPLICAS = 3


def randn(*shape: int, requires_grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=requires_grad)


@pytest.mark.parametrize("inner", [1, 6, 16])
@pytest.mark.parametrize("outer", [1, 7, 8, 17])
def test_tower_linear_is_a_matrix_per_tower(backend, inner, outer):
    H, W = randn(2, 21, 3 * inner), randn(2, 3, inner, outer)
    expected = torch.einsum("pnri,prio->pnro", H.view(2, 21, 3, inner), W).flatten(2)
    torch.testing.assert_close(tower_linear(H, W), expected)


def test_tower_linear_gradient(backend):
    H, W = randn(2, 9, 15, requires_grad=True), randn(2, 3, 5, 2, requires_grad=True)
    assert torch.autograd.gradcheck(tower_linear, (H, W))


def relu_normalize(Y: torch.Tensor, dropout: Dropout = NONE) -> torch.Tensor:
    return relu_normalize_dropout(Y, REPLICAS, dropout)


@pytest.mark.parametrize("operation", [relu_dropout, relu_normalize])
@pytest.mark.parametrize("probability", [0.0, 0.5, 0.3])
def test_activation_gradient(backend, operation, probability):
    dropout = Dropout.draw(probability)
    Y = randn(2, 9, 15)
    Y = (Y + 0.1 * Y.sign()).requires_grad_()  # away from the kink of ReLU
    assert torch.autograd.gradcheck(lambda Y: operation(Y, dropout), Y)


def test_activation_without_dropout(backend):
    Y = randn(2, 9, 15)
    torch.testing.assert_close(relu_dropout(Y), Y.relu())
    expected = normalize(Y.relu().view(2, 9, 3, 5), dim=-1).flatten(2)
    torch.testing.assert_close(relu_normalize(Y), expected)


@pytest.mark.parametrize("operation", [relu_dropout, relu_normalize])
def test_mask_is_fair_and_independent_across_draws(backend, operation):
    Y = torch.ones(2, 200, 36)
    first, second = ((operation(Y, Dropout.draw(0.5)) > 0).double().flatten() for _ in range(2))
    sigma = 0.5 / len(first) ** 0.5
    assert abs(first.mean() - 0.5) < 5 * sigma
    assert abs(torch.corrcoef(torch.stack([first, second]))[0, 1]) < 5 * 2 * sigma
    for lag in (1, 32, 36, 36 * 200):  # the next column, word, row, block
        assert abs(torch.corrcoef(torch.stack([first[:-lag], first[lag:]]))[0, 1]) < 6 * 2 * sigma


def test_divergence_stays_visible(backend):
    assert relu_dropout(torch.full((1, 2, 3), float("nan"))).isnan().all()


def test_same_bits_on_one_and_two_threads():
    H, W = torch.randn(2, 999, 48, requires_grad=True), torch.randn(2, 3, 16, 7, requires_grad=True)
    results = []
    threads = torch.get_num_threads()
    for n in (1, 2):
        torch.set_num_threads(n)
        out = tower_linear(relu_dropout(H), W)
        results.append([out, *torch.autograd.grad(out.sum(), (H, W))])
    torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngcn.ops import Dropout, Features, Reach

TOWERS = (0, 1, 1, 2)


@pytest.mark.parametrize("width", [1, 5, 16])
def test_without_dropout_it_is_a_product(X, width):
    W = torch.randn(X.shape[1], width * len(TOWERS), dtype=torch.float64)
    torch.testing.assert_close(X.times(W, TOWERS), X.dense() @ W)


@pytest.mark.parametrize("probability", [0.0, 0.5, 0.3])
def test_gradient(X, probability):
    """gradcheck compares with differences of the same masked product: forward and backward must agree on the mask."""
    dropout = Dropout.draw(probability)
    W = torch.randn(X.shape[1], 3 * len(TOWERS), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda W: X.times(W, TOWERS, dropout), W)


def masks(X: Features, dropout: Dropout, towers: int) -> torch.Tensor:
    """The mask of each tower over the entries of X, read off a product with one-hot weights."""
    W = torch.eye(X.shape[1], dtype=torch.float64).repeat(1, towers)
    return X.times(W, tuple(range(towers)), dropout).view(X.shape[0], towers, X.shape[1])


@pytest.mark.parametrize("probability", [0.5, 0.3, 0.8])
@pytest.mark.parametrize("towers", [3, 40])
def test_masks_are_fair_and_independent(probability, towers):
    X = Features(np.ones((60, 40)))
    mask = masks(X, Dropout.draw(probability), towers)
    entries = X.shape[0] * X.shape[1]
    keep = 1 - probability
    kept = mask > 0
    torch.testing.assert_close(mask[kept], torch.full_like(mask[kept], 1 / keep), rtol=1e-4, atol=0)
    rate = kept.double().mean(dim=(0, 2))
    five_sigma = 5 * (keep * probability / entries) ** 0.5
    assert (abs(rate - keep) < five_sigma).all()
    correlation = torch.corrcoef(kept.double().transpose(0, 1).flatten(1))
    assert abs(correlation - torch.eye(towers)).max() < 5 / entries**0.5


def test_draws_differ_and_repeat_with_the_seed(X):
    torch.manual_seed(1)
    first, second = Dropout.draw(0.5), Dropout.draw(0.5)
    torch.manual_seed(1)
    again = Dropout.draw(0.5)
    assert not torch.equal(masks(X, first, 2), masks(X, second, 2))
    assert torch.equal(masks(X, first, 2), masks(X, again, 2))


def test_rows_out_of_reach_are_zero_and_give_no_gradient(A_hat, X):
    reach = Reach.of(A_hat, np.array([0]), 1, TOWERS)
    W = torch.ones(X.shape[1], 2 * len(TOWERS), dtype=torch.float64, requires_grad=True)
    out = X.times(W, TOWERS, reach=reach).view(X.shape[0], len(TOWERS), 2)
    full = X.times(W.detach(), TOWERS).view_as(out)
    within = torch.from_numpy(reach.distance)[:, None] <= torch.tensor(TOWERS)
    torch.testing.assert_close(out, full * within[..., None])
    (out * torch.rand_like(out)).sum().backward()
    assert W.grad[:, :2].abs().sum() > 0

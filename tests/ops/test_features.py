from __future__ import annotations

import numpy as np
import pytest
import torch

from ngcn.ops import Dropout, Features, Reach
from ngcn.ops.cpu import transpose

POWERS, REPLICAS = (0, 1, 2), 2


def weights(X: Features, width: int, replicas: int = REPLICAS) -> torch.Tensor:
    return torch.randn(len(POWERS), X.shape[1], replicas * width, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("width", [1, 5, 16])
def test_without_dropout_it_is_a_product(backend, X, width):
    W = weights(X, width)
    torch.testing.assert_close(X.times(W, REPLICAS), torch.einsum("nf,pfc->pnc", X.dense(), W))


@pytest.mark.parametrize("probability", [0.0, 0.5, 0.3])
@pytest.mark.parametrize(("width", "replicas"), [(3, 2), (16, 1), (16, 5)])
def test_gradient(backend, X, probability, width, replicas):
    """gradcheck compares with differences of the same masked product: forward and backward must agree on the mask."""
    dropout = Dropout.draw(probability)
    W = weights(X, width, replicas)
    assert torch.autograd.gradcheck(lambda W: X.times(W, replicas, dropout), W, fast_mode=True)


def test_dense_features_are_multiplied_as_such(backend):
    X = Features(np.random.default_rng(0).random((7, 3)))
    assert X.dense_is_faster
    W = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(X.times(W, 2), torch.einsum("nf,pfc->pnc", X.dense(), W))
    assert torch.autograd.gradcheck(lambda W: X.times(W, 2), W)


@pytest.mark.parametrize("probability", [0.5, 0.3])
def test_one_mask_for_all_towers(backend, probability):
    X = Features(1 + np.random.default_rng(0).random((400, 3)))
    dropped = X.with_shared_mask(Dropout.draw(probability))
    eye = torch.eye(3, dtype=torch.float64).repeat(2, 1, 2)  # two powers, two replicas
    found = dropped.times(eye, 2, Dropout.draw(0.9))  # which is not drawn again
    first = found[0, :, :3]
    assert all(torch.equal(part, first) for block in found for part in block.split(3, dim=1))
    kept = first != 0
    torch.testing.assert_close(first[kept], X.dense()[kept] / (1 - probability), rtol=1e-4, atol=0)
    assert abs(kept.double().mean() - (1 - probability)) < 0.06
    W = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda W: dropped.times(W, 2), W)


def test_gradient_over_several_parts(backend):
    """More rows than one part of the transpose holds."""
    X = Features(np.random.default_rng(0).random((2500, 3)))
    dropout = Dropout.draw(0.5)
    W = torch.randn(1, 3, 2, dtype=torch.float64, requires_grad=True)
    G = torch.randn(1, 2500, 2, dtype=torch.float64)
    X.times(W, 2, dropout).backward(G)
    mask = masks(X, dropout, 2)
    expected = torch.einsum("nf,ntf,nt->ft", X.dense(), mask, G[0])
    torch.testing.assert_close(W.grad[0], expected)


def masks(X: Features, dropout: Dropout, towers: int) -> torch.Tensor:
    """The mask of each tower over the entries of X, read off a product with one-hot weights."""
    features = X.shape[1]
    ones = Features(np.ones(X.shape) * (X.dense().numpy() != 0))
    W = torch.eye(features, dtype=torch.float64).repeat(1, 1, towers)
    return ones.times(W, towers, dropout).view(X.shape[0], towers, features)


@pytest.mark.parametrize("probability", [0.5, 0.3, 0.8])
@pytest.mark.parametrize("towers", [1, 3, 40])
def test_masks_are_fair_and_independent(backend, probability, towers):
    X = Features(np.ones((60, 40)))
    mask = masks(X, Dropout.draw(probability), towers)
    entries = X.shape[0] * X.shape[1]
    keep = 1 - probability
    kept = mask > 0
    torch.testing.assert_close(mask[kept], torch.full_like(mask[kept], 1 / keep), rtol=1e-4, atol=0)
    rate = kept.double().mean(dim=(0, 2))
    five_sigma = 5 * (keep * probability / entries) ** 0.5
    assert (abs(rate - keep) < five_sigma).all()
    correlation = torch.corrcoef(kept.double().transpose(0, 1).flatten(1)).view(towers, towers)
    assert abs(correlation - torch.eye(towers)).max() < 5 / entries**0.5


def test_a_single_tower_has_the_mask_of_the_first_of_many(backend, X):
    """So that one path through the kernel is checked against the other."""
    dropout = Dropout.draw(0.5)
    torch.testing.assert_close(masks(X, dropout, 1)[:, 0], masks(X, dropout, 5)[:, 0])


def test_draws_differ_and_repeat_with_the_seed(backend, X):
    torch.manual_seed(1)
    first, second = Dropout.draw(0.5), Dropout.draw(0.5)
    torch.manual_seed(1)
    again = Dropout.draw(0.5)
    assert not torch.equal(masks(X, first, 2), masks(X, second, 2))
    assert torch.equal(masks(X, first, 2), masks(X, again, 2))


def test_rows_out_of_reach_are_zero_and_give_no_gradient(backend, A_hat, X):
    reach = Reach.of(A_hat, np.array([0]), POWERS)
    within = torch.from_numpy(reach.distance <= np.array(POWERS)[:, None])[..., None]
    W = weights(X, 2)
    out, full = X.times(W, REPLICAS, reach=reach), X.times(W, REPLICAS)
    torch.testing.assert_close(out, full * within)
    G = torch.rand_like(out) * within
    torch.testing.assert_close(torch.autograd.grad(out, W, G), torch.autograd.grad(full, W, G))


@pytest.mark.parametrize("nodes", [(0,), (0, 5)])
def test_a_reach_that_comes_again_gives_the_same_bits(A_hat, X, nodes):
    """With more than one node, the transpose is sorted by what each power reaches."""
    reach, dropout = Reach.of(A_hat, np.array(nodes), POWERS, layers=2), Dropout.draw(0.5)
    within = torch.from_numpy(reach.distance <= reach.limits[:, None])[..., None]
    assert not within.all()
    W = weights(X, 16, replicas=5)
    out = X.times(W, 5, dropout, reach)
    G = torch.rand_like(out) * within
    first, second = (torch.autograd.grad(out, W, G, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert torch.allclose(first, torch.autograd.grad(X.times(W, 5, dropout), W, G)[0], atol=1e-6)
    assert (len(transpose.transposed(X, reach)[4]) < X.matrix.nnz) == (len(nodes) > 1)


def test_the_transpose_is_sorted_once_for_a_training_on_all_rows(A_hat, X, monkeypatch):
    calls, arrange = [], transpose._arrange
    monkeypatch.setattr(transpose, "_arrange", lambda *args: calls.append(args) or arrange(*args))
    W = weights(X, 4)
    for _ in range(3):
        X.times(W, REPLICAS, Dropout.draw(0.5), Reach.of(A_hat, None, POWERS)).sum().backward()
    assert len(calls) == 1

"""Walks go along edges, with the frequencies that the weights, p and q ask for, whatever the number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn.baselines._walks import random_walks

# 0 - 1, 0 - 2, 1 - 2, 2 - 3, 3 - 4: a triangle with a tail; 5 is alone
EDGES = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])


def tadpole(weights: list[float] | None = None) -> sp.csr_array:
    one_way = sp.csr_array((weights or np.ones(5), EDGES.T), shape=(6, 6))
    return sp.csr_array(one_way + one_way.T)


def shares(walks: np.ndarray, *before: int) -> np.ndarray:
    """Where walks go next that have just visited the nodes ``before``."""
    n = len(before)
    windows = np.lib.stride_tricks.sliding_window_view(walks, n + 1, axis=1).reshape(-1, n + 1)
    after = windows[(windows[:, :n] == before).all(axis=1), n]
    assert len(after) > 5000
    return np.bincount(after, minlength=6) / len(after)


def test_walks_start_where_told_and_follow_edges() -> None:
    starts = np.tile(np.arange(5), 20)
    A = tadpole()
    walks = random_walks(A, starts, length=12, seed=3, p=0.5, q=2.0)
    assert walks.shape == (100, 12)
    assert (walks[:, 0] == starts).all()
    assert (A[walks[:, :-1].ravel(), walks[:, 1:].ravel()] > 0).all()


def test_a_node_without_edges_keeps_its_walk() -> None:
    assert (random_walks(tadpole(), np.array([5]), length=4, seed=0) == 5).all()


def test_steps_in_proportion_to_weights() -> None:
    walks = random_walks(tadpole([1, 3, 1, 4, 1]), np.zeros(4000, int), length=20, seed=0)
    np.testing.assert_allclose(shares(walks, 2), [3 / 8, 1 / 8, 0, 4 / 8, 0, 0], atol=0.01)


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (1.0, 3.0)])
def test_steps_in_proportion_to_p_and_q(p: float, q: float) -> None:
    """At 2, coming from 1: 0 is a neighbour of 1 (factor 1), 1 is the way back (1/p), 3 leads away (1/q)."""
    walks = random_walks(tadpole([1, 2, 1, 1, 1]), np.zeros(20_000, int), length=20, seed=1, p=p, q=q)
    expected = np.array([2.0, 1 / p, 0, 1 / q, 0, 0])
    np.testing.assert_allclose(shares(walks, 1, 2), expected / expected.sum(), atol=0.012)


def test_the_first_step_knows_no_p_and_q() -> None:
    walks = random_walks(tadpole(), np.full(30_000, 2), length=2, seed=0, p=0.01, q=100.0)
    np.testing.assert_allclose(shares(walks, 2), [1 / 3, 1 / 3, 0, 1 / 3, 0, 0], atol=0.01)


def test_same_seed_same_walks_on_any_number_of_threads() -> None:
    starts = np.tile(np.arange(5), 100)
    alone = random_walks(tadpole(), starts, length=10, seed=7, p=0.5)
    torch.set_num_threads(2)
    together = random_walks(tadpole(), starts, length=10, seed=7, p=0.5)
    assert (alone == together).all()
    assert (alone != random_walks(tadpole(), starts, length=10, seed=8, p=0.5)).any()

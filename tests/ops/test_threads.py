"""The kernels take torch's number of threads, and a process that has only imported them may still fork."""

import os
import subprocess
import sys

import numba
import pytest
import torch

from ngcn.ops import normalize, propagate
from ngcn.ops.threads import FasterThreads, threads_as_before

IN_A_NEW_PROCESS = """
import os, numba, numpy, scipy.sparse, torch
from ngcn.ops import normalize, propagate
A_hat = normalize(scipy.sparse.csr_array(1 - numpy.eye(3)))
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
propagate(A_hat, torch.ones(1, 3, 2), (1,))
assert torch.get_num_threads() == 1 and (not child or numba.get_num_threads() == 1)
"""


def test_the_environment_counts_and_forking_does_not_hurt():
    subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)


def test_torchs_number_counts_whenever_it_is_set(graph):
    A_hat, Z = normalize(graph.adjacency), torch.ones(1, graph.nodes, 2)
    with threads_as_before():
        before = torch.get_num_threads()
        for threads in (2, 1, 2):
            torch.set_num_threads(threads)
            propagate(A_hat, Z, (1,))
            assert numba.get_num_threads() == min(threads, numba.config.NUMBA_NUM_THREADS)
            assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == before


def times_of(threads: FasterThreads, steps: int, seconds: dict[int, float]) -> list[int]:
    """The threads of each step, where a step takes so many seconds."""
    taken = []
    for _ in range(steps):
        taken.append(threads.now)
        threads.after_step(seconds[threads.now])
    return taken


@pytest.mark.parametrize(("seconds", "faster"), [({2: 1.0, 1: 1.9}, 2), ({2: 5.0, 1: 1.0}, 1)])
def test_training_takes_as_many_threads_as_are_faster(seconds: dict[int, float], faster: int) -> None:
    with threads_as_before():
        taken = times_of(FasterThreads(most=2), 400, seconds)
        assert torch.get_num_threads() == faster
    assert taken.count(faster) > 390 and set(taken) == {1, 2}


def test_threads_follow_when_the_cores_become_busy() -> None:
    with threads_as_before():
        threads = FasterThreads(most=2)
        assert times_of(threads, 40, {2: 1.0, 1: 1.2})[-1] == 2
        assert times_of(threads, 100, {2: 9.0, 1: 1.2})[-1] == 1


def test_one_thread_stays_one() -> None:
    assert set(times_of(FasterThreads(most=1), 120, {1: 1.0})) == {1}

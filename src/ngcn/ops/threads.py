"""The kernels use as many threads as torch: ``torch.set_num_threads`` and ``OMP_NUM_THREADS`` apply to both."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch

_MOST: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
_in_fork = False
_this_thread = threading.local()


def _after_fork() -> None:
    """A forked process computes on one thread: OpenMP's threads exist in its parent only, and it would wait for them
    or be ended."""
    global _in_fork
    _in_fork = True
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_after_fork)


def alone() -> bool:
    """Whether kernels run in the thread that calls them: after a fork, and after :func:`stay_alone`."""
    return _in_fork or getattr(_this_thread, "alone", False)


def stay_alone() -> None:
    """Let kernels that this thread calls start no other threads: those are for the thread that trains."""
    _this_thread.alone = True


def follow_torch() -> int:
    """Set the number of threads of kernels that this thread starts to torch's, or to all cores; return it."""
    threads = torch.get_num_threads()
    of_kernels = min(threads, _MOST)
    if numba.get_num_threads() != of_kernels:
        numba.set_num_threads(of_kernels)
    if torch.get_num_threads() != threads:  # when numba makes its threads, it sets OpenMP's number to all cores
        torch.set_num_threads(threads)
    return of_kernels


@contextmanager
def threads_as_before() -> Iterator[None]:
    """Restore the number of threads at the end of the context."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class FasterThreads:
    """All threads or one, whichever is faster. On small graphs, and on busy cores, threads wait
    for each other longer than they compute. Results do not depend on the number of threads.

    Example:
        >>> threads = FasterThreads(most=2)
        >>> for seconds in (9.0, 1.0, 3.0):  # the first step compiles kernels and does not count; then two threads, one
        ...     threads.after_step(seconds)
        >>> threads.now
        2
    """

    AGAIN = 50  # steps, after which the slower choice gets another try

    def __init__(self, most: int) -> None:
        self.choices = (most, 1)
        self.now, self.steps, self.next, self.wait = most, 0, 0, self.AGAIN
        self.seconds: dict[int, float] = {}

    def after_step(self, seconds: float) -> None:
        """Choose the threads of the next step, given the time of this one."""
        self.steps += 1
        if self.choices == (1, 1) or self.steps == 1:
            return
        self.seconds[self.now] = seconds
        if self.steps < self.next:
            self.now = min(self.choices, key=lambda threads: self.seconds.get(threads, 0.0))
        else:
            if self.seconds and max(self.seconds.values()) > 1.5 * min(self.seconds.values()):
                self.wait *= 2  # a clear case
            self.now = self.choices[self.now == self.choices[0]]
            self.next = self.steps + self.wait
        torch.set_num_threads(self.now)

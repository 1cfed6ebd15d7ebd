"""The kernels use as many threads as torch: ``torch.set_num_threads`` and ``OMP_NUM_THREADS`` apply to both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch

_MOST: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


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

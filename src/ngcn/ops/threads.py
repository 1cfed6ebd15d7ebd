"""The kernels use as many threads as torch: ``torch.set_num_threads`` and ``OMP_NUM_THREADS`` are for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch

_MOST: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def follow_torch() -> int:
    """Give the kernels that this thread starts torch's number of threads, or all there are; how many that is."""
    threads = torch.get_num_threads()
    of_kernels = min(threads, _MOST)
    if numba.get_num_threads() != of_kernels:
        numba.set_num_threads(of_kernels)
    if torch.get_num_threads() != threads:  # when numba makes its threads, it sets OpenMP's number to all cores
        torch.set_num_threads(threads)
    return of_kernels


@contextmanager
def threads_as_before() -> Iterator[None]:
    """Whatever is set while this is open, the number of threads is that of before in the end."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)

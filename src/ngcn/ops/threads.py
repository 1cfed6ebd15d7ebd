"""One setting for the two thread pools of the process: torch's and the kernels'."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch


def set_num_threads(threads: int) -> None:
    """Let torch and the kernels of this package use so many threads, and no more.

    Example:
        >>> set_num_threads(1)
    """
    torch.set_num_threads(threads)
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    numba.set_num_threads(min(threads, most))


@contextmanager
def threads_as_before() -> Iterator[None]:
    """Whatever is set while this is open, the number of threads is that of before in the end."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        set_num_threads(threads)

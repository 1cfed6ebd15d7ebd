"""One setting for the two thread pools of the process: torch's and the kernels'."""

from __future__ import annotations

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

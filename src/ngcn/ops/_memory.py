"""Arrays that are used again: a fresh array of some megabytes costs a page fault per 4 KB, every time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

_TORCH = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}
_FORGET_AFTER = 2000  # requests; a training step makes some dozens


def _references_of_an_idle_array() -> int:
    """The list, the loop, and the call itself; from Python 3.14 on, calls borrow what a loop holds."""
    return next(sys.getrefcount(array) for array in [np.empty(1)])


_IDLE = _references_of_an_idle_array()


class _Pool:
    """Hands out arrays, and hands one out again as soon as nobody but the pool refers to it.

    A tensor made by ``torch.from_numpy`` refers to its array for as long as it, or a graph that saved it, lives.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.arrays: dict[tuple[Any, ...], list[np.ndarray]] = {}
        self.last_request: dict[tuple[Any, ...], int] = {}

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array with whatever was in it before."""
        self.requests += 1
        key = (*shape, np.dtype(dtype))
        self.last_request[key] = self.requests
        for array in self.arrays.get(key, ()):
            if sys.getrefcount(array) == _IDLE:
                return array
        for old in [k for k, last in list(self.last_request.items()) if self.requests - last > _FORGET_AFTER]:
            self.arrays.pop(old, None)  # not there if there was no memory for it, or another thread was first
            self.last_request.pop(old, None)
        array = torch.empty(shape, dtype=_TORCH[np.dtype(dtype)]).numpy()  # unlike numpy's, at a multiple of 64 bytes
        self.arrays.setdefault(key, []).append(array)
        return array


_pool = _Pool()


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Like ``np.empty``, but out of the pool."""
    return _pool.empty(shape, dtype)


def empty_like(array: np.ndarray) -> np.ndarray:
    return _pool.empty(array.shape, array.dtype)

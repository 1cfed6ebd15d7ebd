"""`Workspace`: reuse the memory of intermediate results. A new array of some megabytes costs a page fault per 4 KB."""

from __future__ import annotations

import weakref
from contextvars import ContextVar, Token
from typing import Any

import numpy as np
import torch


class Workspace:
    """While it is open, operators on the CPU take the memory of their results from a pool.

    Memory returns to the pool when the last tensor that uses it is gone, and is freed when the workspace closes.

    Example:
        >>> from ngcn.ops import relu_dropout
        >>> with Workspace():
        ...     first = relu_dropout(torch.ones(1, 2, 3)).data_ptr()
        ...     second = relu_dropout(torch.ones(1, 2, 3)).data_ptr()
        >>> first == second
        True
    """

    def __init__(self) -> None:
        self._free: dict[tuple[Any, ...], list[np.ndarray]] = {}
        self._before: list[Token[Workspace | None]] = []

    def __enter__(self) -> Workspace:
        self._before.append(_open.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _open.reset(self._before.pop())
        if not self._before:
            self._free = {}  # arrays still in use return to the old lists, which go with the last of them

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialised array. Do not keep a slice of it longer than itself: only the array counts as its user."""
        free = self._free.setdefault((shape, np.dtype(dtype)), [])
        try:
            memory = free.pop()
        except IndexError:
            memory = _allocate(shape, dtype)
        array = memory.view()
        weakref.finalize(array, free.append, memory).atexit = False
        return array


_open: ContextVar[Workspace | None] = ContextVar("workspace", default=None)
_TORCH = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}


def _allocate(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return torch.empty(shape, dtype=_TORCH[np.dtype(dtype)]).numpy()  # unlike NumPy's, aligned to 64 bytes


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialised array, from the open workspace if there is one."""
    workspace = _open.get()
    return _allocate(shape, dtype) if workspace is None else workspace.empty(shape, dtype)


def empty_like(array: np.ndarray) -> np.ndarray:
    return empty(array.shape, array.dtype)

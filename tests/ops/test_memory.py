"""The pool must never hand out an array that somebody still looks at."""

from __future__ import annotations

import numpy as np
import torch
from ngcn.ops._memory import _FORGET_AFTER, _Pool


def test_free_arrays_come_again_and_used_ones_do_not():
    pool = _Pool()
    first = pool.empty((3, 4), np.float32)
    second = pool.empty((3, 4), np.float32)
    assert first is not second
    address = id(first)
    del first
    assert id(pool.empty((3, 4), np.float32)) == address


def test_tensors_views_and_graphs_keep_an_array_in_use():
    pool = _Pool()
    array = pool.empty((2, 2), np.float32)
    array[:] = 1
    leaf = torch.ones(2, 2, requires_grad=True)
    result = (torch.from_numpy(array) * leaf).sum()  # the graph has saved the tensor for backward
    address = id(array)
    del array
    assert id(pool.empty((2, 2), np.float32)) != address
    result.backward()
    del result, leaf
    assert id(pool.empty((2, 2), np.float32)) == address  # now nobody needs it


def test_a_view_keeps_its_array_in_use():
    pool = _Pool()
    row = pool.empty((2, 2), np.float32)[0]
    assert pool.empty((2, 2), np.float32) is not row.base


def test_shapes_of_the_past_are_forgotten():
    pool = _Pool()
    pool.empty((9, 9), np.float32)
    for _ in range(_FORGET_AFTER + 1):
        pool.empty((2, 2), np.float32)
    pool.empty((3, 3), np.float32)
    assert (9, 9, np.dtype(np.float32)) not in pool.arrays

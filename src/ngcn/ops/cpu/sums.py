"""Sums of scaled rows, the inner loop of every product."""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper
from ngcn.ops.cpu.simd import far_16, far_32, far_64, gather_3, gather_8, gather_16, gather_32, gather_64


@helper
def clear(row: np.ndarray, begin: int, stop: int) -> None:
    """``row[begin:stop] = 0``, which takes a second to compile if written like that."""
    for c in range(begin, stop):
        row[c] = 0


@helper
def add_rows(
    out: np.ndarray,
    at: int,
    source: np.ndarray,
    column: int,
    width: int,
    rows: np.ndarray,
    begin: int,
    stop: int,
    factors: np.ndarray,
    first: int,
    stride: int,
    fresh: bool,
) -> None:
    """``out[at + c] = start + sum over e of factors[first + e * stride] * source[rows[e], column + c]`` for c < width.

    The start is 0 if `fresh`, else the current value.
    """
    c = 0
    while width - c >= 64:  # a constant width is up to 20 % faster than a variable
        gather_64(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, 64, fresh)
        c += 64
    rest = width - c
    if rest > 32:
        gather_64(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, rest, fresh)
    elif rest > 16:
        gather_32(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, rest, fresh)
    elif rest == 16:
        gather_16(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, 16, fresh)
    elif rest >= 8:
        gather_16(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, rest, fresh)
    elif rest >= 4:
        gather_8(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, rest, fresh)
    elif rest > 0:
        gather_3(out, at + c, source, column + c, rows, begin, stop, factors, first, stride, 0, rest, fresh)


@helper
def add_far_rows(
    out: np.ndarray, source: np.ndarray, rows: np.ndarray, begin: int, stop: int, factors: np.ndarray
) -> None:
    """``out[c] = sum over e of factors[e] * source[rows[e], c]``: `add_rows` for a source larger than the cache."""
    c, columns = 0, len(out)
    while columns - c >= 8:
        wide = min(columns - c, 64)
        if wide == 64:
            far_64(out, c, source, c, rows, begin, stop, factors, 0, 1, 0, 64, True)
        elif wide > 32:
            far_64(out, c, source, c, rows, begin, stop, factors, 0, 1, 0, wide, True)
        elif wide > 16:
            far_32(out, c, source, c, rows, begin, stop, factors, 0, 1, 0, wide, True)
        else:
            far_16(out, c, source, c, rows, begin, stop, factors, 0, 1, 0, wide, True)
        c += wide
    add_rows(out, c, source, c, columns - c, rows, begin, stop, factors, 0, 1, True)

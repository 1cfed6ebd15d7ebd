"""How kernels are compiled, and the pieces they share: random bits and vector sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ngcn.ops._simd import gather_3, gather_8, gather_16, gather_32, gather_64
from ngcn.ops.threads import follow_torch

# No `nnan`/`ninf`: a diverging model must show as NaN in the loss.
FAST = {"contract", "reassoc", "nsz", "arcp"}
BLOCK = 64  # rows that a thread takes at a time

U32 = np.uint32

_SOURCES = tuple(sorted((p.name, p.stat().st_mtime, p.stat().st_size) for p in Path(__file__).parent.glob("*.py")))


def kernel(function: Callable[..., None]) -> Callable[..., None]:
    compiled = _compiled(function, parallel=True, fastmath=FAST, nogil=True)
    # numba compiles again when the function's own file has changed, but a kernel has pieces of other files in it
    if cached := getattr(compiled._cache, "_cache_file", None):
        cached._source_stamp = cached._source_stamp, _SOURCES

    @wraps(compiled, updated=())
    def launch(*arguments: Any) -> None:
        follow_torch()
        compiled(*arguments)

    return launch


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that it could be kept in may be written: every process compiles for itself
        return numba.njit(**options)(function)


@helper
def _mix(h: U32) -> U32:
    """A bijection of 32-bit words in which every input bit moves every output bit (multiply and xor-shift)."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x7FEB352D))
    h = U32(h ^ U32(h >> U32(15)))
    h = U32(h * U32(0x846CA68B))
    return U32(h ^ U32(h >> U32(16)))


@helper
def lowest_digit(keep: int) -> int:
    """The place of the lowest 1 among the 16 binary digits of `keep`; 16 for 65536, which is 1.0."""
    digit = 0
    while (keep >> digit) & 1 == 0:
        digit += 1
    return digit


@helper
def consecutive(first: int, count: int) -> np.ndarray:
    """``first, first + 1, ...``; numba would take seconds to compile numpy's own."""
    numbers = np.empty(count, np.uint32)
    for k in range(count):
        numbers[k] = first + k
    return numbers


@helper
def keep_bits(bits: np.ndarray, numbers: np.ndarray, key: np.ndarray, keep: int, digit: int) -> None:
    """``bits[w, k]``: 32 independent bits, each 1 with probability ``keep / 65536``, for ``numbers[k]`` under this key.

    The binary digits of the probability say how to combine uniform words: from the lowest 1 at `digit` up, OR for a 1
    and AND for a 0. One half takes a single word for 32 decisions. The compiler makes vectors of these loops.
    """
    words, count = bits.shape
    bases = np.empty(count, np.uint32)
    for k in range(count):
        bases[k] = _mix(U32(U32(numbers[k]) ^ key[0])) + key[1]
    for w in range(words):
        target = bits[w]
        for k in range(count):
            target[k] = 0 if digit < 16 else 0xFFFFFFFF  # a probability of 1
        for d in range(digit, 16):
            place = U32((d + 16 * w) * 0x9E3779B9)
            if (keep >> d) & 1:
                for k in range(count):
                    target[k] |= _mix(U32(bases[k] + place))
            else:
                for k in range(count):
                    target[k] &= _mix(U32(bases[k] + place))


@helper
def clear(row: np.ndarray, begin: int, stop: int) -> None:
    """``row[begin:stop] = 0``, which numba would take a second to compile if it were written so."""
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

    The start is 0 if `fresh`, else what stands there.
    """
    c = 0
    while width - c >= 64:  # where it is a number, not a variable, it is up to a fifth faster
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

"""How kernels are compiled, and the pieces they share: random bits and vector sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ngcn.ops._simd import add_scaled_8, add_scaled_16

# No `nnan`/`ninf`: a diverging model must show as NaN in the loss.
FAST = {"contract", "reassoc", "nsz", "arcp"}
BLOCK = 64  # rows that a thread takes at a time

U32 = np.uint32


def kernel(function: Callable[..., None]) -> Callable[..., None]:
    return numba.njit(parallel=True, fastmath=FAST, nogil=True, cache=True)(function)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    return numba.njit(inline="always", cache=True)(function)


@helper
def _mix(h: U32) -> U32:
    """A bijection of 32-bit words in which every input bit moves every output bit (multiply and xor-shift)."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x7FEB352D))
    h = U32(h ^ U32(h >> U32(15)))
    h = U32(h * U32(0x846CA68B))
    return U32(h ^ U32(h >> U32(16)))


@helper
def kept(key: np.ndarray, counter: int, keep: int) -> U32:
    """32 independent bits, each 1 with probability ``keep / 65536``, for this counter under this key.

    The binary digits of the probability say how to combine uniform words: from the lowest digit up, OR for a 1 and
    AND for a 0. One half takes a single word for 32 decisions.
    """
    if keep >= 65536:
        return U32(0xFFFFFFFF)
    base = U32(_mix(U32(U32(counter) ^ key[0])) + U32(_mix(U32(U32(counter >> 32) ^ key[1]))))
    digit = 0
    while (keep >> digit) & 1 == 0:
        digit += 1
    bits = U32(0)
    while digit < 16:
        word = _mix(U32(base + U32(digit * 0x9E3779B9)))
        bits = U32(bits | word) if (keep >> digit) & 1 else U32(bits & word)
        digit += 1
    return bits


@helper
def add_rows(
    out: np.ndarray,
    begin: int,
    stop: int,
    a: tuple[float, float, float, float],
    row0: np.ndarray,
    row1: np.ndarray,
    row2: np.ndarray,
    row3: np.ndarray,
) -> None:
    """``out[c] += a[0] * row0[c] + ... + a[3] * row3[c]`` for the columns from `begin` to `stop`."""
    sixteens = begin + (stop - begin) // 16 * 16
    eights = begin + (stop - begin) // 8 * 8
    for c in range(begin, sixteens, 16):
        add_scaled_16(out, c, a[0], row0, a[1], row1, a[2], row2, a[3], row3)
    if sixteens < eights:
        add_scaled_8(out, sixteens, a[0], row0, a[1], row1, a[2], row2, a[3], row3)
    for c in range(eights, stop):
        out[c] += a[0] * row0[c] + a[1] * row1[c] + a[2] * row2[c] + a[3] * row3[c]

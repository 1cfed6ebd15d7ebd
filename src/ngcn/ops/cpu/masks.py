"""Counter-based dropout masks, and other parts of kernels.

The bits of an entry depend on the key and on the number of the entry alone. :func:`ngcn.ops.reference.keep_bits`
computes the same bits in PyTorch.
"""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper

Array = np.ndarray
U32 = np.uint32
U64 = np.uint64


@helper
def _mix(h: U32) -> U32:
    """A bijection of 32-bit words in which every input bit affects every output bit (multiply and xor-shift)."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x7FEB352D))
    h = U32(h ^ U32(h >> U32(15)))
    h = U32(h * U32(0x846CA68B))
    return U32(h ^ U32(h >> U32(16)))


@helper
def lowest_digit(keep: int) -> int:
    """The position of the lowest 1 among the 16 binary digits of `keep`; 16 for 65536, which is probability 1."""
    digit = 0
    while (keep >> digit) & 1 == 0:
        digit += 1
    return digit


@helper
def consecutive(first: int, count: int) -> Array:
    """``first, first + 1, ...``; ``np.arange`` takes seconds to compile."""
    numbers = np.empty(count, np.uint32)
    for k in range(count):
        numbers[k] = first + k
    return numbers


@helper
def clear(row: Array, begin: int, stop: int) -> None:
    """``row[begin:stop] = 0``, which takes a second to compile if written like that."""
    for c in range(begin, stop):
        row[c] = 0


@helper
def keep_bits(bits: Array, numbers: Array, first: int, key_0: int, key_1: int, keep: int, digit: int) -> None:
    """``bits[w, k]``: 32 independent bits, each 1 with probability ``keep / 65536``, for ``numbers[first + k]``.

    The binary digits of the probability say how to combine uniform words: from the lowest 1, at `digit`, upwards, OR
    for a 1 and AND for a 0. A probability of one half takes a single word for 32 decisions. The compiler vectorises
    these loops.
    """
    words, count = bits.shape
    bases = np.empty(count, np.uint32)
    begin = U64(first)  # unsigned: a check for negative indices would prevent vector code
    for k in range(U64(count)):
        bases[k] = _mix(U32(U32(numbers[begin + k]) ^ U32(key_0))) + U32(key_1)
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

"""Loops over the non-zeros of Â and X, compiled by numba; their derivatives are in propagate.py and features.py.

Conventions: a dense operand comes in blocks, ``(powers, nodes, columns)``, block p with the towers of the p-th power
side by side. A block is contiguous: its rows are gathered at random, and rows of a few hundred bytes that lie close
together are several times faster to gather than slices of a wide matrix. ``distance[v]`` says how far node v is from
the nodes whose result is wanted; what lies beyond the reach of a power is set to zero, not computed. Each output row
is the work of one thread, in a fixed order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, add_rows, clear, helper, kept, kernel, lowest_digit
from ngcn.ops._simd import gather_4x16, spread_8, spread_32

ENTRIES = 32  # non-zeros of a row that are summed before the next are looked at: their factors stay in the L1 cache


@kernel
def multiply_powers(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    Z: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    powers: np.ndarray,
    distance: np.ndarray,
    limits: np.ndarray,
    outward: int,
) -> None:
    """``out[p] = A^powers[p] @ Z[p]``.

    The s-th product of block p is computed up to distance ``limits[p] + s * outward``. `work` is two blocks of scratch.
    """
    rows, columns = Z.shape[1:]
    shares = (rows + BLOCK - 1) // BLOCK
    for p in range(len(powers)):
        for s in range(min(1, powers[p]), powers[p] + 1):
            source = Z[p] if s <= 1 else work[(s - 1) % 2]
            product = out[p] if s == powers[p] else work[s % 2]
            limit = limits[p] + s * outward
            for share in numba.prange(shares):
                for v in range(share * BLOCK, min(rows, (share + 1) * BLOCK)):
                    target = product[v]
                    clear(target, 0, columns)
                    if distance[v] > limit:
                        continue
                    if s == 0:  # A^0: copy
                        for c in range(columns):
                            target[c] = source[v, c]
                    else:
                        add_rows(target, 0, source, 0, columns, indices, indptr[v], indptr[v + 1], weights, 0, 1)


@helper
def _mask_factors(
    factors: np.ndarray,
    per_entry: int,
    values: np.ndarray,
    entries: np.ndarray,
    begin: int,
    stop: int,
    scale: float,
    key: np.ndarray,
    keep: int,
    digit: int,
) -> None:
    """``factors[(e - begin) * per_entry + t] = x_e * mask_e,t / keep`` for all towers t."""
    words = (per_entry + 31) // 32
    for e in range(begin, stop):
        for w in range(words):
            at, bits = (e - begin) * per_entry + w * 32, kept(key, entries[e] * words + w, keep, digit)
            if per_entry == 8:
                spread_8(factors, at, bits, values[e] * scale)
            else:
                spread_32(factors, at, bits, values[e] * scale)


@helper
def _factors_per_entry(towers: int) -> int:
    return 8 if towers <= 8 else (towers + 31) // 32 * 32


@kernel
def features_times(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    entries: np.ndarray,
    W: np.ndarray,
    out: np.ndarray,
    towers: int,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """``out[p, i, tower] = sum_j x_ij * mask_ij,tower / keep * W[j, tower]``: X W, each tower with its own mask.

    In W all towers stand side by side: the random bits of a non-zero serve them all. `entries` numbers the non-zeros
    alike in X and in its transpose: it is the counter of the mask, which therefore agrees between the two without
    being stored. ``first[d]`` is the first power that matters at distance d.
    """
    powers, rows, columns = out.shape
    width = columns * powers // towers
    per_entry = _factors_per_entry(towers)
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    for share in numba.prange((rows + BLOCK - 1) // BLOCK):
        factors = np.empty(ENTRIES * per_entry, values.dtype)
        sums = np.empty(towers * width, values.dtype)
        for i in range(share * BLOCK, min(rows, (share + 1) * BLOCK)):
            low = first[distance[i]]
            for p in range(low):
                clear(out[p, i], 0, columns)
            if low >= powers:
                continue
            clear(sums, low * columns, towers * width)
            first_tower = low * towers // powers
            if keep >= 65536:
                at = low * columns
                add_rows(sums, at, W, at, towers * width - at, indices, indptr[i], indptr[i + 1], values, 0, 1)
            else:
                for begin in range(indptr[i], indptr[i + 1], ENTRIES):
                    stop = min(begin + ENTRIES, indptr[i + 1])
                    _mask_factors(factors, per_entry, values, entries, begin, stop, scale, key, keep, digit)
                    t = first_tower
                    while width == 16 and t + 4 <= towers:  # the paper's width: four towers fill the registers
                        f = t - begin * per_entry
                        gather_4x16(sums, t * 16, W, t * 16, indices, begin, stop, factors, f, per_entry, 1, 16)
                        t += 4
                    while t < towers:
                        at, f = t * width, t - begin * per_entry
                        add_rows(sums, at, W, at, width, indices, begin, stop, factors, f, per_entry)
                        t += 1
            for p in range(low, powers):
                for c in range(columns):
                    out[p, i, c] = sums[p * columns + c]


@kernel
def transposed_features_times(
    parts: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    entries: np.ndarray,
    G: np.ndarray,
    out: np.ndarray,
    towers: int,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
    shares: np.ndarray,
) -> None:
    """``out[j, tower] = sum_i x_ij * mask_ij,tower / keep * G[p, i, tower]``: X^T G, the gradient of W.

    X^T comes in vertical `parts`, one CSR after the other, so that the rows of G which a part refers to stay in the
    cache; ``shares[s]`` to ``shares[s + 1]`` are the rows of `out` that one thread takes through all parts.
    """
    powers, _, columns = G.shape
    replicas = towers // powers
    width = columns // replicas
    rows = out.shape[0]
    per_entry = _factors_per_entry(towers)
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    for share in numba.prange(len(shares) - 1):
        factors = np.empty(ENTRIES * per_entry, values.dtype)
        for part in range(parts):
            for j in range(shares[share], shares[share + 1]):
                if part == 0:
                    clear(out[j], 0, towers * width)
                end = indptr[part * rows + j + 1]
                for begin in range(indptr[part * rows + j], end, ENTRIES):
                    stop = min(begin + ENTRIES, end)
                    low = powers
                    for e in range(begin, stop):
                        low = min(low, first[distance[indices[e]]])
                    if low == powers:
                        continue
                    _mask_factors(factors, per_entry, values, entries, begin, stop, scale, key, keep, digit)
                    for p in range(low, powers):
                        r = 0
                        while width == 16 and r + 4 <= replicas:
                            at, f = p * columns + r * 16, p * replicas + r - begin * per_entry
                            gather_4x16(out[j], at, G[p], r * 16, indices, begin, stop, factors, f, per_entry, 1, 16)
                            r += 4
                        while r < replicas:
                            at, f = p * columns + r * width, p * replicas + r - begin * per_entry
                            add_rows(out[j], at, G[p], r * width, width, indices, begin, stop, factors, f, per_entry)
                            r += 1

"""Loops over the non-zeros of Â and X, compiled by numba; their derivatives are in propagate.py and features.py.

Conventions: a dense operand comes in blocks, ``(blocks, nodes, columns)``, block p with the towers of the p-th power
side by side; where several networks are computed together, the blocks of the next one follow. A block is contiguous:
its rows are gathered at random, and rows of a few hundred bytes that lie close together are several times faster to
gather than slices of a wide matrix. ``distance[v]`` says how far node v is from the nodes whose result is wanted; what
lies beyond the reach of a power is set to zero, not computed. Each output row is the work of one thread, in a fixed
order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, U32, add_rows, clear, consecutive, helper, keep_bits, kernel, lowest_digit
from ngcn.ops._simd import far_16, far_32, far_64, gather_4x16

ENTRIES = 16384  # non-zeros, about, that are looked at together: their random bits and factors stay in the cache
MOST_ROWS = 512
FAR = 1_000_000  # numbers in a block from which on its rows are fetched ahead: several times the cache of a core


@helper
def _add_far_rows(
    out: np.ndarray, source: np.ndarray, rows: np.ndarray, begin: int, stop: int, factors: np.ndarray
) -> None:
    """``out[c] = sum over e of factors[e] * source[rows[e], c]``: `add_rows` for a source that is far away."""
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
    """``out[p] = A^powers[p] @ Z[p]`` for the blocks of each network.

    The s-th product of block p is computed up to distance ``limits[p] + s * outward``. `work` is two blocks of scratch.
    """
    blocks, rows, columns = Z.shape
    shares = (rows + BLOCK - 1) // BLOCK
    far = rows * columns > FAR
    for b in range(blocks):
        p = b % len(powers)
        for s in range(min(1, powers[p]), powers[p] + 1):
            source = Z[b] if s <= 1 else work[(s - 1) % 2]
            product = out[b] if s == powers[p] else work[s % 2]
            limit = limits[p] + s * outward
            for share in numba.prange(shares):
                for v in range(share * BLOCK, min(rows, (share + 1) * BLOCK)):
                    target = product[v]
                    if distance[v] > limit:
                        clear(target, 0, columns)
                    elif s == 0:  # A^0: copy
                        for c in range(columns):
                            target[c] = source[v, c]
                    elif far:
                        _add_far_rows(target, source, indices, indptr[v], indptr[v + 1], weights)
                    else:
                        add_rows(target, 0, source, 0, columns, indices, indptr[v], indptr[v + 1], weights, 0, 1, True)


@helper
def _scale(factors: np.ndarray, values: np.ndarray, bits: np.ndarray, tower: int, several: int, scale: float) -> None:
    """``factors[t, k] = x_k * mask_k,tower+t / keep`` for t < several; `bits` has 32 towers to a word."""
    for t in range(several):
        line, word, bit = factors[t], bits[(tower + t) // 32], U32(1) << U32((tower + t) % 32)
        for k in range(len(word)):
            line[k] = values[k] * scale if word[k] & bit else values.dtype.type(0)


@kernel
def features_times(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    W: np.ndarray,
    out: np.ndarray,
    powers: int,
    replicas: int,
    keys: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """``out[p, i, tower] = sum_j x_ij * mask_ij,tower / keep * W[p, j, tower]``: X W, each tower with its own mask.

    The mask is that of the number of the entry among the non-zeros of X; the transpose knows these numbers, so that the
    two agree on the mask without its being stored. ``first[d]`` is the first power that matters at distance d. Each
    network has so many `powers`, and a key.
    """
    blocks, rows, columns = out.shape
    masked = keep < 65536
    if not masked:
        replicas = 1  # without a mask, the towers of a power are one
    width = columns // replicas
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    block = max(1, min(MOST_ROWS, ENTRIES * rows // max(1, len(values))))
    for share in numba.prange((rows + block - 1) // block):
        top, bottom = share * block, min(rows, (share + 1) * block)
        begin, count = indptr[top], (indptr[bottom] - indptr[top]) * masked
        bits = np.empty(((powers * replicas + 31) // 32, count), np.uint32)
        factors = np.empty((4, count), values.dtype)
        flat, shift = (factors.reshape(-1), -begin) if masked else (values, 0)
        for b in range(blocks):
            p = b % powers
            if p == 0:
                keep_bits(bits, consecutive(begin, count), keys[b // powers % len(keys)], keep, digit)
            r = 0
            while r < replicas:
                several = 4 if width == 16 and r + 4 <= replicas else 1  # the paper's width: four fill the registers
                _scale(factors, values[begin:], bits, p * replicas + r, several, scale)
                left, W_b = r * width, W[b]
                for i in range(top, bottom):
                    target, e, stop = out[b, i], indptr[i], indptr[i + 1]
                    if p < first[distance[i]]:
                        clear(target, left, left + several * width)
                    elif several == 4:
                        gather_4x16(target, left, W_b, left, indices, e, stop, flat, shift, 1, count, 16, True)
                    else:
                        add_rows(target, left, W_b, left, width, indices, e, stop, flat, shift, 1, True)
                r += several


@kernel
def transposed_features_times(
    parts: int,
    shares: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    G: np.ndarray,
    out: np.ndarray,
    replicas: int,
    keys: np.ndarray,
    keep: int,
) -> None:
    """``out[p, j, tower] = sum_i x_ij * mask_ij,tower / keep * G[p, i, tower]``: X^T G, the gradient of W.

    X^T comes in vertical `parts`, one after the other, so that the rows of G which a part refers to stay in the cache;
    ``shares[s]`` to ``shares[s + 1]`` are the rows of `out` that one thread takes through all parts. Line j of a part
    has the entries from ``starts[part, j]``, for power p up to ``stops[p, part, j]``: beyond are those that it does not
    reach. `numbers` are those of the entries in X.
    """
    blocks, _, columns = G.shape
    powers = len(stops)
    masked = keep < 65536
    if not masked:
        replicas = 1
    width = columns // replicas
    lines = out.shape[1]
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    block = max(1, ENTRIES * parts * lines // max(1, len(values)))
    for share in numba.prange(len(shares) - 1):
        for part in range(parts):
            for top in range(shares[share], shares[share + 1], block):
                bottom = min(top + block, shares[share + 1])
                begin, count = starts[part, top], (stops[powers - 1, part, bottom - 1] - starts[part, top]) * masked
                bits = np.empty(((powers * replicas + 31) // 32, count), np.uint32)
                factors = np.empty((4, count), values.dtype)
                flat, shift = (factors.reshape(-1), -begin) if masked else (values, 0)
                for b in range(blocks):
                    p = b % powers
                    if p == 0:
                        keep_bits(bits, numbers[begin : begin + count], keys[b // powers % len(keys)], keep, digit)
                    r = 0
                    while r < replicas:
                        several = 4 if width == 16 and r + 4 <= replicas else 1
                        _scale(factors, values[begin:], bits, p * replicas + r, several, scale)
                        left, G_b, new = r * width, G[b], part == 0
                        for j in range(top, bottom):
                            target, e, stop = out[b, j], starts[part, j], stops[p, part, j]
                            if several == 4:
                                gather_4x16(target, left, G_b, left, indices, e, stop, flat, shift, 1, count, 16, new)
                            else:
                                add_rows(target, left, G_b, left, width, indices, e, stop, flat, shift, 1, new)
                        r += several

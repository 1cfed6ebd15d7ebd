"""Kernels that loop over the non-zeros of Â and X.

A dense operand has the shape ``(blocks, nodes, columns)``. Block p has the towers of the p-th power side by side. A
block is contiguous: its rows are gathered at random, and short rows close together are several times faster to gather
than slices of a wide matrix. ``distance[v]`` is the distance of node v from the nodes whose result is wanted. Rows out
of reach are set to zero, not computed. One thread computes each output row, in a fixed order, so the result does not
depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper, kernel
from ngcn.ops.cpu.masks import U32, U64, Array, clear, consecutive, keep_bits, lowest_digit
from ngcn.ops.cpu.simd import add_far_rows, add_rows, add_rows_4x16

BLOCK = 128  # rows in a share of `multiply_powers`
ENTRIES = 16384  # non-zeros, about, in a share: their random bits and factors stay in the cache
MOST_ROWS = 512
NEXT = U64(1)
FAR = 1_000_000  # numbers in a block from which on its rows are prefetched: several times the cache of a core


def rows_per_share(rows: int, entries: int) -> int:
    """The rows of X that `features_times` takes in a share."""
    return max(1, min(MOST_ROWS, ENTRIES * rows // max(1, entries)))


@kernel
def multiply_powers(
    share: int,
    indptr: Array,
    indices: Array,
    weights: Array,
    Z: Array,
    out: Array,
    work: Array,
    products: Array,
    distance: Array,
) -> None:
    """``out[p] = A^k_p @ Z[p]``, one sparse product per turn.

    ``products[turn]`` has the block, its power, the number of the product within the power from 1 on (0: copy), and the
    distance up to which to compute it. `work` is two blocks of scratch memory.
    """
    rows, columns = Z.shape[1:]
    shares = (rows + BLOCK - 1) // BLOCK
    turn, begin = share // shares, share % shares * BLOCK
    b, power, s, limit = products[turn, 0], products[turn, 1], products[turn, 2], products[turn, 3]
    source = Z[b] if s <= 1 else work[(s - 1) % 2]
    product = out[b] if s == power else work[s % 2]
    first, last = U64(begin), U64(min(rows, begin + BLOCK))  # unsigned: no checks for negative indices
    if s == 0:
        for v in range(first, last):
            if distance[v] <= limit:
                for c in range(columns):
                    product[v, c] = source[v, c]
    elif rows * columns > FAR:
        for v in range(first, last):
            e, stop = indptr[v], indptr[v + NEXT]
            if distance[v] <= limit:
                add_far_rows(product[v], 0, source, 0, columns, indices, e, stop, weights, 0, 1, True)
    else:
        for v in range(first, last):
            e, stop = indptr[v], indptr[v + NEXT]
            if distance[v] <= limit:
                add_rows(product[v], 0, source, 0, columns, indices, e, stop, weights, 0, 1, True)
    for v in range(first, last):
        if distance[v] > limit:
            clear(product[v], 0, columns)


@helper
def _scale(factors: Array, values: Array, begin: int, bits: Array, tower: int, several: int, scale: float) -> None:
    """``factors[t * count + k] = x_begin+k * mask_k,tower+t / keep`` for t < several; 32 towers to a word."""
    count = bits.shape[1]
    for t in range(several):
        word, bit = bits[(tower + t) // 32], U32(1) << U32((tower + t) % 32)
        at, x = U64(t * count), U64(begin)  # unsigned: a check for negative indices would prevent vector code
        for k in range(U64(count)):
            factors[at + k] = values[x + k] * scale if word[k] & bit else values.dtype.type(0)


@kernel
def features_times(
    share: int,
    indptr: Array,
    indices: Array,
    values: Array,
    W: Array,
    out: Array,
    distance: Array,
    first: Array,
    block: int,
    replicas: int,
    key_0: int,
    key_1: int,
    keep: int,
) -> None:
    """``out[p, i, tower] = sum_j x_ij * mask_ij,tower / keep * W[p, j, tower]``: X W, each tower with its own mask.

    The mask depends on the number of the entry among the non-zeros of X. The transpose has these numbers too, so that
    both use the same mask and none is stored. ``first[d]`` is the first power that matters at distance d. A share has
    `block` rows.
    """
    powers, rows, columns = out.shape
    masked = keep < 65536
    if not masked:
        replicas = 1  # without a mask, the towers of a power are one wide tower
    width = columns // replicas
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    top, bottom = share * block, min(rows, (share + 1) * block)
    begin, count = indptr[top], (indptr[bottom] - indptr[top]) * masked
    bits = np.empty(((powers * replicas + 31) // 32, count), np.uint32)
    factors = np.empty(4 * count, values.dtype)
    flat, shift = (factors, -begin) if masked else (values, 0)
    keep_bits(bits, consecutive(begin, count), 0, key_0, key_1, keep, digit)
    for p in range(powers):
        r = 0
        while r < replicas:
            several = 4 if width == 16 and r + 4 <= replicas else 1  # the paper's width: four fill the registers
            _scale(factors, values, begin, bits, p * replicas + r, several, scale)
            left, W_p = r * width, W[p]
            for i in range(U64(top), U64(bottom)):
                target, e, stop = out[p, i], indptr[i], indptr[i + NEXT]
                if p < first[distance[i]]:
                    clear(target, left, left + several * width)
                elif several == 4:
                    add_rows_4x16(target, left, W_p, left, count, indices, e, stop, flat, shift, 1, True)
                else:
                    add_rows(target, left, W_p, left, width, indices, e, stop, flat, shift, 1, True)
            r += several


@kernel
def transposed_features_times(
    share: int,
    shares: Array,
    starts: Array,
    stops: Array,
    indices: Array,
    values: Array,
    numbers: Array,
    G: Array,
    out: Array,
    replicas: int,
    key_0: int,
    key_1: int,
    keep: int,
) -> None:
    """``out[p, j, tower] = sum_i x_ij * mask_ij,tower / keep * G[p, i, tower]``: X^T G, the gradient of W.

    X^T comes in vertical parts, one after the other, so that the rows of G that a part refers to stay in the cache.
    Share s has the rows ``shares[s]`` to ``shares[s + 1]`` of `out`, in all parts. Line j of a part has the entries
    from ``starts[part, j]`` up to ``stops[p, part, j]`` for power p; those beyond are out of its reach. `numbers` are
    the numbers of the entries in X.
    """
    powers, parts, lines = stops.shape
    columns = G.shape[2]
    masked = keep < 65536
    if not masked:
        replicas = 1
    width = columns // replicas
    scale, digit = values.dtype.type(65536 / keep), lowest_digit(keep)
    block = max(1, ENTRIES * parts * lines // max(1, len(values)))
    for part in range(parts):
        for top in range(shares[share], shares[share + 1], block):
            bottom = min(top + block, shares[share + 1])
            begin, count = starts[part, top], (stops[powers - 1, part, bottom - 1] - starts[part, top]) * masked
            bits = np.empty(((powers * replicas + 31) // 32, count), np.uint32)
            factors = np.empty(4 * count, values.dtype)
            flat, shift = (factors, -begin) if masked else (values, 0)
            keep_bits(bits, numbers, begin, key_0, key_1, keep, digit)
            for p in range(powers):
                r = 0
                while r < replicas:
                    several = 4 if width == 16 and r + 4 <= replicas else 1
                    _scale(factors, values, begin, bits, p * replicas + r, several, scale)
                    left, G_p, new = r * width, G[p], part == 0
                    for j in range(U64(top), U64(bottom)):
                        target, e, stop = out[p, j], starts[part, j], stops[p, part, j]
                        if several == 4:
                            add_rows_4x16(target, left, G_p, left, count, indices, e, stop, flat, shift, 1, new)
                        else:
                            add_rows(target, left, G_p, left, width, indices, e, stop, flat, shift, 1, new)
                    r += several

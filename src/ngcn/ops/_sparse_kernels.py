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

from ngcn.ops._compile import BLOCK, U32, add_rows, kept, kernel
from ngcn.ops._simd import add_scaled_16, spread_bits


@kernel
def sparse_times_dense(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    source: np.ndarray,
    out: np.ndarray,
    distance: np.ndarray,
    limit: int,
) -> None:
    """``out = A @ source`` in the rows up to distance `limit`."""
    rows = indptr.size - 1
    zero = weights.dtype.type(0)
    for block in numba.prange((rows + BLOCK - 1) // BLOCK):
        for v in range(block * BLOCK, min(rows, (block + 1) * BLOCK)):
            target = out[v]
            target[:] = 0
            if distance[v] > limit:
                continue
            last = indptr[v + 1] - 1
            for e in range(indptr[v], indptr[v + 1], 4):  # four neighbours at a time: the sums are loaded once
                e1, e2, e3 = min(e + 1, last), min(e + 2, last), min(e + 3, last)
                a = (
                    weights[e],
                    weights[e1] if e + 1 <= last else zero,
                    weights[e2] if e + 2 <= last else zero,
                    weights[e3] if e + 3 <= last else zero,
                )
                row0, row1 = source[U32(indices[e])], source[U32(indices[e1])]
                row2, row3 = source[U32(indices[e2])], source[U32(indices[e3])]
                add_rows(target, 0, target.size, a, row0, row1, row2, row3)


@kernel
def sparse_times_towers(
    parts: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    entries: np.ndarray,
    dense: np.ndarray,
    out: np.ndarray,
    towers: int,
    key: np.ndarray,
    keep: int,
    distance_out: np.ndarray,
    distance_in: np.ndarray,
    first: np.ndarray,
    shares: int,
) -> None:
    """``out[i] = sum_j x_ij * mask_ij,tower / keep * dense[j]``: X W, and with X transposed X^T G.

    Here, and only here, all towers stand side by side in one matrix: the random bits of a non-zero serve them all.
    `entries` numbers the non-zeros alike in X and in its transpose: it is the counter of the mask, which therefore
    agrees between the two without being stored. ``first[d]`` is the first tower that matters at distance d, of a row
    of `out` by `distance_out` or of `dense` by `distance_in`.

    The matrix comes in vertical `parts`, one CSR after the other, so that the rows of `dense` which a part refers to
    stay in the cache; each thread takes one of the `shares` of the rows through all parts.
    """
    rows, columns = out.shape
    width = columns // towers
    words = (towers + 31) // 32
    scale = values.dtype.type(65536 / keep)
    zero = values.dtype.type(0)
    for share in numba.prange(shares):
        factor = np.empty((4, words * 32), values.dtype)
        factor0, factor1, factor2, factor3 = factor[0], factor[1], factor[2], factor[3]
        begin_row, end_row = share * rows // shares, (share + 1) * rows // shares
        out[begin_row:end_row] = 0
        for part in range(parts):
            for i in range(begin_row, end_row):
                target = out[i]
                low = first[distance_out[i]]
                if low >= towers:
                    continue
                start, last = indptr[part * rows + i], indptr[part * rows + i + 1] - 1
                for e in range(start, last + 1, 4):  # four non-zeros at a time: the sums are loaded once
                    e1, e2, e3 = min(e + 1, last), min(e + 2, last), min(e + 3, last)
                    j0, j1, j2, j3 = U32(indices[e]), U32(indices[e1]), U32(indices[e2]), U32(indices[e3])
                    x0 = values[e]
                    x1 = values[e1] if e + 1 <= last else zero
                    x2 = values[e2] if e + 2 <= last else zero
                    x3 = values[e3] if e + 3 <= last else zero
                    reached = min(
                        min(first[distance_in[j0]], first[distance_in[j1]]),
                        min(first[distance_in[j2]], first[distance_in[j3]]),
                    )
                    begin = max(low, reached)
                    row0, row1, row2, row3 = dense[j0], dense[j1], dense[j2], dense[j3]
                    if keep >= 65536:
                        add_rows(target, begin * width, columns, (x0, x1, x2, x3), row0, row1, row2, row3)
                        continue
                    for w in range(words):
                        spread_bits(factor0, w * 32, kept(key, entries[e] * words + w, keep), x0 * scale)
                        spread_bits(factor1, w * 32, kept(key, entries[e1] * words + w, keep), x1 * scale)
                        spread_bits(factor2, w * 32, kept(key, entries[e2] * words + w, keep), x2 * scale)
                        spread_bits(factor3, w * 32, kept(key, entries[e3] * words + w, keep), x3 * scale)
                    if width == 16:  # the paper's width: no loop and no remainder
                        for t in range(begin, towers):
                            a0, a1, a2, a3 = factor0[t], factor1[t], factor2[t], factor3[t]
                            add_scaled_16(target, t * 16, a0, row0, a1, row1, a2, row2, a3, row3)
                    else:
                        for t in range(begin, towers):
                            a = (factor0[t], factor1[t], factor2[t], factor3[t])
                            add_rows(target, t * width, (t + 1) * width, a, row0, row1, row2, row3)


@kernel
def wide_to_blocks(wide: np.ndarray, blocks: np.ndarray) -> None:
    """From all towers side by side to a contiguous block per power."""
    powers, rows, columns = blocks.shape
    for v in numba.prange(rows):
        for p in range(powers):
            blocks[p, v] = wide[v, p * columns : (p + 1) * columns]


@kernel
def blocks_to_wide(blocks: np.ndarray, wide: np.ndarray) -> None:
    """The inverse of `wide_to_blocks`."""
    powers, rows, columns = blocks.shape
    for v in numba.prange(rows):
        for p in range(powers):
            wide[v, p * columns : (p + 1) * columns] = blocks[p, v]

"""Loops over the non-zeros of Â and X, compiled by numba; their derivatives are in propagate.py and features.py.

Conventions: a dense matrix has the columns of all towers side by side, ``width`` columns each, towers in ascending
order of their powers. ``distance[v]`` says how far node v is from the nodes whose result is wanted, and ``first[d]``
the first column that still matters at distance d: a wide tower reaches farther, so what matters is always a suffix of
the columns. Everything before it is set to zero. Each output row is the work of one thread, in a fixed order, so the
result does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, U32, add_rows, kept, kernel
from ngcn.ops._simd import spread_bits


@kernel
def sparse_times_dense(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    source: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """``out[:, start:stop] = A @ source[:, start:stop]``, as far as it matters."""
    rows = indptr.size - 1
    zero = weights.dtype.type(0)
    for block in numba.prange((rows + BLOCK - 1) // BLOCK):
        for v in range(block * BLOCK, min(rows, (block + 1) * BLOCK)):
            target = out[v]
            target[start:stop] = 0
            low = max(start, first[distance[v]])
            if low >= stop:
                continue
            last = indptr[v + 1] - 1
            for e in range(indptr[v], indptr[v + 1], 4):  # four neighbours at a time: the row of sums stays in L1
                e1, e2, e3 = min(e + 1, last), min(e + 2, last), min(e + 3, last)
                a = (
                    weights[e],
                    weights[e1] if e + 1 <= last else zero,
                    weights[e2] if e + 2 <= last else zero,
                    weights[e3] if e + 3 <= last else zero,
                )
                row0, row1 = source[U32(indices[e])], source[U32(indices[e1])]
                row2, row3 = source[U32(indices[e2])], source[U32(indices[e3])]
                add_rows(target, low, stop, a, row0, row1, row2, row3)


@kernel
def sparse_times_towers(
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
) -> None:
    """``out[i] = sum_j x_ij * mask_ij,tower / keep * dense[j]``: X W, and with X transposed X^T G.

    `entries` numbers the non-zeros alike in X and in its transpose: it is the counter of the mask, which therefore
    agrees between the two without being stored. Rows of `out` at `distance_out`, or of `dense` at `distance_in`, are
    left out for the towers that do not need them.
    """
    rows = indptr.size - 1
    width = out.shape[1] // towers
    words = (towers + 31) // 32
    scale = values.dtype.type(65536 / keep)
    zero = values.dtype.type(0)
    for block in numba.prange((rows + BLOCK - 1) // BLOCK):
        factor = np.empty((4, words * 32), values.dtype)
        for i in range(block * BLOCK, min(rows, (block + 1) * BLOCK)):
            target = out[i]
            target[:] = 0
            low = first[distance_out[i]]
            if low >= target.size:
                continue
            last = indptr[i + 1] - 1
            for e in range(indptr[i], indptr[i + 1], 4):
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
                    add_rows(target, begin, target.size, (x0, x1, x2, x3), row0, row1, row2, row3)
                    continue
                for w in range(words):
                    spread_bits(factor[0], w * 32, kept(key, entries[e] * words + w, keep), x0 * scale)
                    spread_bits(factor[1], w * 32, kept(key, entries[e1] * words + w, keep), x1 * scale)
                    spread_bits(factor[2], w * 32, kept(key, entries[e2] * words + w, keep), x2 * scale)
                    spread_bits(factor[3], w * 32, kept(key, entries[e3] * words + w, keep), x3 * scale)
                for tower in range(begin // width, towers):
                    a = (factor[0, tower], factor[1, tower], factor[2, tower], factor[3, tower])
                    add_rows(target, tower * width, (tower + 1) * width, a, row0, row1, row2, row3)

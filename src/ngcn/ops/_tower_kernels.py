"""Loops over the columns of towers, compiled by numba: what happens between two sparse products.

The conventions are those of :mod:`ngcn.ops._sparse_kernels`.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, add_rows, kept, kernel
from ngcn.ops._simd import spread_bits


@kernel
def relu_dropout(
    Y: np.ndarray,
    out: np.ndarray,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """``out = max(Y, 0) * mask / keep``."""
    columns = Y.shape[1]
    words = (columns + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    for block in numba.prange((Y.shape[0] + BLOCK - 1) // BLOCK):
        factor = np.empty(words * 32, Y.dtype)
        for v in range(block * BLOCK, min(Y.shape[0], (block + 1) * BLOCK)):
            low = first[distance[v]]
            out[v, :low] = 0
            for w in range(low // 32, words):
                spread_bits(factor, w * 32, kept(key, v * words + w, keep), scale)
            source, target, mask = Y[v, low:], out[v, low:], factor[low:columns]
            for c in range(source.size):
                y = source[c]
                target[c] = mask[c] * (zero if y < 0 else y)  # NaN stays NaN


@kernel
def relu_dropout_backward(H: np.ndarray, G: np.ndarray, out: np.ndarray, keep: int) -> None:
    """``out = G / keep where H > 0``: what was dropped or cut off has H = 0, so H is mask enough."""
    scale = G.dtype.type(65536 / keep)
    for v in numba.prange(H.shape[0]):
        h, g, target = H[v], G[v], out[v]
        for c in range(h.size):
            target[c] = g[c] * scale if h[c] > 0 else g.dtype.type(0)


@kernel
def relu_normalize_dropout(
    Y: np.ndarray,
    out: np.ndarray,
    towers: int,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """``out = L2NormalizeRows(max(Y, 0)) * mask / keep``, the rows of each tower for themselves."""
    width = Y.shape[1] // towers
    words = (Y.shape[1] + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    for block in numba.prange((Y.shape[0] + BLOCK - 1) // BLOCK):
        mask = np.empty(words * 32, Y.dtype)
        for v in range(block * BLOCK, min(Y.shape[0], (block + 1) * BLOCK)):
            low = first[distance[v]]
            out[v, :low] = 0
            for w in range(low // 32, words):
                spread_bits(mask, w * 32, kept(key, v * words + w, keep), scale)
            for begin in range(low, Y.shape[1], width):
                y, target, m = Y[v, begin : begin + width], out[v, begin : begin + width], mask[begin : begin + width]
                square = zero
                for c in range(width):
                    r = zero if y[c] < 0 else y[c]
                    square += r * r
                inverse = zero if square == 0 else 1 / np.sqrt(square)
                for c in range(width):
                    target[c] = m[c] * inverse * (zero if y[c] < 0 else y[c])


@kernel
def relu_normalize_dropout_backward(
    Y: np.ndarray,
    G: np.ndarray,
    out: np.ndarray,
    towers: int,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    first: np.ndarray,
) -> None:
    """With r = max(y, 0), u = r / |r| and g the masked gradient: ``dy = (g - u (u . g)) / |r|`` where y > 0."""
    width = Y.shape[1] // towers
    words = (Y.shape[1] + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    for block in numba.prange((Y.shape[0] + BLOCK - 1) // BLOCK):
        mask = np.empty(words * 32, Y.dtype)
        for v in range(block * BLOCK, min(Y.shape[0], (block + 1) * BLOCK)):
            low = first[distance[v]]
            out[v, :low] = 0
            for w in range(low // 32, words):
                spread_bits(mask, w * 32, kept(key, v * words + w, keep), scale)
            for begin in range(low, Y.shape[1], width):
                y, g = Y[v, begin : begin + width], G[v, begin : begin + width]
                target, m = out[v, begin : begin + width], mask[begin : begin + width]
                square, along = zero, zero
                for c in range(width):
                    r = zero if y[c] < 0 else y[c]
                    square += r * r
                    along += r * m[c] * g[c]
                inverse = zero if square == 0 else 1 / np.sqrt(square)
                along *= inverse * inverse
                for c in range(width):
                    target[c] = (m[c] * g[c] - along * y[c]) * inverse if y[c] > 0 else zero


# ---------------------------------------------------------------------------------------------- a matrix per tower


@kernel
def towers_times_matrices(
    H: np.ndarray, W: np.ndarray, out: np.ndarray, distance: np.ndarray, first_tower: np.ndarray
) -> None:
    """``out[v, t] = H[v, t] @ W[t]`` for ``W`` of shape ``(towers, width in, width out)``."""
    towers, inner, outer = W.shape
    padded = (outer + 7) // 8 * 8
    zero = H.dtype.type(0)
    for block in numba.prange((H.shape[0] + BLOCK - 1) // BLOCK):
        matrices = np.zeros((towers, inner, padded), W.dtype)  # whole vectors, also for 7 classes
        matrices[:, :, :outer] = W
        row = np.empty(padded, W.dtype)
        for v in range(block * BLOCK, min(H.shape[0], (block + 1) * BLOCK)):
            low = first_tower[distance[v]]
            out[v, : low * outer] = 0
            for t in range(low, towers):
                row[:] = 0
                h = H[v, t * inner : (t + 1) * inner]
                matrix = matrices[t]
                for k in range(0, inner, 4):
                    k1, k2, k3 = min(k + 1, inner - 1), min(k + 2, inner - 1), min(k + 3, inner - 1)
                    a = (
                        h[k],
                        h[k1] if k + 1 < inner else zero,
                        h[k2] if k + 2 < inner else zero,
                        h[k3] if k + 3 < inner else zero,
                    )
                    add_rows(row, 0, padded, a, matrix[k], matrix[k1], matrix[k2], matrix[k3])
                out[v, t * outer : (t + 1) * outer] = row[:outer]


@kernel
def towers_outer_products(
    H: np.ndarray, G: np.ndarray, partial: np.ndarray, distance: np.ndarray, first_tower: np.ndarray
) -> None:
    """``partial.sum(0)[t] = G[:, t]^T @ H[:, t]``: the weight gradient, summed over fixed shares of the rows.

    The shares are as many as `partial` has matrices, whatever the number of threads: the same bits come out.
    """
    shares, towers, outer, inner = partial.shape
    rows = H.shape[0]
    zero = H.dtype.type(0)
    for share in numba.prange(shares):
        total = partial[share]
        total[:] = 0
        begin, end = share * rows // shares, (share + 1) * rows // shares
        for v in range(begin, end, 4):
            v1, v2, v3 = min(v + 1, end - 1), min(v + 2, end - 1), min(v + 3, end - 1)
            low = min(
                min(first_tower[distance[v]], first_tower[distance[v1]]),
                min(first_tower[distance[v2]], first_tower[distance[v3]]),
            )
            for t in range(low, towers):
                at = slice(t * inner, (t + 1) * inner)
                h0, h1, h2, h3 = H[v, at], H[v1, at], H[v2, at], H[v3, at]
                for j in range(outer):
                    c = t * outer + j
                    a = (
                        G[v, c],
                        G[v1, c] if v + 1 < end else zero,
                        G[v2, c] if v + 2 < end else zero,
                        G[v3, c] if v + 3 < end else zero,
                    )
                    add_rows(total[t, j], 0, inner, a, h0, h1, h2, h3)

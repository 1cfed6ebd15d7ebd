"""Loops over the columns of towers, compiled by numba: what happens between two sparse products.

The conventions are those of :mod:`ngcn.ops._sparse_kernels`; `limits` has the reach of each block.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, add_rows, kept, kernel
from ngcn.ops._simd import add_scaled_8, spread_bits


@kernel
def relu_dropout(
    Y: np.ndarray, out: np.ndarray, key: np.ndarray, keep: int, distance: np.ndarray, limits: np.ndarray
) -> None:
    """``out = max(Y, 0) * mask / keep``."""
    blocks, rows, columns = Y.shape
    words = (columns + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        p, begin = share // shares, share % shares * BLOCK
        for v in range(begin, min(rows, begin + BLOCK)):
            y, target = Y[p, v], out[p, v]
            if distance[v] > limits[p]:
                target[:] = 0
                continue
            for w in range(words):
                spread_bits(mask, w * 32, kept(key, (p * rows + v) * words + w, keep), scale)
            for c in range(columns):
                target[c] = mask[c] * (zero if y[c] < 0 else y[c])  # NaN stays NaN


@kernel
def relu_dropout_backward(H: np.ndarray, G: np.ndarray, out: np.ndarray, keep: int) -> None:
    """``out = G / keep where H > 0``: what was dropped or cut off has H = 0, so H is mask enough."""
    blocks, rows, columns = H.shape
    scale, zero = G.dtype.type(65536 / keep), G.dtype.type(0)
    for row in numba.prange(blocks * rows):
        h, g, target = H[row // rows, row % rows], G[row // rows, row % rows], out[row // rows, row % rows]
        for c in range(columns):
            target[c] = g[c] * scale if h[c] > 0 else zero


@kernel
def relu_normalize_dropout(
    Y: np.ndarray, out: np.ndarray, replicas: int, key: np.ndarray, keep: int, distance: np.ndarray, limits: np.ndarray
) -> None:
    """``out = L2NormalizeRows(max(Y, 0)) * mask / keep``, the rows of each tower for themselves."""
    blocks, rows, columns = Y.shape
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        p, begin = share // shares, share % shares * BLOCK
        for v in range(begin, min(rows, begin + BLOCK)):
            if distance[v] > limits[p]:
                out[p, v] = 0
                continue
            for w in range(words):
                spread_bits(mask, w * 32, kept(key, (p * rows + v) * words + w, keep), scale)
            for left in range(0, columns, width):
                y, target, m = Y[p, v, left : left + width], out[p, v, left : left + width], mask[left : left + width]
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
    replicas: int,
    key: np.ndarray,
    keep: int,
    distance: np.ndarray,
    limits: np.ndarray,
) -> None:
    """With r = max(y, 0), u = r / |r| and g the masked gradient: ``dy = (g - u (u . g)) / |r|`` where y > 0."""
    blocks, rows, columns = Y.shape
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        p, begin = share // shares, share % shares * BLOCK
        for v in range(begin, min(rows, begin + BLOCK)):
            if distance[v] > limits[p]:
                out[p, v] = 0
                continue
            for w in range(words):
                spread_bits(mask, w * 32, kept(key, (p * rows + v) * words + w, keep), scale)
            for left in range(0, columns, width):
                y, g = Y[p, v, left : left + width], G[p, v, left : left + width]
                target, m = out[p, v, left : left + width], mask[left : left + width]
                square, along = zero, zero
                for c in range(width):
                    r = zero if y[c] < 0 else y[c]
                    square += r * r
                    along += r * m[c] * g[c]
                inverse = zero if square == 0 else 1 / np.sqrt(square)
                along *= inverse * inverse
                for c in range(width):
                    target[c] = (m[c] * g[c] - along * y[c]) * inverse if y[c] > 0 else zero


@kernel
def times_matrices(H: np.ndarray, W: np.ndarray, out: np.ndarray, distance: np.ndarray, limits: np.ndarray) -> None:
    """``out[p, v, r] = H[p, v, r] @ W[p, r]`` for W of shape ``(powers, replicas, width in, width out)``."""
    blocks, replicas, inner, outer = W.shape
    rows = H.shape[1]
    padded = (outer + 7) // 8 * 8  # whole vectors, also for 7 classes
    zero = H.dtype.type(0)
    shares = (rows + 4 * BLOCK - 1) // (4 * BLOCK)
    for share in numba.prange(blocks * shares):
        p, begin = share // shares, share % shares * 4 * BLOCK
        matrices = np.zeros((replicas, inner, padded), W.dtype)
        matrices[:, :, :outer] = W[p]
        sums = np.empty((replicas, padded), W.dtype)
        for v in range(begin, min(rows, begin + 4 * BLOCK)):
            target = out[p, v]
            if distance[v] > limits[p]:
                target[:] = 0
                continue
            sums[:] = 0
            for k in range(0, inner, 4):
                k1, k2, k3 = min(k + 1, inner - 1), min(k + 2, inner - 1), min(k + 3, inner - 1)
                use1, use2, use3 = k + 1 < inner, k + 2 < inner, k + 3 < inner
                for r in range(replicas):  # inside, so that there is always a sum that does not wait for the last
                    matrix, h = matrices[r], H[p, v, r * inner : (r + 1) * inner]
                    a0, a1, a2, a3 = h[k], h[k1] if use1 else zero, h[k2] if use2 else zero, h[k3] if use3 else zero
                    for c in range(0, padded, 8):
                        add_scaled_8(sums[r], c, a0, matrix[k], a1, matrix[k1], a2, matrix[k2], a3, matrix[k3])
            for r in range(replicas):
                for c in range(outer):
                    target[r * outer + c] = sums[r, c]


@kernel
def outer_products(H: np.ndarray, G: np.ndarray, partial: np.ndarray, distance: np.ndarray, limits: np.ndarray) -> None:
    """``partial.sum(0)[p, r] = G[p, :, r]^T @ H[p, :, r]``: the weight gradient, over fixed shares of the rows.

    The shares are as many as `partial` has matrices, whatever the number of threads: the same bits come out.
    """
    shares, blocks, replicas, outer, inner = partial.shape
    rows = H.shape[1]
    zero = H.dtype.type(0)
    for share in numba.prange(shares):
        total = partial[share]
        total[:] = 0
        begin, end = share * rows // shares, (share + 1) * rows // shares
        for p in range(blocks):
            for v in range(begin, end, 4):
                v1, v2, v3 = min(v + 1, end - 1), min(v + 2, end - 1), min(v + 3, end - 1)
                if min(min(distance[v], distance[v1]), min(distance[v2], distance[v3])) > limits[p]:
                    continue
                g0, g1, g2, g3 = G[p, v], G[p, v1], G[p, v2], G[p, v3]
                for r in range(replicas):
                    left, right = r * inner, (r + 1) * inner
                    h0, h1, h2, h3 = (
                        H[p, v, left:right],
                        H[p, v1, left:right],
                        H[p, v2, left:right],
                        H[p, v3, left:right],
                    )
                    for j in range(outer):
                        c = r * outer + j
                        a = (
                            g0[c],
                            g1[c] if v + 1 < end else zero,
                            g2[c] if v + 2 < end else zero,
                            g3[c] if v + 3 < end else zero,
                        )
                        add_rows(total[p, r, j], 0, inner, a, h0, h1, h2, h3)

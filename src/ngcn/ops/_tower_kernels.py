"""Loops over the columns of towers, compiled by numba: what happens between two sparse products.

The conventions are those of :mod:`ngcn.ops._sparse_kernels`; `limits` has the reach of each power, `keys` a line for
each network.
"""

from __future__ import annotations

import numba
import numpy as np

from ngcn.ops._compile import BLOCK, add_rows, clear, consecutive, keep_bits, kernel, lowest_digit
from ngcn.ops._simd import spread_32


@kernel
def relu_dropout(
    Y: np.ndarray, out: np.ndarray, keys: np.ndarray, keep: int, distance: np.ndarray, limits: np.ndarray
) -> None:
    """``out = max(Y, 0) * mask / keep``."""
    blocks, rows, columns = Y.shape
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        b, begin = share // shares, share % shares * BLOCK
        p, key = b % len(limits), keys[b // len(limits) % len(keys)]
        bits = np.empty((1, BLOCK * words * (keep < 65536)), np.uint32)
        keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), key, keep, digit)
        for v in range(begin, min(rows, begin + BLOCK)):
            y, target = Y[b, v], out[b, v]
            if distance[v] > limits[p]:
                clear(target, 0, columns)
                continue
            for c in range(columns):
                target[c] = zero if y[c] < 0 else y[c]  # NaN stays NaN
            if keep < 65536:
                for w in range(words):
                    spread_32(mask, w * 32, bits[0, (v - begin) * words + w], scale)
                for c in range(columns):
                    target[c] *= mask[c]


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
    Y: np.ndarray, out: np.ndarray, replicas: int, keys: np.ndarray, keep: int, distance: np.ndarray, limits: np.ndarray
) -> None:
    """``out = L2NormalizeRows(max(Y, 0)) * mask / keep``, the rows of each tower for themselves."""
    blocks, rows, columns = Y.shape
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        b, begin = share // shares, share % shares * BLOCK
        p, key = b % len(limits), keys[b // len(limits) % len(keys)]
        bits = np.empty((1, BLOCK * words), np.uint32)
        keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), key, keep, digit)
        for v in range(begin, min(rows, begin + BLOCK)):
            if distance[v] > limits[p]:
                clear(out[b, v], 0, columns)
                continue
            for w in range(words):
                spread_32(mask, w * 32, bits[0, (v - begin) * words + w], scale)
            for left in range(0, columns, width):
                y, target, m = Y[b, v, left : left + width], out[b, v, left : left + width], mask[left : left + width]
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
    keys: np.ndarray,
    keep: int,
    distance: np.ndarray,
    limits: np.ndarray,
) -> None:
    """With r = max(y, 0), u = r / |r| and g the masked gradient: ``dy = (g - u (u . g)) / |r|`` where y > 0."""
    blocks, rows, columns = Y.shape
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    for share in numba.prange(blocks * shares):
        mask = np.empty(words * 32, Y.dtype)
        b, begin = share // shares, share % shares * BLOCK
        p, key = b % len(limits), keys[b // len(limits) % len(keys)]
        bits = np.empty((1, BLOCK * words), np.uint32)
        keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), key, keep, digit)
        for v in range(begin, min(rows, begin + BLOCK)):
            if distance[v] > limits[p]:
                clear(out[b, v], 0, columns)
                continue
            for w in range(words):
                spread_32(mask, w * 32, bits[0, (v - begin) * words + w], scale)
            for left in range(0, columns, width):
                y, g = Y[b, v, left : left + width], G[b, v, left : left + width]
                target, m = out[b, v, left : left + width], mask[left : left + width]
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
    """``out[b, v, r] = H[b, v, r] @ W[b, r]`` for W of shape ``(blocks, replicas, width in, width out)``."""
    blocks, replicas, inner, outer = W.shape
    rows = H.shape[1]
    shares = (rows + BLOCK - 1) // BLOCK
    lines = consecutive(0, inner)
    for share in numba.prange(blocks * shares):
        b, begin = share // shares, share % shares * BLOCK
        for v in range(begin, min(rows, begin + BLOCK)):
            if distance[v] > limits[b % len(limits)]:
                clear(out[b, v], 0, replicas * outer)
                continue
            for r in range(replicas):
                add_rows(out[b, v], r * outer, W[b, r], 0, outer, lines, 0, inner, H[b, v], r * inner, 1, True)


@kernel
def outer_products(H: np.ndarray, G: np.ndarray, partial: np.ndarray, distance: np.ndarray, limits: np.ndarray) -> None:
    """``partial.sum(0)[b, r] = G[b, :, r]^T @ H[b, :, r]``: the weight gradient, over fixed shares of the rows.

    The shares are as many as `partial` has matrices, whatever the number of threads: the same bits come out.
    """
    shares, blocks, replicas, outer, inner = partial.shape
    nodes = H.shape[1]
    columns = replicas * outer
    for share in numba.prange(shares):
        begin, end = share * nodes // shares, (share + 1) * nodes // shares
        rows = np.empty(end - begin, np.int32)
        factors = np.empty((end - begin) * columns, G.dtype)
        for b in range(blocks):
            count = 0
            for v in range(begin, end):
                if distance[v] <= limits[b % len(limits)]:
                    rows[count] = v
                    for c in range(columns):
                        factors[count * columns + c] = G[b, v, c]
                    count += 1
            for r in range(replicas):
                for c in range(outer):
                    target, f = partial[share, b, r, c], r * outer + c
                    add_rows(target, 0, H[b], r * inner, inner, rows, 0, count, factors, f, columns, True)

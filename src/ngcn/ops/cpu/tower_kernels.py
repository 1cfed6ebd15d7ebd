"""Kernels for what happens between two sparse products: activation, dropout, a weight matrix per tower.

The conventions are those of :mod:`ngcn.ops.cpu.sparse_kernels`; ``limits[p]`` is the reach of power p. Unless it says
otherwise, a share of a kernel has :data:`BLOCK` rows of one block.
"""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import kernel
from ngcn.ops.cpu.masks import U64, Array, clear, consecutive, keep_bits, lowest_digit
from ngcn.ops.cpu.simd import add_rows, spread_32

BLOCK = 64  # rows in a share


@kernel
def relu_dropout(
    share: int, Y: Array, out: Array, key_0: int, key_1: int, keep: int, distance: Array, limits: Array
) -> None:
    """``out = max(Y, 0) * mask / keep``."""
    rows, columns = Y.shape[1:]
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    mask = np.empty(words * 32, Y.dtype)
    p, begin = share // shares, share % shares * BLOCK
    bits = np.empty((1, BLOCK * words * (keep < 65536)), np.uint32)
    keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), 0, key_0, key_1, keep, digit)
    for v in range(U64(begin), U64(min(rows, begin + BLOCK))):
        y, target = Y[p, v], out[p, v]
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
def relu_dropout_backward(share: int, H: Array, G: Array, out: Array, keep: int) -> None:
    """``out = G / keep where H > 0``: whatever was dropped or negative has H = 0."""
    scale, zero = G.dtype.type(65536 / keep), G.dtype.type(0)
    rows, columns = H.shape[1:]
    shares = (rows + BLOCK - 1) // BLOCK
    p, begin = share // shares, share % shares * BLOCK
    for v in range(U64(begin), U64(min(rows, begin + BLOCK))):
        h, g, target = H[p, v], G[p, v], out[p, v]
        for c in range(columns):
            target[c] = g[c] * scale if h[c] > 0 else zero


@kernel
def relu_normalize_dropout(
    share: int, Y: Array, out: Array, replicas: int, key_0: int, key_1: int, keep: int, distance: Array, limits: Array
) -> None:
    """``out = L2NormalizeRows(max(Y, 0)) * mask / keep``, each tower by itself."""
    rows, columns = Y.shape[1:]
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    mask = np.empty(words * 32, Y.dtype)
    p, begin = share // shares, share % shares * BLOCK
    bits = np.empty((1, BLOCK * words), np.uint32)
    keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), 0, key_0, key_1, keep, digit)
    for v in range(U64(begin), U64(min(rows, begin + BLOCK))):
        if distance[v] > limits[p]:
            clear(out[p, v], 0, columns)
            continue
        for w in range(words):
            spread_32(mask, w * 32, bits[0, (v - begin) * words + w], scale)
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
    share: int,
    Y: Array,
    G: Array,
    out: Array,
    replicas: int,
    key_0: int,
    key_1: int,
    keep: int,
    distance: Array,
    limits: Array,
) -> None:
    """With r = max(y, 0), u = r / |r| and g the masked gradient: ``dy = (g - u (u . g)) / |r|`` where y > 0."""
    rows, columns = Y.shape[1:]
    width = columns // replicas
    words = (columns + 31) // 32
    scale, zero, digit = Y.dtype.type(65536 / keep), Y.dtype.type(0), lowest_digit(keep)
    shares = (rows + BLOCK - 1) // BLOCK
    mask = np.empty(words * 32, Y.dtype)
    p, begin = share // shares, share % shares * BLOCK
    bits = np.empty((1, BLOCK * words), np.uint32)
    keep_bits(bits, consecutive((p * rows + begin) * words, bits.shape[1]), 0, key_0, key_1, keep, digit)
    for v in range(U64(begin), U64(min(rows, begin + BLOCK))):
        if distance[v] > limits[p]:
            clear(out[p, v], 0, columns)
            continue
        for w in range(words):
            spread_32(mask, w * 32, bits[0, (v - begin) * words + w], scale)
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
def times_matrices(share: int, H: Array, W: Array, lines: Array, out: Array, distance: Array, limits: Array) -> None:
    """``out[p, v, r] = H[p, v, r] @ W[p, r]`` for W of shape ``(powers, replicas, inner, outer)``; lines = 0, 1, ..."""
    replicas, inner, outer = W.shape[1:]
    rows = H.shape[1]
    shares = (rows + BLOCK - 1) // BLOCK
    p, begin = share // shares, share % shares * BLOCK
    for v in range(U64(begin), U64(min(rows, begin + BLOCK))):
        if distance[v] > limits[p]:
            clear(out[p, v], 0, replicas * outer)
            continue
        for r in range(replicas):
            add_rows(out[p, v], r * outer, W[p, r], 0, outer, lines, 0, inner, H[p, v], r * inner, 1, True)


@kernel
def outer_products(share: int, H: Array, G: Array, partial: Array, distance: Array, limits: Array) -> None:
    """``partial.sum(0)[p, r] = G[p, :, r]^T @ H[p, :, r]``: the weight gradient.

    A share has its own matrix in `partial` and a fixed part of the nodes, so that the sum has the same bits for any
    number of threads.
    """
    shares, powers, replicas, outer, inner = partial.shape
    nodes = H.shape[1]
    columns = replicas * outer
    begin, end = share * nodes // shares, (share + 1) * nodes // shares
    rows = np.empty(end - begin, np.int32)
    factors = np.empty((end - begin) * columns, G.dtype)
    for p in range(powers):
        count = 0
        for v in range(U64(begin), U64(end)):
            if distance[v] <= limits[p]:
                rows[count] = v
                for c in range(columns):
                    factors[count * columns + c] = G[p, v, c]
                count += 1
        for r in range(replicas):
            for c in range(outer):
                target, f = partial[share, p, r, c], r * outer + c
                add_rows(target, 0, H[p], r * inner, inner, rows, 0, count, factors, f, columns, True)

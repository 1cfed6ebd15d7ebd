"""Kernels for what happens between two sparse products: activation, dropout, a weight matrix per tower.

The conventions are those of :mod:`ngcn.ops.cpu.sparse_kernels`; ``limits[p]`` is the reach of power p. Unless it says
otherwise, a share of a kernel has :data:`BLOCK` rows of one block.
"""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper, kernel
from ngcn.ops.cpu.masks import U64, Array, clear, consecutive, keep_bits, lowest_digit
from ngcn.ops.cpu.simd import add_rows, spread_32

BLOCK = 64  # rows in a share


@helper
def _rows_of(share: int, blocks: Array) -> tuple[int, int, int]:
    """The block that a share belongs to, and the first and last of its rows."""
    rows = blocks.shape[1]
    shares = (rows + BLOCK - 1) // BLOCK
    begin = share % shares * BLOCK
    return share // shares, begin, min(rows, begin + BLOCK)


@helper
def _bits_of(Y: Array, p: int, begin: int, key_0: int, key_1: int, keep: int) -> Array:
    """The random bits of the rows of a share, 32 columns to a word; none if nothing is dropped."""
    rows, columns = Y.shape[1:]
    words = (columns + 31) // 32
    bits = np.empty((1, BLOCK * words * (keep < 65536)), np.uint32)
    numbers = consecutive((p * rows + begin) * words, bits.shape[1])
    keep_bits(bits, numbers, 0, key_0, key_1, keep, lowest_digit(keep))
    return bits[0]


@helper
def _all_kept(Y: Array, scale: float) -> Array:
    """The mask of a row without dropout, with room for whole words."""
    mask = np.empty((Y.shape[2] + 31) // 32 * 32, Y.dtype)
    for c in range(len(mask)):
        mask[c] = scale
    return mask


@helper
def _draw(mask: Array, bits: Array, row: int, scale: float) -> None:
    """Set the mask to that of a row of the share: `scale` in the columns that are kept, else 0."""
    words = len(mask) // 32
    for w in range(words * (len(bits) > 0)):
        spread_32(mask, w * 32, bits[row * words + w], scale)


@kernel
def relu_dropout(
    share: int, Y: Array, out: Array, distance: Array, limits: Array, key_0: int, key_1: int, keep: int
) -> None:
    """``out = max(Y, 0) * mask / keep``."""
    columns = Y.shape[2]
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    p, begin, stop = _rows_of(share, Y)
    bits, mask = _bits_of(Y, p, begin, key_0, key_1, keep), _all_kept(Y, scale)
    for v in range(U64(begin), U64(stop)):
        y, target = Y[p, v], out[p, v]
        if distance[v] > limits[p]:
            clear(target, 0, columns)
            continue
        _draw(mask, bits, v - begin, scale)
        for c in range(columns):
            target[c] = mask[c] * (zero if y[c] < 0 else y[c])  # NaN stays NaN


@kernel
def relu_dropout_backward(share: int, H: Array, G: Array, out: Array, keep: int) -> None:
    """``out = G / keep where H > 0``: whatever was dropped or negative has H = 0."""
    scale, zero = G.dtype.type(65536 / keep), G.dtype.type(0)
    p, begin, stop = _rows_of(share, H)
    for v in range(U64(begin), U64(stop)):
        h, g, target = H[p, v], G[p, v], out[p, v]
        for c in range(H.shape[2]):
            scaled = g[c] * scale  # computed for all, so that the compiler makes vectors of it
            target[c] = scaled if h[c] > 0 else zero


@kernel
def relu_normalize_dropout(
    share: int, Y: Array, out: Array, distance: Array, limits: Array, replicas: int, key_0: int, key_1: int, keep: int
) -> None:
    """``out = L2NormalizeRows(max(Y, 0)) * mask / keep``, each tower by itself."""
    columns = Y.shape[2]
    width = columns // replicas
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    p, begin, stop = _rows_of(share, Y)
    bits, mask = _bits_of(Y, p, begin, key_0, key_1, keep), _all_kept(Y, scale)
    for v in range(U64(begin), U64(stop)):
        if distance[v] > limits[p]:
            clear(out[p, v], 0, columns)
            continue
        _draw(mask, bits, v - begin, scale)
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
    distance: Array,
    limits: Array,
    replicas: int,
    key_0: int,
    key_1: int,
    keep: int,
) -> None:
    """With r = max(y, 0), u = r / |r| and g the masked gradient: ``dy = (g - u (u . g)) / |r|`` where y > 0."""
    columns = Y.shape[2]
    width = columns // replicas
    scale, zero = Y.dtype.type(65536 / keep), Y.dtype.type(0)
    p, begin, stop = _rows_of(share, Y)
    bits, mask = _bits_of(Y, p, begin, key_0, key_1, keep), _all_kept(Y, scale)
    for v in range(U64(begin), U64(stop)):
        if distance[v] > limits[p]:
            clear(out[p, v], 0, columns)
            continue
        _draw(mask, bits, v - begin, scale)
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
    p, begin, stop = _rows_of(share, H)
    for v in range(U64(begin), U64(stop)):
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

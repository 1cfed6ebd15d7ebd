"""A hash table of ids, and edges sorted into buckets."""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper, kernel
from ngcn.ops.cpu.masks import U64, Array
from ngcn.ops.cpu.walk_kernels import mix64

ROWS = 1 << 13  # ids in a share


@helper
def _start(starts: Array, i: int) -> int:
    """The first byte of id i. Without ``starts``, each has 8 bytes."""
    return starts[i] if len(starts) else 8 * i


@helper
def _slot(data: Array, begin: int, end: int, slots: Array) -> np.int64:
    """Where the search for an id begins: the hash FNV-1a, mixed."""
    h = U64(0xCBF29CE484222325)
    for at in range(begin, end):
        h = U64((h ^ U64(data[at])) * U64(0x100000001B3))
    return np.int64(mix64(h) & U64(len(slots) - 1))  # int() would stay unsigned


@helper
def _same(data: Array, begin: int, end: int, other: Array, first: int, last: int) -> bool:
    if last - first != end - begin:
        return False
    for i in range(end - begin):  # noqa: SIM110  # all() is not compiled
        if data[begin + i] != other[first + i]:
            return False
    return True


@kernel
def insert_ids(share: int, data: Array, starts: Array, slots: Array, repeated: Array, nodes: int) -> None:
    """Put the number of each id, plus one, into a slot. Stop at an id that is there already: ``repeated`` are both.

    Id i is the bytes ``starts[i]`` to ``starts[i + 1]``. The number of slots is a power of two; a 0 is free.
    """
    for i in range(nodes):
        begin, end = _start(starts, i), _start(starts, i + 1)
        at = _slot(data, begin, end, slots)
        while slots[at] > 0:
            j = slots[at] - 1
            if _same(data, begin, end, data, _start(starts, j), _start(starts, j + 1)):
                repeated[0], repeated[1] = j, i
                return
            at = (at + 1) & (len(slots) - 1)
        slots[at] = i + 1


@kernel
def find_ids(
    share: int, wanted: Array, wanted_starts: Array, data: Array, starts: Array, slots: Array, places: Array
) -> None:
    """The number of each id that is wanted; -1 for one that is not there."""
    for i in range(share * ROWS, min(len(places), (share + 1) * ROWS)):
        begin, end = _start(wanted_starts, i), _start(wanted_starts, i + 1)
        at = _slot(wanted, begin, end, slots)
        places[i] = -1
        while slots[at] > 0:
            j = slots[at] - 1
            if _same(wanted, begin, end, data, _start(starts, j), _start(starts, j + 1)):
                places[i] = j
                break
            at = (at + 1) & (len(slots) - 1)


@kernel
def count_entries(share: int, source: Array, target: Array, counts: Array, bits: int, both: int) -> None:
    """``counts[share, b]`` entries have their row in bucket b: ``row >> bits``. With ``both``, an entry is an edge: it
    counts in both directions, but not on the diagonal."""
    shares = len(counts)
    for e in range(share * len(source) // shares, (share + 1) * len(source) // shares):
        u, v = source[e], target[e]
        if u != v or not both:
            counts[share, u >> bits] += 1
            if both:
                counts[share, v >> bits] += 1


@kernel
def place_entries(
    share: int, source: Array, target: Array, weights: Array, at: Array, keys: Array, kept: Array, bits: int, both: int
) -> None:
    """Write each entry to ``keys[at[share, b]]`` and what follows, and its weight to ``kept``.

    A key is the row within the bucket, the column, and a bit for the direction.
    """
    shares = len(at)
    low = (1 << bits) - 1
    for e in range(share * len(source) // shares, (share + 1) * len(source) // shares):
        u, v = source[e], target[e]
        if u != v or not both:
            i = at[share, u >> bits]
            at[share, u >> bits] = i + 1
            keys[i] = ((u & low) << 32) | (v << 1)
            if len(kept):
                kept[i] = weights[e]
            if both:
                j = at[share, v >> bits]
                at[share, v >> bits] = j + 1
                keys[j] = ((v & low) << 32) | (u << 1) | 1
                if len(kept):
                    kept[j] = weights[e]

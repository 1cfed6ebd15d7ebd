"""Random walks with a counter-based generator: a random number depends on a key, a node and the walk from it alone."""

from __future__ import annotations

import numpy as np

from ngcn.ops.cpu.compile import helper, kernel

Array = np.ndarray
U64 = np.uint64
BLOCK = 64  # walks per share


@helper
def mix64(h: U64) -> U64:
    """The finalizer of splitmix64, a bijection of 64-bit integers."""
    h = U64((h ^ (h >> U64(30))) * U64(0xBF58476D1CE4E5B9))
    h = U64((h ^ (h >> U64(27))) * U64(0x94D049BB133111EB))
    return U64(h ^ (h >> U64(31)))


@helper
def uniform(stream: U64, draw: int) -> float:
    """Random number ``draw`` of a stream, in [0, 1)."""
    return (mix64(U64(stream + U64(draw) * U64(0x9E3779B97F4A7C15))) >> U64(11)) * 2.0**-53


@helper
def _first_above(ends: Array, begin: int, end: int, target: float) -> int:
    """The first e with ``ends[e] > target``, by bisection; the last with a weight if rounding leaves none."""
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def walk(
    share: int, indptr: Array, indices: Array, ends: Array, key: Array, starts: Array, stops: Array, loops: int
) -> None:
    """Walk from each of ``starts``; ``stops[i, w]`` has the nodes of walk w from start i, the start itself first.

    A walk takes an edge with probability proportional to its weight, and stays with that of a self-loop of weight
    ``loops``, 0 or 1. Diagonal entries do not count. ``ends`` are the cumulative weights within each row, without the
    diagonal; it is empty if all weights are 1. A walk without anywhere to go stays.
    """
    nodes, walks, length = stops.shape
    for number in range(BLOCK * share, min(nodes * walks, BLOCK * share + BLOCK)):
        i, w = number // walks, number % walks
        v = starts[i]
        stream = mix64(U64(key[0] + mix64(U64(v) * U64(walks) + U64(w))))
        draw = 0
        stops[i, w, 0] = v
        for hop in range(1, length):
            begin, end = indptr[v], indptr[v + 1]
            if len(ends):
                total = ends[end - 1] if end > begin else 0.0
                target = uniform(stream, draw) * (total + loops)
                draw += 1
                if target < total:
                    v = indices[_first_above(ends, begin, end, target)]
            elif end - begin > 1 or (end > begin and indices[begin] != v):
                x = v
                while True:
                    edge = int(uniform(stream, draw) * (end - begin + loops))
                    draw += 1
                    if edge == end - begin:  # the self-loop
                        break
                    x = indices[begin + edge]
                    if x != v:  # else a diagonal entry: draw again
                        break
                v = x
            stops[i, w, hop] = v


@kernel
def cumulative(share: int, indptr: Array, indices: Array, weights: Array, ends: Array) -> None:
    """``ends[e]``: the sum of the weights of a row up to entry e, without the diagonal."""
    for v in range(BLOCK * share, min(len(indptr) - 1, BLOCK * share + BLOCK)):
        total = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            if indices[e] != v:
                total += weights[e]
            ends[e] = total

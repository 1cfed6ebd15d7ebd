"""The sparse product of some rows, with everything that it reads in arrays or memory maps."""

from __future__ import annotations

from ngcn.ops.cpu.compile import kernel
from ngcn.ops.cpu.masks import U64, Array
from ngcn.ops.cpu.simd import add_far_rows

ROWS = 128  # in a share
NEXT = U64(1)


@kernel
def multiply_rows(
    share: int,
    indptr: Array,
    indices: Array,
    weights: Array,
    outer: Array,
    wanted: Array,
    source: Array,
    out: Array,
    first: int,
    loops: int,
) -> None:
    """``out[i] = outer[v] * (loops * source[v] + sum over u of w_vu source[u])`` for ``v = first + i``.

    An unweighted graph has a single weight. Rows v with ``wanted[v] == 0`` become zero; a single entry is that of all.
    """
    columns = source.shape[1]
    weighted = len(weights) > 1
    some = len(wanted) > 1
    for i in range(share * ROWS, min(len(out), (share + 1) * ROWS)):
        v = U64(first + i)
        target = out[i]
        if some and wanted[v] == 0:
            for c in range(columns):
                target[c] = 0
        else:
            own = source[v]
            for c in range(columns):
                target[c] = own[c] if loops else 0
            begin, stop = indptr[v], indptr[v + NEXT]
            add_far_rows(target, 0, source, 0, columns, indices, begin, stop, weights, 0, 1 if weighted else 0, False)
            factor = outer[v]
            for c in range(columns):
                target[c] *= factor

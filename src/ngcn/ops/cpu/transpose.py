"""X^T, arranged for the weight gradient X^T G."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ngcn.ops.reach import Reach
from ngcn.ops.threads import follow_torch

if TYPE_CHECKING:
    from ngcn.ops.features import Features

CACHED = 4  # arrangements per X


def transposed(X: Features, reach: Reach) -> tuple[Any, ...]:
    """X^T as the kernel takes it, for gradients with such a reach. The newest few are cached.

    Entries are sorted by reach, since the same reach occurs at every step of a training. The reach of a single node, as
    in explanations, occurs once; it gets the order for all nodes. This depends on the number of nodes and not on
    earlier calls, since a resumed training must add in the same order.
    """
    if np.count_nonzero(reach.distance == 0) == 1 < X.shape[0]:
        reach = Reach(X.all_wanted, (1,) * len(reach.powers), layers=1)
    threads, cache = follow_torch(), X.cache.setdefault("transposed", {})
    key = id(reach.distance), reach.powers, reach.layers, threads
    found = cache.pop(key, None)
    if found is None or found[0] is not reach.distance:  # unpickled: ids are those of another process
        found = reach.distance, _arrange(X.matrix, reach, threads)
    cache[key] = found  # with the array, so that its id stays its own
    while len(cache) > CACHED:
        del cache[next(iter(cache))]
    arranged: tuple[Any, ...] = found[1]
    return arranged


def _arrange(X: sp.csr_array, reach: Reach, threads: int) -> tuple[Any, ...]:
    """X^T in vertical parts, so that the rows of G that a part needs fit into the cache.

    Within a line of a part, the entries are sorted by the first power that reaches them.
    """
    nodes, features = X.shape
    parts = max(1, min(nodes // 1024, X.nnz // (32 * features)))  # a line of a part should have some entries
    powers, row = len(reach.powers), np.repeat(np.arange(nodes, dtype=np.int32), np.diff(X.indptr))
    number = np.flatnonzero(reach.distance[row] <= reach.limits[-1])
    row = row[number]
    part, power = row.astype(np.int64) * parts // nodes, reach.first_block[reach.distance[row]]
    place = (part * features + X.indices[number]) * powers + power
    order = np.argsort(place, kind="stable")
    row, number = row[order], number[order]
    stops = np.cumsum(np.bincount(place, minlength=parts * features * powers)).reshape(parts, features, powers)
    starts = np.concatenate([[0], stops[:, :, -1].flat[:-1]]).reshape(parts, features)
    entries = np.cumsum(np.bincount(X.indices[number], minlength=features))
    shares = np.searchsorted(entries, np.linspace(0, len(number), threads + 1))
    shares[0], shares[-1] = 0, features
    return shares, starts, np.ascontiguousarray(np.moveaxis(stops, 2, 0)), row, X.data[number], number

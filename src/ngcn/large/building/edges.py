"""The table of edges: sorted into buckets of rows, then each bucket into rows of a CSR matrix."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ngcn.data.feature_columns import NO_NODE
from ngcn.data.large_table import LargeTable
from ngcn.data.node_edge_tables import edge_weights
from ngcn.large.building import kernels
from ngcn.large.building.ids import Ids
from ngcn.large.building.work import GrowingArray, Work
from ngcn.large.products import working_set
from ngcn.ops.threads import follow_torch

SHARES = 16  # of a chunk, which threads take
PER_END = 80  # bytes in memory for an end of an edge while its bucket is sorted
BUCKET, MOST_BUCKETS = 1 << 22, 512  # ends of edges in a bucket, unless there would be too many buckets
SECONDS = 3.0  # between two notes of what is done
LEAST = 1 << 16  # ends that are sorted together, however little memory there is
CHUNK = 1 << 22  # ends that are looked at together
LOW = (1 << 31) - 1  # the bits of a column
NO_WEIGHTS = np.empty(0, np.float32)


@dataclass(frozen=True)
class EdgeTable:
    """A table of edges, and what its columns are."""

    table: LargeTable
    ends: tuple[str, str]
    weight: str | None

    @property
    def columns(self) -> list[str]:
        return [*self.ends, *([self.weight] if self.weight else [])]


class Rows(NamedTuple):
    """Consecutive rows of the adjacency."""

    counts: np.ndarray  # entries of each row
    indices: np.ndarray
    weights: np.ndarray
    degrees: np.ndarray


def spread(edges: EdgeTable, ids: Ids, inputs: str, work: Work) -> dict[str, Any]:
    """Write both ends of every edge to the file of its bucket. Continues after what it has noted as done."""
    buckets = min(MOST_BUCKETS, -(-2 * edges.table.rows // BUCKET), ids.nodes) or 1
    bits = max(0, (-(-ids.nodes // buckets) - 1).bit_length())
    buckets = -(-ids.nodes // (1 << bits))
    done = work.saved("spread", inputs) or {"after": [0, 0], "ends": [0] * buckets, "rows": 0, "weight": 0.0}
    ends = np.array(done["ends"])
    for bucket in range(buckets):
        for path, width in zip(_bucket_files(work, bucket), (8, 4), strict=True):
            with path.open("ab") as file:
                file.truncate(width * ends[bucket])
    noted = time.monotonic()
    for chunk in edges.table.chunks(edges.columns, tuple(done["after"])):
        (source, unknown), (target, more) = (ids.places(chunk, end) for end in edges.ends)
        if unknown or more:
            raise chunk.bad_cells(unknown + more, NO_NODE)
        weights = edge_weights(chunk, edges.weight) if edges.weight else NO_WEIGHTS
        counts = np.zeros((SHARES, buckets), np.int64)
        kernels.count_ends(SHARES, (source, target, counts), bits)
        starts = np.cumsum(counts.T).reshape(buckets, SHARES)  # where each ends
        keys = np.empty(starts[-1, -1], np.int64)
        kept = np.empty(len(keys) if edges.weight else 0, np.float32)
        arrays = source, target, weights, np.ascontiguousarray(starts.T) - counts, keys, kept
        kernels.place_ends(SHARES, arrays, bits)
        of_buckets = counts.sum(axis=0)
        for bucket in np.flatnonzero(of_buckets).tolist():
            part = slice(starts[bucket, -1] - of_buckets[bucket], starts[bucket, -1])
            for path, array in zip(_bucket_files(work, bucket), (keys, kept), strict=True):
                if len(array):
                    with path.open("ab") as file:
                        file.write(array[part].data)
        ends += of_buckets
        rows = done["rows"] + len(chunk)
        total = float(done["weight"] + weights.sum(dtype=np.float64))
        done = {"after": edges.table.position(chunk), "ends": ends.tolist(), "rows": rows, "weight": total}
        work.on_progress("Reading edges", rows, max(edges.table.rows, rows))
        if time.monotonic() - noted > SECONDS:
            work.save("spread", inputs, done)
            noted = time.monotonic()
    return {"bits": bits, "ends": ends.tolist(), "rows": done["rows"], "weight": done["weight"]}


def sort_rows(
    spread: dict[str, Any], weighted: bool, nodes: int, memory: int, inputs: str, work: Work
) -> dict[str, Any]:
    """Write the adjacency and the degrees; count the entries. Continues after what it has noted as done."""
    done = work.saved("sort", inputs) or {"rows": 0, "entries": 0}
    first, threads = done["rows"], follow_torch()
    kinds: dict[str, tuple[Any, int]] = {
        "indptr": (np.int64, first + (first > 0)),
        "indices": (np.int32, done["entries"]),
        "degrees": (np.float64, first),
        **({"weights": (np.float32, done["entries"])} if weighted else {}),
    }
    out = {name: GrowingArray(work.folder / f"{name}.npy", kind, rows=rows) for name, (kind, rows) in kinds.items()}
    if not first:
        out["indptr"].append(np.zeros(1, np.int64))
    capacity = max(LEAST, working_set(memory) // 2 // PER_END // threads)
    parts = [part for part in _parts(spread, nodes, capacity, work) if part.first >= first]
    noted = time.monotonic()
    for part, rows in zip(parts, _in_order([partial(_sort, part, weighted) for part in parts], threads), strict=True):
        out["indptr"].append(out["indices"].rows + np.cumsum(rows.counts))
        out["indices"].append(rows.indices)
        out["degrees"].append(rows.degrees)
        if weighted:
            out["weights"].append(rows.weights)
        work.on_progress("Sorting edges", part.last, nodes)
        if time.monotonic() - noted > SECONDS:
            for array in out.values():
                array.file.flush()
            work.save("sort", inputs, {"rows": part.last, "entries": out["indices"].rows})
            _delete_buckets(work, part.last >> spread["bits"])
            noted = time.monotonic()
    for array in out.values():
        array.close()
    return {"entries": out["indices"].rows}


class Part(NamedTuple):
    """Some rows, from ``first`` to ``last``, that are sorted together."""

    first: int
    last: int
    paths: tuple[Path, Path]  # of their bucket: keys and weights
    start: int  # the first row of the bucket
    whole: bool  # whether these are all rows of the bucket


def _parts(spread: dict[str, Any], nodes: int, capacity: int, work: Work) -> Iterator[Part]:
    """Buckets, or parts of those with more ends than the capacity."""
    for bucket, ends in enumerate(spread["ends"]):
        paths, start = _bucket_files(work, bucket), bucket << spread["bits"]
        last = min(nodes, start + (1 << spread["bits"]))
        if ends <= capacity or not paths[0].exists():  # deleted: it is done
            yield Part(start, last, paths, start, True)
            continue
        counts = np.zeros(last - start + 1, np.int64)
        for keys in _chunks(paths[0], np.int64):
            counts += np.bincount(keys >> 32, minlength=len(counts))
        pieces = (np.cumsum(counts) - counts) // capacity
        edges = [*np.flatnonzero(np.diff(pieces, prepend=-1)).tolist(), last - start]
        for first, stop in pairwise(edges):
            yield Part(start + first, start + stop, paths, start, False)


def _sort(part: Part, weighted: bool) -> Rows:
    """The rows of a part: each with its columns in order, edges in both directions once."""
    keys, weights = _read(part, weighted)
    rows = part.last - part.first
    if not len(keys):
        return Rows(np.zeros(rows, np.int64), np.empty(0, np.int32), NO_WEIGHTS, np.zeros(rows))
    keys -= (part.first - part.start) << 32
    if weighted:
        order = np.argsort(keys)
        keys, totals = _reduce(np.add, keys[order], weights[order].astype(np.float64))  # repeated edges add up
        totals = totals.astype(np.float32)
        keys >>= 1
        keys, totals = _reduce(np.maximum, keys, totals)  # of both directions, the larger one
    else:
        keys >>= 1
        keys.sort()
        keys, totals = keys[_firsts(keys)], NO_WEIGHTS
    row = keys >> 31
    counts = np.bincount(row, minlength=rows)
    degrees = np.bincount(row, totals, minlength=rows) if weighted else counts
    return Rows(counts, (keys & LOW).astype(np.int32), totals, degrees)


def _read(part: Part, weighted: bool) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the part, and their weights."""
    if part.whole:
        return np.fromfile(part.paths[0], np.int64), np.fromfile(part.paths[1], np.float32) if weighted else NO_WEIGHTS
    low, high = (part.first - part.start) << 32, (part.last - part.start) << 32
    keys, weights = [], []
    for i, some in enumerate(_chunks(part.paths[0], np.int64)):
        inside = (some >= low) & (some < high)
        keys.append(some[inside])
        if weighted:
            weights.append(np.memmap(part.paths[1], np.float32, "r")[i * CHUNK : (i + 1) * CHUNK][inside])
    return np.concatenate(keys), np.concatenate(weights) if weighted else NO_WEIGHTS


def _chunks(path: Path, kind: Any) -> Iterator[np.ndarray]:
    array = np.memmap(path, kind, "r")
    return (array[at : at + CHUNK] for at in range(0, len(array), CHUNK))


def _reduce(how: np.ufunc, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of the sorted keys once, and the sum or the maximum of its values."""
    starts = np.flatnonzero(_firsts(keys))
    return keys[starts], how.reduceat(values, starts)


def _firsts(keys: np.ndarray) -> np.ndarray:
    """Which of the sorted keys differ from the one before."""
    first = np.empty(len(keys), bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def _bucket_files(work: Work, bucket: int) -> tuple[Path, Path]:
    return work.folder / f"bucket-{bucket}.keys", work.folder / f"bucket-{bucket}.weights"


def _delete_buckets(work: Work, stop: int) -> None:
    """Delete the files of the buckets before ``stop``, which are sorted."""
    for bucket in range(stop):
        for path in _bucket_files(work, bucket):
            path.unlink(missing_ok=True)


def _in_order(tasks: list[Callable[[], Any]], threads: int) -> Iterator[Any]:
    """What tasks return, in their order; only as many results are in memory as there are threads."""
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Any] = deque()
        for task in tasks:
            running.append(pool.submit(task))
            if len(running) > threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

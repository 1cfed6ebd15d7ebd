"""`Buckets`: entries of a sparse matrix, sorted into rows through files."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ngcn.data.large_table import LargeTable, Position
from ngcn.data.table import MOST_LISTED, Table
from ngcn.engine import Cluster, Local
from ngcn.errors import DatasetError
from ngcn.large.building import kernels
from ngcn.large.building.spread import in_files
from ngcn.large.building.work import GrowingArray, Work, append_to
from ngcn.large.products import working_set
from ngcn.ops.threads import follow_torch

SHARES = 16  # of a chunk, which threads take
PER_ENTRY = 80  # bytes in memory for an entry while its bucket is sorted
BUCKET, MOST_BUCKETS = 1 << 22, 512  # entries of a bucket, unless there would be too many buckets
LEAST_PIECE, MOST_PIECES = 1 << 22, 64  # rows of a table that are read by one task, and the number of tasks
LEAST = 1 << 16  # entries that are sorted together, however little memory there is
CHUNK = 1 << 22  # entries that are looked at together
SECONDS = 3.0  # between two notes of what is done
LOW = (1 << 31) - 1  # the bits of a column
NO_WEIGHTS = np.empty(0, np.float32)


class Entries(NamedTuple):
    """Entries of a sparse matrix that a chunk of a table has. Some of its rows may be dropped."""

    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    unknown: Sequence[str] = ()  # the ids of the first rows that are dropped


def bits_of(rows: int, entries: int) -> int:
    """The ``bits`` of :class:`Buckets` for about so many entries."""
    buckets = min(MOST_BUCKETS, -(-entries // BUCKET), rows) or 1
    return max(0, (-(-rows // buckets) - 1).bit_length())


@dataclass(frozen=True)
class Buckets:
    """A sparse matrix that is made of entries in any order.

    Its entries are written to the files of buckets, each for a range of rows, and then sorted bucket by bucket. Pieces
    of the table are read by tasks, which have files of their own: their order is that of the table on any engine.

    Args:
        work: the build.
        prefix: of the names of the files.
        rows: the number of rows.
        bits: row r is in bucket ``r >> bits``; see :func:`bits_of`.
        weighted: whether entries have weights.
        both: whether each entry stands for an edge in both directions; then the diagonal is left out.
        cluster: reads pieces and sorts buckets; this machine if None.
    """

    work: Work
    prefix: str
    rows: int
    bits: int
    weighted: bool
    both: bool
    cluster: Cluster | None = None

    @property
    def number(self) -> int:
        """How many buckets there are."""
        return -(-self.rows // (1 << self.bits))

    def fill(
        self,
        table: LargeTable,
        columns: Sequence[str],
        read: Callable[[Table], Entries],
        inputs: str,
        stage: str,
    ) -> dict[str, Any]:
        """Write the entries that ``read`` makes of each chunk of a table. Continues after what it has noted as done.

        Returns:
            the numbers of entries, a list for each piece of the table with those of each bucket; the number of rows of
            the table, how many of them are ``dropped``, the first ids that are ``unknown``, and the sum of all weights.
        """
        cuts = table.pieces(max(LEAST_PIECE, table.rows // MOST_PIECES))
        lone = replace(self, cluster=None)
        pieces = [Piece(lone, number, table, columns, read, inputs, stage, *cut) for number, cut in enumerate(cuts)]
        found: list[dict[str, Any]] = [{}] * len(pieces)
        rows = 0
        for number, of_piece in (self.cluster or Local()).run(pieces):
            found[number] = of_piece
            rows += of_piece["rows"]
            self.work.on_progress(stage, rows, max(table.rows, rows))
        sums = {name: sum(of_piece[name] for of_piece in found) for name in ("dropped", "weight")}
        unknown = [id for of_piece in found for id in of_piece["unknown"]][:MOST_LISTED]
        return {"entries": [of_piece["entries"] for of_piece in found], "rows": rows, "unknown": unknown, **sums}

    def add(self, piece: int, source: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Write entries; return how many each bucket got."""
        counts = np.zeros((SHARES, self.number), np.int64)
        kernels.count_entries(SHARES, (source, target, counts), self.bits, int(self.both))
        stops = np.cumsum(counts.T).reshape(self.number, SHARES)  # first those of bucket 0, of all shares
        keys = np.empty(stops[-1, -1], np.int64)
        kept = np.empty(len(keys) if self.weighted else 0, np.float32)
        arrays = source, target, weights, np.ascontiguousarray(stops.T) - counts, keys, kept
        kernels.place_entries(SHARES, arrays, self.bits, int(self.both))
        of_buckets: np.ndarray = counts.sum(axis=0)
        for bucket in np.flatnonzero(of_buckets).tolist():
            part = slice(stops[bucket, -1] - of_buckets[bucket], stops[bucket, -1])
            for path, array in zip(self.paths(piece, bucket), (keys, kept), strict=True):
                append_to(path, array[part])
        return of_buckets

    def sort(
        self, entries: Sequence[Sequence[int]], names: tuple[str, str, str, str], memory: int, inputs: str, stage: str
    ) -> dict[str, Any]:
        """Write the matrix in CSR form, each entry once. Continues after what it has noted as done.

        Args:
            entries: those of each bucket, for each piece.
            names: of the arrays: indptr, indices, weights and the sums of the rows; "" for one that is not needed.
            memory: that may be used.
            inputs: what the matrix depends on.
            stage: for the progress.

        Returns:
            the number of ``entries``.
        """
        work, note = self.work, f"{self.prefix}sort"
        done = work.saved(note, inputs) or {"rows": 0, "entries": 0}
        first, threads = done["rows"], self.cluster.threads if self.cluster else follow_torch()
        capacity = max(LEAST, working_set(memory) // 2 // PER_ENTRY // threads)
        parts = [part for part in self._parts(np.array(entries), capacity) if part.first >= first]
        tasks, noted = [partial(_sort, part, self.weighted) for part in parts], time.monotonic()
        results = map(list, in_files(tasks, self.cluster, work)) if self.cluster else _in_order(tasks, threads)
        with ExitStack() as files:
            kinds = (np.int64, np.int32, np.float32, np.float64)
            rows = first + (first > 0), done["entries"], done["entries"], first
            out = {
                i: files.enter_context(GrowingArray(work, name, kinds[i], rows=rows[i]))
                for i, name in enumerate(names)
                if name
            }
            if not first:
                out[0].append(np.zeros(1, np.int64))
            for part, arrays in zip(parts, results, strict=True):
                out[0].append(out[1].rows + np.cumsum(arrays[0]))
                for i in filter(None, out):
                    out[i].append(arrays[i])
                work.on_progress(stage, part.last, self.rows)
                if time.monotonic() - noted > SECONDS:
                    for array in out.values():
                        array.file.flush()
                    work.save(note, inputs, {"rows": part.last, "entries": out[1].rows})
                    self._delete(part.last >> self.bits, len(entries))
                    noted = time.monotonic()
        return {"entries": out[1].rows}

    def _parts(self, entries: np.ndarray, capacity: int) -> Iterator[Part]:
        """Buckets, or parts of those with more entries than the capacity."""
        for bucket, of_pieces in enumerate(entries.T):
            start = bucket << self.bits
            last = min(self.rows, start + (1 << self.bits))
            files = [(*self.paths(piece, bucket), n) for piece, n in enumerate(of_pieces.tolist()) if n]
            if of_pieces.sum() <= capacity or not files[0][0].exists():  # deleted: it is done
                yield Part(start, last, files, start, True)
                continue
            counts = np.zeros(last - start, np.int64)
            for file in files:
                for keys in _chunks(file[0], np.int64):
                    counts += np.bincount(keys >> 32, minlength=len(counts))
            pieces = (np.cumsum(counts) - counts) // capacity
            edges = [*np.flatnonzero(np.diff(pieces, prepend=-1)).tolist(), last - start]
            for first, stop in pairwise(edges):
                yield Part(start + first, start + stop, files, start, False)

    def paths(self, piece: int, bucket: int) -> tuple[Path, Path]:
        """The files with the keys and the weights of entries."""
        name = f"{self.prefix}{piece}-{bucket}"
        return self.work.folder / f"{name}.keys", self.work.folder / f"{name}.weights"

    def _delete(self, stop: int, pieces: int) -> None:
        """Delete the files of the buckets before ``stop``, which are sorted."""
        for bucket in range(stop):
            for piece in range(pieces):
                for path in self.paths(piece, bucket):
                    path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Piece:
    """The task to write the entries of a piece of a table. It notes what is done, and continues after that.

    Args:
        buckets: the matrix.
        number: of the piece.
        table, columns, read, inputs, stage: see :meth:`Buckets.fill`.
        start, stop: where the piece begins and ends.
    """

    buckets: Buckets
    number: int
    table: LargeTable
    columns: Sequence[str]
    read: Callable[[Table], Entries]
    inputs: str
    stage: str
    start: Position
    stop: Position

    def __call__(self) -> tuple[int, dict[str, Any]]:
        buckets, work, note = self.buckets, self.buckets.work, f"{self.buckets.prefix}{self.number}-fill"
        done = work.saved(note, self.inputs)
        nothing = {"rows": 0, "dropped": 0, "unknown": [], "weight": 0.0}
        done = done or {"after": self.start, "entries": [0] * buckets.number, **nothing}
        entries, before = np.array(done["entries"]), self.table.rows_before(self.start)
        for bucket in range(buckets.number):
            for path, width in zip(buckets.paths(self.number, bucket), (8, 4), strict=True):
                with path.open("ab") as file:
                    file.truncate(width * entries[bucket])
        noted = time.monotonic()
        for chunk in self.table.chunks(self.columns, tuple(done["after"]), self.stop):
            source, target, weights, unknown = self.read(chunk)
            entries += buckets.add(self.number, source, target, weights)
            done["rows"] += len(chunk)
            done["dropped"] += len(chunk) - len(source)
            done["unknown"] = [*done["unknown"], *unknown][:MOST_LISTED]
            done["weight"] += float(weights.sum(dtype=np.float64))
            done |= {"after": self.table.position(chunk), "entries": entries.tolist()}
            work.on_progress(self.stage, before + done["rows"], max(self.table.rows, before + done["rows"]))
            if time.monotonic() - noted > SECONDS:
                work.save(note, self.inputs, done)
                noted = time.monotonic()
        work.save(note, self.inputs, done)
        return self.number, {name: done[name] for name in ("entries", *nothing)}


class Part(NamedTuple):
    """Some rows, from ``first`` to ``last``, that are sorted together."""

    first: int
    last: int
    files: list[tuple[Path, Path, int]]  # of their bucket: keys, weights, and how many there are
    start: int  # the first row of the bucket
    whole: bool  # whether these are all rows of the bucket


def _sort(part: Part, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of entries of rows, their columns in order, their weights, and the sum of each row.

    Weights of repeated entries add up; of the two directions of an edge, the larger weight counts.
    """
    keys, weights = _read(part, weighted)
    rows = part.last - part.first
    if not len(keys):
        return (np.zeros(rows, np.int64), np.empty(0, np.int32), NO_WEIGHTS, np.zeros(rows))
    keys -= (part.first - part.start) << 32
    if weighted:
        order = np.argsort(keys)
        keys, totals = _reduce(np.add, keys[order], weights[order].astype(np.float64))
        totals = totals.astype(np.float32)
        keys >>= 1
        keys, totals = _reduce(np.maximum, keys, totals)
    else:
        keys >>= 1
        keys.sort()
        keys, totals = keys[_firsts(keys)], NO_WEIGHTS
    row = keys >> 31
    counts = np.bincount(row, minlength=rows)
    degrees = np.bincount(row, totals, minlength=rows) if weighted else counts
    return (counts, (keys & LOW).astype(np.int32), totals, degrees)


def _read(part: Part, weighted: bool) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the part, and their weights."""
    low, high = (part.first - part.start) << 32, (part.last - part.start) << 32
    keys, weights = [np.empty(0, np.int64)], [NO_WEIGHTS]
    for of_keys, of_weights, entries in part.files:
        if of_keys.stat().st_size != 8 * entries:
            raise DatasetError(f"{of_keys} is damaged; delete {of_keys.parent}, and build again.")
        if part.whole:
            keys.append(np.fromfile(of_keys, np.int64))
            weights.append(np.fromfile(of_weights, np.float32) if weighted else NO_WEIGHTS)
            continue
        for i, some in enumerate(_chunks(of_keys, np.int64)):
            inside = (some >= low) & (some < high)
            keys.append(some[inside])
            if weighted:
                weights.append(np.memmap(of_weights, np.float32, "r")[i * CHUNK : (i + 1) * CHUNK][inside])
    return _joined(keys), _joined(weights)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """All of them after the first, which is empty."""
    return arrays[1] if len(arrays) == 2 else np.concatenate(arrays)


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


def _in_order(tasks: Sequence[Callable[[], Any]], threads: int) -> Iterator[Any]:
    """What tasks return, in their order; only as many results are in memory as there are threads."""
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Any] = deque()
        for task in tasks:
            running.append(pool.submit(task))
            if len(running) > threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

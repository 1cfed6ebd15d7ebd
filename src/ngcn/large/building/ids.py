"""The ids of nodes, numbers or text: written to files, and found again through a hash table in a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data.large_table import LargeTable
from ngcn.data.table import BadCells, Table, first_true
from ngcn.large.building import kernels
from ngcn.large.building.work import GrowingArray, Work, append_to

LONGEST = 1000  # characters of an id
CHUNK = 1 << 20  # ids that are converted together
NO_STARTS = np.empty(0, np.int64)  # of integers


class IdWriter:
    """Writes ids as they come: as integers, until one is none; from there on, all as text.

    ids.bytes: 8 bytes for each integer, or the text in UTF-8. ids.starts: for text, where each id begins.
    """

    def __init__(self, folder: Path) -> None:
        self.bytes, self.starts = folder / "ids.bytes", folder / "ids.starts"
        for path in (self.bytes, self.starts):
            path.unlink(missing_ok=True)
        self.nodes, self.longest = 0, 0  # characters; 0 for integers
        self.size = 0  # bytes of text
        self.ordered = True  # the ids are 0, 1, 2, ...

    def append(self, table: Table, column: str) -> None:
        numbers = None if self.longest else integers(table, column)
        if numbers is not None:
            append_to(self.bytes, numbers)
            self.ordered &= bool((numbers == np.arange(self.nodes, self.nodes + len(numbers))).all())
        else:
            texts = table.ids(column)
            if not self.longest:
                self._begin_text()
            lengths = pc.utf8_length(texts)
            longest = pc.max(lengths).as_py()
            if longest > LONGEST:
                row = first_true(pc.greater(lengths, LONGEST))
                what = f"the id has {lengths[row]} characters; at most {LONGEST} can be used."
                raise table.error(row, column, what)
            self.longest = max(self.longest, longest)
            self._append(texts)
        self.nodes += len(table)

    def _begin_text(self) -> None:
        """Write again, as text, what came before."""
        self.ordered = False
        append_to(self.starts, np.zeros(1, np.int64))
        if not self.nodes:
            return
        before = self.bytes.rename(self.bytes.with_name("ids.before"))
        numbers = np.memmap(before, np.int64, "r")
        for at in range(0, self.nodes, CHUNK):
            texts = pa.array(numbers[at : at + CHUNK]).cast(pa.string())
            self.longest = max(self.longest, pc.max(pc.utf8_length(texts)).as_py())
            self._append(texts)
        before.unlink()

    def _append(self, texts: pa.Array) -> None:
        data, starts = bytes_of(texts)
        append_to(self.bytes, data[starts[0] : starts[-1]])
        append_to(self.starts, starts[1:] - starts[0] + self.size)
        self.size += int(starts[-1] - starts[0])

    def found(self) -> dict[str, Any]:
        """What :class:`Ids` needs to know."""
        return {"nodes": self.nodes, "longest": self.longest, "ordered": self.ordered}


class Ids:
    """The ids that :class:`IdWriter` wrote.

    Args:
        work: the build.
        nodes: their number.
        longest: characters of the longest text; 0 if the ids are integers.
        ordered: whether they are 0, 1, 2, ...
        home: the name of the table of nodes, for messages.
    """

    def __init__(self, work: Work, nodes: int, longest: int, ordered: bool, home: str) -> None:
        self.work, self.nodes, self.longest, self.ordered, self.home = work, nodes, longest, ordered, home
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids, (self.work, self.nodes, self.longest, self.ordered, self.home)

    def write(self, table: LargeTable, column: str) -> dict[str, Any]:
        """Write ids.npy and the hash table; raise an error if an id is repeated."""
        data, starts = self._stored()
        if not self.ordered:
            self._index(table, column, data, starts)
        with GrowingArray(self.work, "ids", f"<U{self.longest}" if self.longest else np.int64) as out:
            for at in range(0, self.nodes, CHUNK):
                if self.longest:
                    some = starts[at : at + CHUNK + 1]
                    buffers = map(pa.py_buffer, (some - some[0], data[some[0] : some[-1]]))
                    texts = pa.LargeStringArray.from_buffers(len(some) - 1, *buffers)
                    out.append(np.array(texts.to_pylist(), out.dtype))
                else:
                    out.append(data.view(np.int64)[at : at + CHUNK])
        return {}

    def _index(self, table: LargeTable, column: str, data: np.ndarray, starts: np.ndarray) -> None:
        capacity = 1 << (self.nodes * 3 // 2).bit_length()
        path = self.work.folder / "slots"
        with path.open("wb") as file:
            for _ in range(0, 4 * capacity, 1 << 24):  # no hole in the file: the disk may have no room for it later
                file.write(bytes(min(4 * capacity, 1 << 24)))
        slots, repeated = np.memmap(path, np.int32, "r+", shape=(capacity,)), np.zeros(2, np.int64)
        kernels.insert_ids(1, (data, starts, slots, repeated), self.nodes)
        if repeated[1]:
            (before, there), (chunk, row) = (table.row(int(node), column) for node in repeated)
            node = chunk.ids(column)[row].as_py()
            where = f"row {before.row_number(there)}" + ("" if before.name == chunk.name else f" of {before.name}")
            raise chunk.error(row, column, f"the id {node!r} is in {where} already; ids must differ.")

    def _stored(self) -> tuple[np.ndarray, np.ndarray]:
        folder = self.work.folder
        data: np.ndarray = np.memmap(folder / "ids.bytes", np.uint8, "r")
        return data, np.memmap(folder / "ids.starts", np.int64, "r") if self.longest else NO_STARTS

    def places(self, table: Table, column: str) -> tuple[np.ndarray, BadCells]:
        """The numbers of the nodes in a column, and the unknown ids."""
        numbers = None if self.longest else integers(table, column)
        none: Any = False
        if numbers is None and not self.longest:
            numbers, none = some_integers(table.ids(column))
        if numbers is not None and self.ordered:
            return numbers, self._unknown(table, column, (numbers < 0) | (numbers >= self.nodes) | none)
        if numbers is not None:
            wanted, wanted_starts = numbers.view(np.uint8), NO_STARTS
        else:
            wanted, wanted_starts = bytes_of(table.ids(column))
        if self._arrays is None:
            slots: np.ndarray = np.memmap(self.work.folder / "slots", np.int32, "r")
            self._arrays = *self._stored(), slots
        places = np.empty(len(table), np.int64)
        kernels.find_ids(-(-len(table) // kernels.ROWS), (wanted, wanted_starts, *self._arrays, places))
        return places, self._unknown(table, column, (places < 0) | none)

    def _unknown(self, table: Table, column: str, which: np.ndarray) -> BadCells:
        texts = table.ids(column) if which.any() else []
        return BadCells.at(column, which, lambda row: f"there is no node {texts[row].as_py()!r} in {self.home}")


def integers(table: Table, column: str) -> np.ndarray | None:
    """A column of ids as int64, if all are written as integers are."""
    cells = table.cells(column)
    if pa.types.is_integer(cells.type) and not cells.null_count:
        try:
            return np.ascontiguousarray(cells.cast(pa.int64()).to_numpy())
        except pa.ArrowInvalid:  # above 2^63
            return None
    texts = table.ids(column)
    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return np.ascontiguousarray(numbers.to_numpy()) if numbers.cast(pa.string()).equals(texts) else None


def some_integers(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The texts that are integers as int64, and which are none."""
    found = texts.dictionary_encode()
    values = list(map(_integer, found.dictionary.to_pylist()))
    places = found.indices.to_numpy()
    none = np.array([value is None for value in values])[places]
    return np.array([value or 0 for value in values], np.int64)[places], none


def _integer(text: str) -> int | None:
    """The integer that is written like this, if it is an int64.

    Example:
        >>> _integer("-12"), _integer("012"), _integer("9" * 19)
        (-12, None, None)
    """
    if len(text) > 20 or not re.fullmatch("0|-?[1-9][0-9]*", text):
        return None
    return value if -(2**63) <= (value := int(text)) < 2**63 else None


def bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of all texts, and where each begins and the last one ends."""
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", np.uint8), starts

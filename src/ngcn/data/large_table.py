"""`LargeTable`: a table of any size, in one or more files, that is read in chunks. Each chunk is a `Table`."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ngcn.data.npz import DAMAGE, map_array
from ngcn.data.table import Table
from ngcn.data.table_file import UTF_8, csv_error, csv_names, csv_options, csv_separator, empty_rows
from ngcn.errors import DatasetError
from ngcn.files import open_regular

CELLS = 1 << 22  # that are read together, about
BLOCK = 1 << 24  # bytes of text that are read together
HEAD = 1 << 16  # bytes that have the first line
Position = tuple[int, int]  # the number of a file, and that of a row in it
ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".npy")


class LargeTable:
    """A table in a file, in a folder of part files, or in several files, which have the same columns.

    Args:
        paths: Parquet, CSV or TSV files (the latter may be gzipped), or .npy files with pairs of integers; or folders
            of such files, which are read in the order of their names.

    Attributes:
        files: the paths.
        columns: the names of the columns.
        rows: their number; an estimate for text.
    """

    def __init__(self, paths: Path | str | Sequence[Path | str]) -> None:
        given = [paths] if isinstance(paths, str | Path) else paths
        self.files = [file for path in given for file in _files(Path(path))]
        self._readers = [_reader(path) for path in self.files]
        self.columns = self._readers[0].columns
        for reader in self._readers[1:]:
            if sorted(reader.columns) != sorted(self.columns):
                raise DatasetError(
                    f"{reader.path} has the columns {', '.join(reader.columns[:8])}, and {self.files[0]} has "
                    f"{', '.join(self.columns[:8])}; the files of a table need the same columns."
                )
        self.rows = sum(reader.rows for reader in self._readers)

    @property
    def exact(self) -> bool:
        """Whether ``rows`` is no estimate."""
        return not any(isinstance(reader, _Text) for reader in self._readers)

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def head(self, rows: int = 1 << 14) -> Table:
        """The first rows."""
        for chunk in self._readers[0].chunks(self.columns):
            return Table(chunk.columns[:rows], chunk.name, chunk.first_row, chunk.blank_rows, chunk.decimal)
        return self._readers[0].empty()

    def chunks(
        self, columns: Sequence[str] | None = None, after: Position = (0, 0), until: Position | None = None
    ) -> Iterator[Table]:
        """All rows, in order: these columns. ``after`` is :meth:`position` of the chunk to continue after; ``until`` is
        where to end."""
        wanted = self.columns if columns is None else list(dict.fromkeys(columns))
        last, stop = until or (len(self._readers), 0)
        for number in range(after[0], last + (stop > 0)):
            skip = after[1] if number == after[0] else 0
            yield from self._readers[number].chunks(wanted, skip, stop if number == last else None)

    def pieces(self, rows: int) -> list[tuple[Position, Position]]:
        """Where parts of at least so many rows begin and end that can be read by themselves: Parquet is cut between row
        groups, and text between files only."""
        cuts, since = [(0, 0)], 0
        for number, reader in enumerate(self._readers):
            for first, stop in pairwise([*reader.cuts(), reader.rows]):
                if since >= rows:
                    cuts.append((number, first))
                    since = 0
                since += stop - first
        return list(pairwise([*cuts, (len(self._readers), 0)]))

    def rows_before(self, position: Position) -> int:
        """The number of rows before a position; an estimate for text."""
        return sum(reader.rows for reader in self._readers[: position[0]]) + position[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return LargeTable, ([path.absolute() for path in self.files],)

    def row(self, number: int, column: str) -> tuple[Table, int]:
        """The chunk that has this row, and the number of the row in it; for messages."""
        for chunk in self.chunks([column]):
            if number < len(chunk):
                return chunk, number
            number -= len(chunk)
        raise DatasetError(f"{self.files[-1]} has changed while it was read; start again.")

    def position(self, chunk: Table) -> Position:
        """Where the rows after a chunk begin: the number of its file, and rows of that file."""
        number = [str(path) for path in self.files].index(chunk.name)
        return number, chunk.first_row - self._readers[number].first_row + len(chunk)


class _Reader:
    """One file."""

    first_row = 1
    decimal = "."
    rows = 0

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: list[str] = []

    def chunks(self, columns: Sequence[str], skip: int = 0, stop: int | None = None) -> Iterator[Table]:
        """The rows after the first ``skip``, up to number ``stop``."""
        try:
            for at, batch in self.batches(columns, skip, stop):
                if stop is not None and at >= stop:
                    return
                first, last = max(0, skip - at), len(batch) if stop is None else min(len(batch), stop - at)
                if first < last:
                    yield self.table(batch.slice(first, last - first), self.first_row + at + first)
        except DatasetError:
            raise
        except (pa.ArrowException, *DAMAGE) as error:
            raise self.error(error) from None

    def batches(self, columns: Sequence[str], skip: int, stop: int | None) -> Iterator[tuple[int, Any]]:
        """Rows, and the number of the first of them; rows before ``skip``, and from ``stop`` on, may be left out."""
        raise NotImplementedError

    def cuts(self) -> Sequence[int]:
        """The rows at which reading may begin without what is before them."""
        return [0]

    def table(self, batch: Any, first_row: int) -> Table:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        return Table(table, str(self.path), first_row, self.blank_rows(), self.decimal)

    def empty(self) -> Table:
        nothing = pa.table({name: pa.array([], pa.string()) for name in self.columns})
        return self.table(nothing, self.first_row)

    def blank_rows(self) -> Iterable[int]:
        return ()

    def error(self, error: Exception) -> DatasetError:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        return DatasetError(f"{self.path} is truncated or damaged ({reason}); create it again.")


class _Parquet(_Reader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with self._open() as file:
                groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
                self.starts = [0, *accumulate(group.num_rows for group in groups)]
                self.rows = file.metadata.num_rows
                self.names = {str(name).strip(): name for name in file.schema_arrow.names}
        except (pa.ArrowException, *DAMAGE) as error:
            raise self.error(error) from None
        self.columns = Table(file.schema_arrow.empty_table(), str(path)).column_names

    def _open(self) -> Any:
        open_regular(self.path).close()
        return pyarrow.parquet.ParquetFile(str(self.path), memory_map=True, pre_buffer=False)

    def cuts(self) -> Sequence[int]:
        return self.starts[:-1]

    def batches(self, columns: Sequence[str], skip: int, stop: int | None) -> Iterator[tuple[int, Any]]:
        with self._open() as file:
            names = [self.names[column] for column in columns]
            groups = [
                group
                for group, (first, last) in enumerate(pairwise(self.starts))
                if last > skip and (stop is None or first < stop)
            ]
            at = self.starts[groups[0]] if groups else 0
            size = max(1024, CELLS // max(1, len(names)))
            for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=names, use_threads=False):
                yield at, batch
                at += len(batch)


class _Text(_Reader):
    first_row = 2  # after the first line

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.open() as file:
            try:
                start = file.read(HEAD).removeprefix(codecs.BOM_UTF8)
            except DAMAGE as error:
                raise self.error(error) from None
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise DatasetError(f"{path} is text in UTF-16; save it in {UTF_8}.")
        if not start.strip():
            raise DatasetError(f"{path} is empty; it needs a first line with the names of the columns.")
        start = start[: start.rfind(b"\n") + 1] or start
        self.separator = "\t" if ".tsv" in path.suffixes else csv_separator(start)
        self.decimal = "," if self.separator == ";" else "."
        names = csv_names(start, path, self.separator)
        self.names, self.width = {name.strip(): name for name in names}, len(names)
        header = pa.table({str(i): pa.array([], pa.string()) for i in range(len(names))}).rename_columns(names)
        self.columns = Table(header, str(path)).column_names
        unpacks = 4 if path.suffix == ".gz" else 1
        self.rows = max(1, unpacks * path.stat().st_size * max(1, start.count(b"\n")) // len(start))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The unpacked file."""
        with open_regular(self.path) as file:
            yield gzip.GzipFile(fileobj=file) if self.path.suffix == ".gz" else file  # type: ignore[misc]

    def batches(self, columns: Sequence[str], skip: int, stop: int | None) -> Iterator[tuple[int, Any]]:
        at = read = 0
        for batch in self._read([self.names[column] for column in columns]):
            empty = empty_rows(batch) if self.width > 1 else ()
            if len(empty) and len(columns) < self.width:  # other columns may have text
                empty = np.intersect1d(empty, self._empty - read)
            read += len(batch)
            if len(empty):
                kept = np.ones(len(batch), bool)
                kept[empty] = False
                batch = batch.filter(pa.array(kept))
            yield at, batch
            at += len(batch)

    @cached_property
    def _empty(self) -> np.ndarray:
        """The rows (from 0) in which all cells are empty."""
        found, at = [np.empty(0, np.int64)], 0
        for batch in self._read([]):
            found.append(at + empty_rows(batch))
            at += len(batch)
        return np.concatenate(found)

    def _read(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches of these columns, or of all."""
        how, convert = csv_options(list(self.names.values()), self.separator, True)
        convert.include_columns = names
        read = pa.csv.ReadOptions(block_size=BLOCK, use_threads=False)  # one thread: errors have the number of the row
        compression = "gzip" if self.path.suffix == ".gz" else None
        with pa.input_stream(str(self.path), compression=compression) as file:
            yield from pa.csv.open_csv(file, read, how, convert)

    def blank_rows(self) -> Iterable[int]:
        return _BlankRows(self, self.width)

    def error(self, error: Exception) -> DatasetError:
        if isinstance(error, pa.ArrowInvalid):
            return csv_error(self.path, error, _BlankRows(self, 1))
        return super().error(error)


class _BlankRows:
    """The numbers of the blank rows of a file. It is read only if they are asked for, for a message.

    Args:
        reader: of the file.
        columns: their number; 1 for the blank rows that Arrow does not count.
    """

    def __init__(self, reader: _Text, columns: int) -> None:
        self.reader, self.columns = reader, columns

    def __iter__(self) -> Iterator[int]:
        row, quoted, empty = 0, False, self.reader.separator.encode() * (self.columns - 1)
        with self.reader.open() as file:
            for line in file:
                row += not quoted  # a quoted cell may span several lines
                line = line.strip(b"\r\n")
                if not quoted and (not line or (empty and line.replace(b'""', b"") == empty)):
                    yield row
                quoted ^= line.count(b'"') % 2 == 1


class _Pairs(_Reader):
    """An array with two rows or two columns of integers."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.columns = ["source", "target"]
        try:
            array = map_array(path)
        except (OSError, ValueError) as error:
            raise self.error(error) from None
        pairs = array if array.ndim == 2 and array.shape[1] == 2 else array.T
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise DatasetError(
                f"{path} should have two columns of integers, the ends of the edges, but has shape {array.shape} and "
                f"type {array.dtype}."
            )
        self.pairs, self.rows = pairs, len(pairs)

    def cuts(self) -> Sequence[int]:
        return range(0, max(1, self.rows), CELLS // 2)

    def batches(self, columns: Sequence[str], skip: int, stop: int | None) -> Iterator[tuple[int, Any]]:
        for at in range(skip, self.rows, CELLS // 2):
            rows = self.pairs[at : at + CELLS // 2]
            ends = {name: np.ascontiguousarray(rows[:, self.columns.index(name)]) for name in columns}
            yield at, pa.table(ends)


def _files(path: Path) -> list[Path]:
    """The files of a table: the path itself, or those in the folder."""
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.iterdir()) if _ending(file) and not file.name.startswith((".", "_"))]
    if not found:
        raise DatasetError(f"{path} holds no table; it should hold part files ending in {', '.join(ENDINGS)}.")
    return found


def _ending(path: Path) -> str:
    return next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), "")


def _reader(path: Path) -> _Reader:
    ending = _ending(path)
    try:
        if ending == ".parquet":
            return _Parquet(path)
        if ending == ".npy":
            return _Pairs(path)
        if ending:
            return _Text(path)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}.") from None
    raise DatasetError(f"{path} is not a table that can be read in chunks; use {', '.join(ENDINGS)}.")

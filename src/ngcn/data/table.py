"""`Table`: the columns of one file of a user's, with errors that name the file, the row, the column and a remedy."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from ngcn.data.assemble import log
from ngcn.data.catalog import DatasetError

ENDINGS = (".csv", ".tsv", ".parquet")  # each may have .gz behind it
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"  # as str(int) writes it: 007 is a text
_NAMELESS = r"|__index_level_\d+__|Unnamed: \d+"  # nothing, or what pandas writes and reads for it


class Table:
    """Cells as they stand in a file (text, for CSV), read as what they are meant to be only when asked for.

    Args:
        columns: the cells.
        name: what to call the table in messages: its path.
        first_row: the number of its first row in messages; 2 where a header is the first line.
        blank_rows: the numbers of rows that are in the file and not among the columns, ascending.
    """

    def __init__(self, columns: pa.Table, name: str, first_row: int = 1, blank_rows: Sequence[int] = ()) -> None:
        names = [str(column).strip() for column in columns.column_names]
        if nameless := [column for column in names if re.fullmatch(_NAMELESS, column)]:
            told = ", ".join(map(repr, nameless))
            log.warning(f"{name}: a column without a name ({told}) is left out; give it one if it is meant.")
            named = [place for place, column in enumerate(names) if column not in nameless]
            columns, names = columns.select(named), [names[place] for place in named]
        refuse_twice(names, name)
        self.columns = columns.rename_columns(names)
        self.name = name
        self.first_row = first_row
        self.blank_rows = blank_rows

    def __len__(self) -> int:
        return self.columns.num_rows

    @property
    def column_names(self) -> list[str]:
        return self.columns.column_names

    def find(self, column: str) -> str | None:
        """The column of that name, in whatever case it is written."""
        if column in self.column_names:
            return column
        alike = [name for name in self.column_names if name.casefold() == column.casefold()]
        return alike[0] if len(alike) == 1 else None

    def need(self, column: str, remedy: str = "add it, or rename the one that is meant.") -> str:
        """The column as it is written here; ``remedy`` says what to do without: add or rename it, or name another."""
        found = self.find(column)
        if found is None:
            if near := get_close_matches(column, self.column_names, n=1):
                remedy = f"did you mean {near[0]!r}?" if remedy.startswith("name") else f"rename {near[0]!r}?"
            there = f"{'its first line names' if self.first_row == 2 else 'it has'} {_some(self.column_names)}"
            raise DatasetError(f"{self.name} has no column {column!r}; {there}: {remedy}")
        return found

    def number(self, row: int) -> int:
        """How messages count a row; ``row`` counts from 0."""
        return _with_blank(row + self.first_row, self.blank_rows)

    def at(self, column: str, row: int | None = None) -> str:
        """How messages name a column, or a cell of it; ``row`` counts from 0."""
        return f"{self.name}, {'' if row is None else f'row {self.number(row)}, '}column {column!r}"

    def wrong(self, row: int, column: str, what: str) -> DatasetError:
        return DatasetError(f"{self.at(column, row)}: {what}")

    def texts(self, column: str) -> pa.Array:
        """The cells as text without spaces around them; null where there is nothing."""
        cells = self._cells(column)
        kind = cells.type
        if pa.types.is_floating(kind):
            cells = _whole(cells)
        if pa.types.is_floating(cells.type) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            cells = cells.cast(pa.string())
        if not pa.types.is_string(cells.type):
            try:
                cells = cells.cast(pa.string())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise DatasetError(
                    f"{self.name}: the column {column!r} holds {kind} values, where text or numbers are expected."
                ) from None
        cells = pc.utf8_trim_whitespace(cells)
        return pc.if_else(pc.equal(cells, ""), None, cells)

    def ids(self, column: str) -> pa.Array:
        """The cells as text, none of them empty."""
        ids = self.texts(column)
        if ids.null_count:
            raise self.wrong(_first(ids.is_null()), column, "a node id is missing; fill it in or remove the row.")
        return ids

    def places(self, column: str, ids: pa.Array, home: str) -> np.ndarray:
        """Where each id stands among ``ids``, those of the nodes in ``home``."""
        texts = self.ids(column)
        found = pc.index_in(texts, value_set=ids)
        if found.null_count:
            row = _first(found.is_null())
            what = f"there is no node {texts[row].as_py()!r} in {home}; add it there, or remove the row."
            raise self.wrong(row, column, what)
        return found.to_numpy()

    def is_text(self, column: str) -> bool:
        """Not a number anywhere, and not true and false: a column for names, not one with a slip in it."""
        cells = self._cells(column)
        if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            return not _numeric(cells.type)
        given = self.texts(column).drop_null()[:1000]
        return len(given) > 0 and not _are_flags(given) and not any(map(_is_number, given.to_pylist()))

    def numbers(self, column: str, remedy: str) -> np.ndarray:
        """The cells as finite numbers, true as 1; ``remedy`` ends the sentence about one that is none."""
        cells = self._cells(column)
        if not _numeric(cells.type):
            texts = self.texts(column)
            try:
                cells = texts.cast(pa.bool_() if _are_flags(texts) else pa.float64())
            except pa.ArrowInvalid:
                row = _first_uncastable(texts)
                text = texts[row].as_py()
                remedy = "write it with a point." if has_comma(text) else remedy
                raise self.wrong(row, column, f"{text!r} is not a number; {remedy}") from None
        if cells.null_count:
            raise self.wrong(_first(cells.is_null()), column, f"there is no number; {remedy}")
        values = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            raise self.wrong(row, column, f"{values[row]} is not a number to count with; {remedy}")
        with np.errstate(over="ignore"):
            small = values.astype(np.float32)
        if np.isinf(small).any():
            row = int(np.argmax(np.isinf(small)))
            raise self.wrong(row, column, f"{values[row]:g} is too large a number; {remedy}")
        if len(values) and np.ptp(small) == 0 and np.ptp(values) > 1e-11 * abs(values[0]):  # less is rounding
            log.warning(
                f"{self.at(column)}: the numbers are so large and so close together that single precision cannot tell "
                f"them apart; subtract {values.min():.12g} from each."
            )
        return small

    def _cells(self, column: str) -> pa.Array:
        cells = self.columns.column(column).combine_chunks()
        if isinstance(cells, pa.ChunkedArray):  # an array of no length, in some versions
            cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
        return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def refuse_twice(columns: Sequence[str], table: str) -> None:
    if twice := [column for column, times in Counter(columns).items() if times > 1]:
        raise DatasetError(f"{table}: there is more than one column {twice[0]!r}; rename or remove all but one.")


def read_table(path: str | Path) -> Table:
    """A CSV, TSV or Parquet file, gzipped or not; CSV may be separated by commas, semicolons or tabs."""
    path = Path(path)
    ending = path.name.lower().removesuffix(".gz")
    if not ending.endswith(ENDINGS):
        raise DatasetError(f"{path} is not a table that can be read; use {', '.join(ENDINGS)}, with .gz behind or not.")
    try:
        content = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            content = gzip.decompress(content)
    except OSError as trouble:
        if isinstance(trouble, gzip.BadGzipFile):
            raise DatasetError(f"{path} is not a gzip file, or a damaged one: {trouble}; make it again.") from None
        raise DatasetError(f"{path} cannot be read: {trouble.strerror}.") from None
    except (EOFError, zlib.error):
        raise DatasetError(f"{path} is a gzip file that is cut off or damaged; copy or make it again.") from None
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise DatasetError(f"{path} is empty; it needs a first line with the names of the columns.")
    if ending.endswith(".parquet"):
        return Table(_parquet(content, path), str(path))
    content = content.removeprefix(codecs.BOM_UTF8)
    blank = _blank_rows(content)
    return Table(_csv(content, path, blank), str(path), first_row=2, blank_rows=blank)


def _parquet(content: bytes, path: Path) -> pa.Table:
    try:
        return pyarrow.parquet.ParquetFile(pa.BufferReader(content)).read(use_threads=False)  # as in _csv
    except (pa.ArrowException, OSError, ValueError) as trouble:
        reason = str(trouble).splitlines()[0].rstrip(".")
        raise DatasetError(f"{path} is cut off, damaged or no Parquet file ({reason}); make it again.") from None


def _csv(content: bytes, path: Path, blank_rows: Sequence[int]) -> pa.Table:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DatasetError(f"{path} is text in UTF-16; save it in UTF-8.")
    try:
        separator = "\t" if ".tsv" in path.suffixes else _separator(content)
        lines = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
        names = next(filter(None, csv.reader(lines, delimiter=separator, strict=True)), [])
    except UnicodeDecodeError:
        raise _not_utf8(content, path) from None
    except csv.Error:
        raise DatasetError(
            f"{path}: the quotation marks of its first line do not fit; close them, or double those inside a name."
        ) from None
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in content)
    # On one thread: only then is it told which row is wrong, and a process that ends soon after does not abort
    read = pa.csv.ReadOptions(block_size=min(max(len(content), 1), 1 << 24), use_threads=False)
    convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    try:
        return pa.csv.read_csv(pa.BufferReader(content), read, parse, convert)
    except pa.ArrowInvalid as trouble:
        if "UTF8" in str(trouble):
            raise _not_utf8(content, path) from None
        reason = str(trouble).splitlines()[0].removeprefix("CSV parse error: ").removeprefix("Row ").rstrip(".")
        reason = re.sub(r"^#(\d+)", lambda row: f"#{_with_blank(int(row[1]), blank_rows)}", reason)
        raise DatasetError(
            f"{path} is not a table, row {reason}; each row needs a cell for each column of the first line."
        ) from None


def _separator(content: bytes) -> str:
    """What there is most of in the first line that is not blank, outside quotes."""
    header = next(filter(bytes.strip, io.BytesIO(content)), b"").decode("utf-8")
    return max(",;\t", key=re.sub('"[^"]*"', "", header).count)


def _blank_rows(content: bytes) -> list[int]:
    """The numbers of rows with nothing in them, which the parser passes over."""
    if not (b"\n\n" in content or b"\n\r\n" in content or content.startswith((b"\n", b"\r"))):
        return []  # of most files, known at once
    blank, row, quoted = [], 0, False
    for line in content.splitlines():
        row += not quoted  # a cell may go over several lines
        if not (line or quoted):
            blank.append(row)
        quoted ^= line.count(b'"') % 2 == 1
    return blank


def _with_blank(row: int, blank_rows: Sequence[int]) -> int:
    for blank in blank_rows:
        row += blank <= row
    return row


def _not_utf8(content: bytes, path: Path) -> DatasetError:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as trouble:
        row = content.count(b"\n", 0, trouble.start) + 1
        return DatasetError(f"{path}, row {row}: a character is not in UTF-8; save the file in UTF-8.")
    return DatasetError(f"{path} is not text in UTF-8; save it so.")


def as_integers(ids: pa.Array) -> np.ndarray:
    """Ids as integers where all are written as such, else as text."""
    if len(ids) and pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        return ids.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.array(ids.to_pylist(), dtype=str)


def _numeric(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_one(kind) for is_one in kinds)


def _whole(numbers: pa.Array) -> pa.Array:
    """As integers where all are whole: a column of integers with gaps is often kept as 1.0, 2.0, ..."""
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return numbers


def _are_flags(texts: pa.Array) -> bool:
    """Nothing but true and false, in any case: how programs write 1 and 0 of a column of yes or no."""
    return bool(pc.all(pc.is_in(pc.utf8_lower(texts.drop_null()), value_set=pa.array(["true", "false"]))).as_py())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def has_comma(text: str) -> bool:
    """Whether this is a number as some countries write it: 2,5."""
    return re.fullmatch(r"[-+]?[0-9]+,[0-9]+", text) is not None


def _first(cells: pa.Array) -> int:
    return pc.index(cells, True).as_py()


def _first_uncastable(texts: pa.Array) -> int:
    """The row of the first text that is no number, by halving."""
    start, end = 0, len(texts)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            texts[start:middle].cast(pa.float64())
            start = middle
        except pa.ArrowInvalid:
            end = middle
    return start


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")

"""Read one table from a CSV, TSV or Parquet file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from ngcn.data.table import Table, count_all_blank, count_blank
from ngcn.errors import DatasetError
from ngcn.files import gunzip, read_bytes, unpacks_too_far

MOST_COLUMNS, MOST_BLANK = 100_000, 1_000_000  # more take minutes to parse
UTF_8 = "UTF-8 (in Excel: save as 'CSV UTF-8')"
ENDINGS = (".csv", ".tsv", ".parquet")  # each may be followed by .gz


def read_table(path: str | Path) -> Table:
    """Read a CSV, TSV or Parquet file, gzipped or not. CSV may be separated by commas, semicolons or tabs."""
    path = Path(path)
    ending = path.name.lower().removesuffix(".gz")
    if not ending.endswith(ENDINGS):
        raise DatasetError(f"{path} is not a table that can be read; use {', '.join(ENDINGS)}, gzipped (.gz) or not.")
    content = _content(path).removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise DatasetError(f"{path} is empty; it needs a first line with the names of the columns.")
    if ending.endswith(".parquet"):
        return Table(_parquet(content, path), str(path))
    blank = _blank_rows(content)
    _check_encoding(content, path)
    separator = "\t" if ".tsv" in path.suffixes else csv_separator(content)
    decimal = "," if separator == ";" else "."  # programs that write decimal commas separate cells by semicolons
    columns, skipped = _csv(content, path, separator, blank)
    if skipped:
        blank = np.sort(np.concatenate([blank, count_all_blank(np.array(skipped), blank)])).tolist()
    table = Table(columns, str(path), first_row=2, blank_rows=blank, decimal=decimal)
    if columns.num_columns > 1 and len(empty := empty_rows(columns)):
        return table.without(empty)
    return table


def _content(path: Path) -> bytes:
    try:
        content = read_bytes(path)
        return gunzip(content) if path.name.lower().endswith(".gz") else content
    except gzip.BadGzipFile as error:
        raise DatasetError(f"{path} is not a gzip file, or a damaged one: {error}; create it again.") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.") from None
    except (EOFError, zlib.error):
        raise DatasetError(f"{path} is a truncated or damaged gzip file; copy or create it again.") from None


def _parquet(content: bytes, path: Path) -> pa.Table:
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(content))
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        if unpacks_too_far(8 * rows * columns, len(content)):
            raise ValueError(f"it claims {rows:,} rows of {columns:,} columns")
        table = file.read(use_threads=False)  # as in _csv
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DatasetError(f"{path} is truncated, damaged or not a Parquet file ({reason}); create it again.") from None


def _csv(content: bytes, path: Path, separator: str, blank_rows: Sequence[int]) -> tuple[pa.Table, list[int]]:
    """The table, and the numbers of the rows that were skipped, counted without the blank ones."""
    skipped: list[int] = []
    how = csv_options(csv_names(content, path, separator), separator, b'"' in content, skipped)
    # One thread: only then does Arrow report the row of an error, and a process may exit right after reading.
    read = pa.csv.ReadOptions(block_size=min(max(len(content), 1), 1 << 24), use_threads=False)
    try:
        return pa.csv.read_csv(pa.BufferReader(content), read, *how), skipped
    except pa.ArrowInvalid as error:
        raise csv_error(path, error, blank_rows) from None


def csv_names(content: bytes, path: Path, separator: str) -> list[str]:
    """The names of the columns, given the start of a file."""
    try:
        lines = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", errors="replace", newline="")
        names = next(filter(None, csv.reader(lines, delimiter=separator, strict=True)), [])
    except csv.Error:
        what = "the quotation marks of its first line do not match; close them, or double those inside a name."
        raise DatasetError(f"{path}: {what}") from None
    if len(names) > MOST_COLUMNS:
        raise DatasetError(f"{path} has {len(names):,} columns; put features into a table of (id, feature, value).")
    return names


def csv_options(
    names: Sequence[str], separator: str, quoted: bool, skipped: list[int] | None = None
) -> tuple[Any, Any]:
    """How Arrow reads a file with these columns: as text. Cells of several lines are ``quoted``.

    With a list of ``skipped`` rows, rows with too few or too many cells are skipped if all are blank, and their numbers
    are added to it. The file must be in UTF-8 then.
    """

    def skip_blank(row: Any) -> str:
        if row.text.strip(f' \t"{separator}') or skipped is None:
            return "error"
        skipped.append(row.number)
        return "skip"

    handler = None if skipped is None or len(names) < 2 else skip_blank
    types = dict.fromkeys(names, pa.string())
    return (
        pa.csv.ParseOptions(delimiter=separator, newlines_in_values=quoted, invalid_row_handler=handler),
        pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    )


def empty_rows(table: Any) -> np.ndarray:
    """The rows (from 0) of a table or a batch of text in which all cells are empty."""
    rows: Any = None
    for column in table.columns:
        lengths = pc.binary_length(column if rows is None else column.take(rows))
        if pc.min(lengths).as_py() != 0:  # most tables, at their first column: quick to see
            return np.empty(0, np.int64)
        found = pc.indices_nonzero(pc.equal(lengths, 0))
        rows = found if rows is None else rows.take(found)
    return rows.to_numpy().astype(np.int64)


def csv_error(path: Path, error: Exception, blank_rows: Iterable[int]) -> DatasetError:
    """The error of Arrow, with the number of the row in the file."""
    if of_text := re.search(r"Row #(\d+): .*invalid UTF8", str(error)):
        return _no_utf_8(path, count_blank(int(of_text[1]), blank_rows))
    reason = str(error).splitlines()[0].removeprefix("CSV parse error: ").removeprefix("Row ").rstrip(".")
    reason = re.sub(r"^#(\d+)", lambda row: f"#{count_blank(int(row[1]), blank_rows)}", reason)
    remedy = "each row needs a cell for each column of the first line"
    return DatasetError(f"{path} is not a table, row {reason}; {remedy}.")


def csv_separator(content: bytes) -> str:
    """Return the most frequent separator outside quotes in the first line that is not blank."""
    header = next(filter(bytes.strip, io.BytesIO(content)), b"").decode("utf-8", "replace")
    return max(",;\t", key=re.sub('"[^"]*"', "", header).count)


def _blank_rows(content: bytes) -> list[int]:
    """Return the numbers of the blank rows, which the parser skips."""
    breaks = (b"\n\n", b"\n\r\n") if b"\r" in content else (b"\n\n",)
    if not (any(each in content for each in breaks) or content.startswith((b"\n", b"\r"))):
        return []  # most files: no need to go through the lines
    blank, row, quoted = [], 0, False
    for line in re.finditer(rb"([^\r\n]*)(\r\n?|\n|\Z)", content):
        if not line[0]:
            break  # the end
        row += not quoted  # a quoted cell may span several lines
        if not (line[1] or quoted):
            blank.append(row)
            if len(blank) > MOST_BLANK:
                break  # only the numbers of rows in messages depend on it
        quoted ^= line[1].count(b'"') % 2 == 1
    return blank


def _check_encoding(content: bytes, path: Path) -> None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DatasetError(f"{path} is text in UTF-16; save it in {UTF_8}.")
    if content.isascii():
        return  # most files, and much faster to see
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        raise _no_utf_8(path, row) from None


def _no_utf_8(path: Path, row: int) -> DatasetError:
    return DatasetError(f"{path}, row {row}: a character is not in UTF-8; save the file in {UTF_8}.")

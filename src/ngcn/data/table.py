"""`Table`: the columns of one table, with errors that name the file, the row, the column and a remedy."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data.parts import log
from ngcn.errors import DatasetError

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"  # as str(int) writes it: 007 is text
_NAMELESS = r"|__index_level_\d+__|Unnamed: \d+"  # empty, or the names that pandas uses for a column without a name


class Table:
    """A table whose cells are parsed on access: as text, as ids or as numbers.

    Messages use ``name`` (the path) and count rows from ``first_row``: 2 if the first line is a header. ``blank_rows``
    are the numbers of blank rows that the parser skipped, ascending.
    """

    def __init__(self, columns: pa.Table, name: str, first_row: int = 1, blank_rows: Sequence[int] = ()) -> None:
        try:
            names = [str(column).strip() for column in columns.column_names]
        except UnicodeDecodeError:
            raise DatasetError(f"{name}: the name of a column is not in UTF-8; rename it.") from None
        if nameless := [column for column in names if re.fullmatch(_NAMELESS, column)]:
            listed = ", ".join(map(repr, nameless))
            log.warning(f"{name}: a column without a name ({listed}) is ignored; give it a name to use it.")
        named = [place for place, column in enumerate(names) if column not in nameless]
        names = [names[place] for place in named]
        check_unique(names, name)
        self.columns = columns.select(named).rename_columns(names)
        self.column_names = names
        self.name = name
        self.first_row = first_row
        self.blank_rows = blank_rows

    def __len__(self) -> int:
        return self.columns.num_rows

    def find(self, column: str) -> str | None:
        """Return the name of a column as the table spells it, or None. Upper and lower case match."""
        if column in self.column_names:
            return column
        alike = [name for name in self.column_names if name.casefold() == column.casefold()]
        return alike[0] if len(alike) == 1 else None

    def need(self, column: str, remedy: str = "add it, or rename the right one.") -> str:
        """Like :meth:`find`, but raise an error that ends with ``remedy`` if there is no such column."""
        found = self.find(column)
        if found is None:
            if near := get_close_matches(column, self.column_names, n=1):
                remedy = f"did you mean {near[0]!r}?" if remedy.startswith("use") else f"rename {near[0]!r}?"
            first, more = self.column_names[:8], len(self.column_names) - 8
            listed = ", ".join(map(repr, first)) + (f" and {more} more" if more > 0 else "")
            there = f"{'its first line names' if self.first_row == 2 else 'it has'} {listed}"
            raise DatasetError(f"{self.name} has no column {column!r}; {there}: {remedy}")
        return found

    def row_number(self, row: int) -> int:
        """Return the number of a row in messages; ``row`` counts from 0."""
        return count_blank(row + self.first_row, self.blank_rows)

    def at(self, column: str, row: int | None = None) -> str:
        """Describe a column, or one of its cells, for messages; ``row`` counts from 0."""
        return f"{self.name}, {'' if row is None else f'row {self.row_number(row)}, '}column {column!r}"

    def error(self, row: int, column: str, what: str) -> DatasetError:
        return DatasetError(f"{self.at(column, row)}: {what}")

    def texts(self, column: str, missing: str = "") -> pa.Array:
        """Return the cells as text without surrounding spaces. An empty cell is null, or the error ``missing``."""
        cells = self._cells(column)
        try:
            texts = pc.utf8_trim_whitespace(_integers_if_whole(cells).cast(pa.string()))
        except pa.ArrowException:
            raise DatasetError(f"{self.at(column)}: text or numbers are expected, not {cells.type} values.") from None
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        if missing and texts.null_count:
            raise self.error(first_true(texts.is_null()), column, missing)
        return texts

    def ids(self, column: str) -> pa.Array:
        return self.texts(column, "a node id is missing; fill it in or remove the row.")

    def places(self, column: str, ids: pa.Array, home: str) -> np.ndarray:
        """Return the position of each cell in ``ids``, the ids of the nodes in the table ``home``."""
        texts = self.ids(column)
        found = pc.index_in(texts, value_set=ids)
        if found.null_count:
            row = first_true(found.is_null())
            node = repr(texts[row].as_py())
            raise self.error(row, column, f"there is no node {node} in {home}; add it there, or remove the row.")
        return found.to_numpy()

    def is_text(self, column: str) -> bool:
        """Return whether no cell is a number or true/false: then the column holds names, not numbers with a typo."""
        cells = self._cells(column)
        if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            return not _is_numeric(cells.type)
        given = self.texts(column).drop_null()[:1000]
        return len(given) > 0 and not _are_flags(given) and not any(map(_is_number, given.to_pylist()))

    def numbers(self, column: str, remedy: str) -> np.ndarray:
        """Return the cells as finite float32, true as 1. Errors about a cell end with ``remedy``."""
        cells = self._cells(column)
        if not _is_numeric(cells.type):
            cells = self._parse_numbers(column, remedy)
        if cells.null_count:
            raise self.error(first_true(cells.is_null()), column, f"there is no number; {remedy}")
        values = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # integers above 2^53 are rounded
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        bad = ~np.isfinite(single)
        if bad.any():
            row = int(np.argmax(bad))
            what = "is too large a number" if np.isfinite(values[row]) else "is not a finite number"
            raise self.error(row, column, f"{values[row]:g} {what}; {remedy}")
        if len(values) and np.ptp(single) == 0 and np.ptp(values) > 1e-11 * abs(values[0]):  # less is rounding
            remedy = f"subtract {values.min():.12g} from each"
            log.warning(f"{self.at(column)}: single precision cannot tell such large numbers apart; {remedy}.")
        return single

    def _parse_numbers(self, column: str, remedy: str) -> pa.Array:
        texts = self.texts(column)
        try:
            return texts.cast(pa.bool_() if _are_flags(texts) else pa.float64())
        except pa.ArrowInvalid:
            row = bisect_left(range(1, len(texts)), True, key=lambda end: not _are_numbers(texts[:end]))
            text = texts[row].as_py()
            remedy = "write it with a decimal point." if has_comma(text) else remedy
            raise self.error(row, column, f"{text!r} is not a number; {remedy}") from None

    def _cells(self, column: str) -> pa.Array:
        cells = self.columns.column(column)
        try:
            cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
            cells = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
            return cells.cast(pa.string()) if pa.types.is_null(cells.type) else cells
        except pa.ArrowException as error:
            raise DatasetError(f"{self.at(column)}: {cells.type} values cannot be read ({error}).") from None


def check_unique(columns: Sequence[str], table: str) -> None:
    if repeated := [column for column, times in Counter(columns).items() if times > 1]:
        raise DatasetError(f"{table}: there is more than one column {repeated[0]!r}; rename or remove all but one.")


def count_blank(row: int, blank_rows: Sequence[int]) -> int:
    """Return the number of a row in the file, given its number without the blank rows."""
    for blank in blank_rows:
        row += blank <= row
    return row


def as_integers(ids: pa.Array) -> np.ndarray:
    """Return ids as integers if all are written as integers, else as text."""
    if len(ids) and pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        return ids.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.array(ids.to_pylist(), dtype=str)


def has_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma, such as 2,5."""
    return re.fullmatch(r"[-+]?[0-9]+,[0-9]+", text) is not None


def first_true(cells: pa.Array) -> int:
    return pc.index(cells, True).as_py()


def _is_numeric(kind: pa.DataType) -> bool:
    are = pa.types
    return are.is_integer(kind) or are.is_floating(kind) or are.is_boolean(kind) or are.is_decimal(kind)


def _integers_if_whole(numbers: pa.Array) -> pa.Array:
    """Return floats as integers if all are whole: pandas stores integers with gaps as 1.0, 2.0, nan."""
    if not pa.types.is_floating(numbers.type):
        return numbers
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    try:
        return numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return numbers


def _are_flags(texts: pa.Array) -> bool:
    """Return whether all texts are true or false, in any case."""
    return bool(pc.all(pc.is_in(pc.utf8_lower(texts.drop_null()), value_set=pa.array(["true", "false"]))).as_py())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_numbers(texts: pa.Array) -> bool:
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True

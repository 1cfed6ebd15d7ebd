"""`Table`: the columns of one table, with errors that name the file, the row, the column and a remedy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data import cells
from ngcn.data.parts import log
from ngcn.errors import DatasetError
from ngcn.text import shorten

INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"  # as str(int) writes it: 007 is text
HEAD = 1000  # rows that tell whether a column that is not used has numbers
MOST_LISTED = 5  # cells in a message
NO_ID = "a node id is missing"
_NAMELESS = r"|__index_level_\d+__|Unnamed: \d+"  # empty, or the names that pandas uses for a column without a name


@dataclass(frozen=True)
class BadCells:
    """The cells of a column that cannot be used: their rows (from 0), and the rows and faults of the first."""

    column: str
    rows: np.ndarray
    first: Sequence[tuple[int, str]]

    @classmethod
    def at(cls, column: str, which: np.ndarray, fault: Callable[[int], str]) -> BadCells:
        """Those where ``which`` is true."""
        rows = np.flatnonzero(which)
        return cls(column, rows, [(row, fault(row)) for row in rows[:MOST_LISTED].tolist()])

    def __len__(self) -> int:
        return len(self.rows)


class Table:
    """A table whose cells are parsed on access: as text, as ids or as numbers.

    Messages use ``name`` (the path) and count rows from ``first_row``: 2 if the first line is a header. ``blank_rows``
    are the numbers of rows that are not in the table, such as blank ones, ascending. ``decimal`` is the decimal sign of
    numbers such as 1,234, which may be a thousand or little more than one. ``plural`` is for names such as "the nodes".
    """

    def __init__(
        self,
        columns: pa.Table,
        name: str,
        first_row: int = 1,
        blank_rows: Iterable[int] = (),
        decimal: str = ".",
        plural: bool = False,
    ) -> None:
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
        self.has = f"{name} {'have' if plural else 'has'}"  # begins messages
        self.it_has = "they have" if plural else "it has" if first_row == 1 else "its first line names"
        self.first_row = first_row
        self.blank_rows = blank_rows
        self.decimal = decimal

    def __len__(self) -> int:
        return self.columns.num_rows

    def without(self, rows: np.ndarray) -> Table:
        """Return the table without these rows (from 0). The other rows keep their numbers."""
        left, kept = copy(self), np.ones(len(self), bool)
        kept[rows] = False
        left.columns = self.columns.filter(pa.array(kept))
        numbers = count_all_blank(rows + self.first_row, self.blank_rows)
        left.blank_rows = np.sort(np.concatenate([np.fromiter(self.blank_rows, np.int64), numbers]))
        return left

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
            raise DatasetError(f"{self.has} no column {column!r}; {self.it_has} {listed}: {remedy}")
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
        given = self.cells(column)
        try:
            texts = pc.utf8_trim_whitespace(_integers_if_whole(given).cast(pa.string()))
        except pa.ArrowException:
            raise DatasetError(f"{self.at(column)}: text or numbers are expected, not {given.type} values.") from None
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        if missing and texts.null_count:
            what, _, remedy = missing.partition("; ")
            empty = texts.is_null().to_numpy(zero_copy_only=False)
            raise self.bad_cells(BadCells.at(column, empty, lambda _: what), remedy=remedy)
        return texts

    def known(self, column: str) -> pa.Array:
        """Return the cells as text; null for those without a value, and for those that stand for none, such as n/a."""
        return cells.without_missing(self.texts(column))

    def ids(self, column: str) -> pa.Array:
        return self.texts(column, f"{NO_ID}; fill it in or remove the row.")

    def numbers(self, column: str, remedy: str) -> np.ndarray:
        """Return the cells as finite float32, true as 1. Errors about a cell end with ``remedy``."""
        reading = cells.read_numbers(self.texts(column)) if pa.types.is_string(self.cells(column).type) else None
        format = "." if reading is None else reading.format(self.decimal)
        values, bad = self.read(column, "number", format, missing=False)
        if bad:
            raise self.bad_cells(bad, remedy=remedy)
        return values

    def read(self, column: str, kind: str, format: str = "", missing: bool = True) -> tuple[np.ndarray, BadCells]:
        """Return the cells as float32, and those that are not of this kind, see :func:`ngcn.data.cells.parse`.

        Cells without a value are NaN; unless they may be ``missing``, they are among the bad ones.
        """
        given = self.cells(column)
        if pa.types.is_string(given.type):
            given = self.known(column) if missing else self.texts(column)
            values = cells.parse(given, kind, format)
        elif _is_numeric(given.type) and kind in ("number", "boolean"):
            values = given.cast(pa.float64(), safe=False).to_numpy(
                zero_copy_only=False
            )  # integers above 2^53 are rounded
        elif pa.types.is_temporal(given.type) and kind in ("date", "time", "duration"):
            values = cells.days(given)
        else:
            values = np.full(len(given), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # of a signalling NaN
            single = values.astype(np.float32)
        bad = ~np.isfinite(single)
        if missing and bad.any():
            bad &= pc.is_valid(
                pc.if_else(pc.is_nan(given), None, given) if pa.types.is_floating(given.type) else given
            ).to_numpy(zero_copy_only=False)
        if not bad.any():
            self._warn_about_precision(column, single, values)
        return single, BadCells.at(column, bad, lambda row: _complaint(given[row].as_py(), values[row], kind))

    def seems_numeric(self, column: str) -> bool:
        """Whether the first cells are numbers."""
        given = self.columns.column(column)[:HEAD]
        if not (pa.types.is_string(given.type) or pa.types.is_large_string(given.type)):
            return _is_numeric(given.type) and not pa.types.is_boolean(given.type)
        known = cells.without_missing(pc.utf8_trim_whitespace(given.combine_chunks().cast(pa.string()))).drop_null()
        return len(known) > 0 and cells.read_numbers(known) is not None

    def bad_cells(self, *bad: BadCells, remedy: str) -> DatasetError:
        """Return the error about cells of any columns: the first five of them, and their number."""
        count = sum(map(len, bad))
        first = sorted((row, each.column, fault) for each in bad for row, fault in each.first)[:MOST_LISTED]
        if count == 1:
            row, column, fault = first[0]
            return self.error(row, column, f"{fault}; {remedy}")
        listed = [f"row {self.row_number(row)}, column {column!r}: {fault}" for row, column, fault in first]
        rest = f"; and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
        return DatasetError(f"{self.has} {count} bad cells: {'; '.join(listed)}{rest}; {remedy}")

    def cells(self, column: str) -> pa.Array:
        """Return the cells as they are in the file; those of a CSV file are text."""
        given = self.columns.column(column)
        try:
            given = pa.concat_arrays(given.chunks) if given.num_chunks else pa.array([], given.type)
            given = given.cast(given.type.value_type) if pa.types.is_dictionary(given.type) else given
            as_text = pa.types.is_null(given.type) or pa.types.is_large_string(given.type)
            return given.cast(pa.string()) if as_text else given
        except pa.ArrowException as error:
            raise DatasetError(f"{self.at(column)}: {given.type} values cannot be read ({error}).") from None

    def _warn_about_precision(self, column: str, single: np.ndarray, values: np.ndarray) -> None:
        low, high = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
        if np.float32(low) == np.float32(high) and high - low > 1e-11 * abs(low):  # less is rounding
            remedy = f"subtract {low:.12g} from each"
            log.warning(f"{self.at(column)}: single precision cannot tell such large numbers apart; {remedy}.")


def check_unique(columns: Sequence[str], table: str) -> None:
    if repeated := [column for column, times in Counter(columns).items() if times > 1]:
        raise DatasetError(f"{table}: there is more than one column {repeated[0]!r}; rename or remove all but one.")


def count_blank(row: int, blank_rows: Iterable[int]) -> int:
    """Return the number of a row in the file, given its number without the blank rows."""
    return int(count_all_blank(np.array(row), blank_rows))


def count_all_blank(rows: np.ndarray, blank_rows: Iterable[int]) -> np.ndarray:
    """Like :func:`count_blank`, of many rows."""
    blank = np.fromiter(blank_rows, np.int64)
    return rows + np.searchsorted(blank - np.arange(len(blank)), rows, "right")


def as_integers(ids: pa.Array) -> np.ndarray:
    """Return ids as integers if all are written as integers, else as text."""
    if len(ids) and pc.all(pc.match_substring_regex(ids, INTEGER)).as_py():
        return ids.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.array(ids.to_pylist(), dtype=str)


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


def _complaint(cell: object, value: float, kind: str) -> str:
    """What is wrong with a cell that cannot be read as one of this kind; ``value`` is how far it could be."""
    if cell is None:
        return "there is no number"
    if kind == "number" and not np.isnan(value):
        return f"{value:g} is {'too large a' if np.isfinite(value) else 'not a finite'} number"
    if isinstance(cell, float):
        return f"{cell:g} is not a finite number"
    wanted = {"boolean": "neither yes nor no", "date": "not a date like the others", "duration": "not a duration"}
    text = shorten(repr(cell) if isinstance(cell, str) else str(cell), 60)
    return f"{text} is {wanted.get(kind, f'not a {kind}')}"

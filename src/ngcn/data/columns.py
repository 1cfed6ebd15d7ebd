"""How each column of a table of nodes becomes features: decided from all of its cells, and stored in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data import cells, words
from ngcn.data.cells import MOSTLY
from ngcn.data.parts import log
from ngcn.data.table import BadCells, Table
from ngcn.errors import DatasetError, Problems
from ngcn.text import count, shorten

NUMBERS = ("number", "boolean", "date", "time", "duration")  # kinds that become one feature
KINDS = (*NUMBERS, "one-hot", "text", "ignored")
STORED = {"name": str, "kind": set(KINDS), "format?": str, "words?": list[str], "idf?": [float]}  # schema of a column
READ_WITH = {"id?": str, "source?": str, "target?": str, "label?": str, "ignore?": list[str], "multilabel?": bool}
READ_WITH |= {"unknown_nodes?": str}
FEW, MANY_EACH, MOST_VALUES = 20, 10, 1000  # a text column is one-hot with few values, or with as many nodes of each
WORDY = 3  # words in a cell, on average, that make a text column free text
MOST_LISTED = 5
CODE = "^0[0-9]+$"  # a whole number with a leading zero
EITHER = "dmy or mdy"  # the order of dates that cannot be told, which is an error once they are read
ORDERS = {"ymd": "year, month, day", "dmy": "day first", "mdy": "month first", "dby": "day first", "bdy": "month first"}
SIGNS = {".": "", ",": "decimal comma"}


@dataclass(frozen=True)
class Column:
    """How the cells of a column are read.

    Attributes:
        name: its name in the table.
        kind: number, boolean, date, time or duration (a feature); one-hot; text (TF-IDF); or ignored.
        format: the decimal sign and the unit of numbers, such as ``,%``; the order of a date, such as ``dmy``.
        words, idf: the vocabulary of text, and the inverse document frequency of each word.

    Example:
        >>> Column("margin", "number", ",%").describe()
        'percentages, decimal comma'
    """

    name: str
    kind: str
    format: str = ""
    words: tuple[str, ...] = ()
    idf: tuple[float, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features of text."""
        return tuple(f"{self.name}={word}" for word in self.words)

    def describe(self) -> str:
        """The treatment in words; empty for plain numbers."""
        if self.format == EITHER:
            return "dates (day or month first is unclear)"
        if self.kind == "number":
            unit = self.format[1:]
            what = "percentages" if unit == "%" else f"amounts in {unit}" if unit else ""
            return ", ".join(filter(None, (what, SIGNS.get(self.format[:1], ""))))
        return {
            "boolean": "1 for yes, 0 for no",
            "date": f"dates ({ORDERS.get(self.format, '')}), as days since 2000",
            "time": "times, as a share of the day",
            "duration": "durations, in days",
            "one-hot": "one-hot",
            "text": f"TF-IDF of {count(len(self.words), 'word')}",
            "ignored": "ignored",
        }[self.kind]

    def fits(self) -> bool:
        """Whether the values belong together, which come from a file."""
        decimal, unit = self.format[:1], self.format[1:]
        known = {"number": decimal in cells.DECIMALS and unit in ("", *cells.UNITS), "date": self.format in cells.DATES}
        return known.get(self.kind, not self.format) and len(self.words) == len(self.idf) == len(set(self.words))


def columns_to_json(columns: Sequence[Column]) -> list[dict[str, object]]:
    """Columns as they are stored."""
    return [{name: value for name, value in asdict(column).items() if value} for column in columns]


def options_from_json(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options that fit :data:`READ_WITH`, without those of a newer version."""
    return {option: value for option, value in (stored or {}).items() if f"{option}?" in READ_WITH}


def columns_from_json(stored: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Columns that fit :data:`STORED`, without what a newer version may know about them; a ValueError if their values
    do not belong together."""
    columns = []
    for of in stored:
        of_text = {name: tuple(of[name]) for name in ("words", "idf") if of.get(name)}
        columns.append(Column(of["name"], of["kind"], of.get("format", ""), **of_text))
        if not columns[-1].fits():
            raise ValueError
    return tuple(columns)


class ColumnFacts(NamedTuple):
    """What :func:`column_facts` says about a column."""

    name: str
    kind: str  # id, label, split or graph; or the kind of a :class:`Column`
    treatment: str  # in words
    missing: int  # cells
    distinct: int  # different values
    suggestion: str = ""  # another treatment to consider, as an argument: `ignore=['name']`


def column_facts(nodes: Table, columns: Sequence[Column], purposes: Mapping[str, str]) -> list[ColumnFacts]:
    """Every column of a table of nodes, in its order: what is in it, and how it is used.

    ``purposes`` are the columns that are not features: their names, by purpose.
    """
    of, purpose = {column.name: column for column in columns}, {name: what for what, name in purposes.items()}
    return [_facts(nodes, name, of.get(name), purpose.get(name, "")) for name in nodes.column_names]


def _facts(nodes: Table, name: str, column: Column | None, purpose: str) -> ColumnFacts:
    given = nodes.cells(name)
    if pa.types.is_string(given.type) or pa.types.is_floating(given.type):
        given = nodes.known(name) if column else nodes.texts(name)
    given, missing = given.drop_null(), given.null_count
    nested = pa.types.is_nested(given.type)  # which Arrow cannot compare; training has an error for them
    distinct = len(set(map(str, given.to_pylist()))) if nested else len(pc.unique(given))
    what = purpose.split()[0] if purpose else ""  # "ignored NAME"
    if column is None:
        return ColumnFacts(name, what or "ignored", what or "ignored", missing, distinct)
    suggestion = ""
    if distinct < 2:
        suggestion = f"`ignore={[name]}`"
    elif column.kind in ("one-hot", "text", "ignored") and not what:
        suggestion = _suggestion(name, treatment_of_text(nodes, name).kind)
    treatment = column.describe()
    if column.kind == "number" and not column.format[1:]:
        treatment = ", ".join(filter(None, ("a number", treatment)))
    if column.kind == "one-hot":
        treatment += f" ({_of_values(nodes, name)})"
    elif column.kind in NUMBERS and column.format != EITHER:
        missing += len(nodes.read(name, column.kind, column.format)[1])
    return ColumnFacts(name, column.kind, treatment, missing, distinct, suggestion)


def _suggestion(name: str, kind: str) -> str:
    return f"`{ {'one-hot': 'one_hot', 'text': 'text', 'ignored': 'ignore'}[kind] }={[name]}`"


def decide(nodes: Table, names: Sequence[str]) -> list[Column]:
    """How to read these columns of a table of nodes.

    A column is what most of its cells are: numbers, booleans, dates or times. Otherwise it is text, see
    :func:`treatment_of_text`. Numbers such as 1,234 have two readings. The other columns of the table decide which it
    is; if they do not, a table separated by semicolons has decimal commas.
    """
    texts = {name: nodes.known(name) for name in names if pa.types.is_string(nodes.cells(name).type)}
    numbers = {name: cells.read_numbers(given) for name, given in texts.items()}
    signs = {reading.decimal for reading in numbers.values() if reading and reading.certain}
    decimal = signs.pop() if len(signs) == 1 else nodes.decimal
    columns = []
    for name in names:
        reading = numbers.get(name)
        if name not in texts:
            columns.append(_of_type(name, nodes.cells(name).type))
        elif texts[name].null_count == len(texts[name]):
            columns.append(Column(name, "ignored"))
        elif reading and not _are_codes(texts[name]):
            columns.append(Column(name, "number", reading.format(decimal)))
        else:
            columns.append(_of_texts(nodes, name, texts[name]))
    return columns


def _of_type(name: str, kind: pa.DataType) -> Column:
    """The treatment of cells that are not text."""
    are = pa.types
    if are.is_boolean(kind) or are.is_duration(kind) or are.is_time(kind):
        return Column(name, "boolean" if are.is_boolean(kind) else "time" if are.is_time(kind) else "duration")
    return Column(name, "date", "ymd") if are.is_temporal(kind) else Column(name, "number", ".")


def _of_texts(nodes: Table, name: str, known: pa.Array) -> Column:
    """The treatment of texts, of which ``known`` are not missing, that are no numbers."""
    if cells.share_of_booleans(known) >= MOSTLY:
        return Column(name, "boolean")
    least = (len(known) - known.null_count) // 2
    found = {order: cells.parse(known, "date", order) for order in cells.DATES}
    counts = {order: np.count_nonzero(~np.isnan(days)) for order, days in found.items()}
    order = max(counts, key=lambda order: counts[order])
    if counts[order] > least:
        either = counts["dmy"] == counts["mdy"] == counts[order]
        if either and not np.array_equal(found["dmy"], found["mdy"], equal_nan=True):
            order = EITHER
        return Column(name, "date", order)
    if np.count_nonzero(~np.isnan(cells.parse(known, "time"))) > least:
        return Column(name, "time")
    return treatment_of_text(nodes, name)


def _are_codes(texts: pa.Array) -> bool:
    """Whether whole numbers are written with leading zeros, such as 007."""
    if not pc.any(pc.starts_with(texts, "0")).as_py():
        return False
    point = pc.any(pc.match_substring_regex(texts[:100], "[^0-9]")).as_py()
    return not point and bool(
        pc.any(pc.match_substring_regex(texts, CODE)).as_py()
        and pc.all(pc.match_substring_regex(texts, "^[0-9]+$")).as_py()
    )


def treatment_of_text(nodes: Table, name: str) -> Column:
    """The treatment of a text column without instructions.

    It is one-hot if its values repeat: 20 different ones, or more if each has 10 nodes on average. Otherwise it is free
    text if its cells have 3 words on average, some of which repeat; else it is ignored, as a name or a code.
    """
    texts = nodes.known(name).drop_null()
    distinct = len(pc.unique(texts))
    if distinct <= min(MOST_VALUES, max(FEW, len(texts) // MANY_EACH)) and (2 * distinct <= len(texts) or distinct < 2):
        return Column(name, "one-hot")
    spaces = pc.sum(pc.count_substring_regex(texts, r"\s+")).as_py()
    if spaces >= (WORDY - 1) * len(texts):
        vocabulary, idf = words.learn(texts)
        if vocabulary:
            return Column(name, "text", "", vocabulary, idf)
    return Column(name, "ignored")


def numbers(nodes: Table, columns: Sequence[Column], *, known: bool = False) -> np.ndarray:
    """The cells of columns with numbers as a float32 matrix; NaN for a missing value. ``known`` is for tables that a
    model is used on: no option helps then."""
    matrix = np.empty((len(nodes), len(columns)), np.float32)
    bad: list[BadCells] = []
    odd: list[tuple[Column, BadCells]] = []
    problems = Problems()
    for place, column in enumerate(columns):
        with problems:
            if column.format == EITHER:
                raise DatasetError(
                    f"{nodes.at(column.name)}: these dates may have the day or the month first; write them as "
                    f"2000-12-31, or train with `ignore={[column.name]}`."
                )
            matrix[:, place], wrong = nodes.read(column.name, column.kind, column.format)
            few = len(wrong) <= (1 - MOSTLY) * (len(wrong) + np.isfinite(matrix[:, place]).sum())
            if wrong and few:
                odd.append((column, wrong))
            elif wrong:
                bad.append(wrong)
    if bad:
        names = [of_column.column for of_column in bad]
        those = "it" if sum(map(len, bad)) == 1 else "them"
        option = "" if known else f", or train with `ignore={names}`"
        with problems:
            raise nodes.bad_cells(*bad, remedy=f"correct {those}{option}.")
    problems.check()
    if odd:
        matrix[~np.isfinite(matrix)] = np.nan
    for column, wrong in odd:
        _announce_odd(nodes, column, wrong, known)
    return matrix


def _announce_odd(nodes: Table, column: Column, odd: BadCells, known: bool) -> None:
    """Print the cells that count as missing because almost all others of their column are of another kind."""
    texts = nodes.texts(column.name).take(pa.array(odd.rows))
    found = sorted(cells.counted(texts).items(), key=lambda item: -item[1])
    listed = []
    for text, times in found[:MOST_LISTED]:
        row = nodes.row_number(odd.rows[texts.index(text).as_py()])
        listed.append(f"{shorten(repr(text), 60)} ({f'{times:,} times' if times > 1 else f'row {row}'})")
    more = f" and {count(len(found) - MOST_LISTED, 'other')}" if len(found) > MOST_LISTED else ""
    kinds = {"number": "a number", "boolean": "yes or no", "date": "a date like the others"}
    what = f"{count(len(odd), 'cell')} cannot be read as {kinds.get(column.kind, f'a {column.kind}')}"
    filled = "are filled like missing values" if len(odd) > 1 else "is filled like a missing value"
    few = not known and _distinct(nodes, column.name) <= FEW
    use = f"; `one_hot={[column.name]}` would make a feature of each value" if few else ""
    log.warning(f"{nodes.at(column.name)}: {what} and {filled}: {', '.join(listed)}{more}{use}.")


def announce(nodes: Table, columns: Sequence[Column]) -> None:
    """Print how columns are read that nobody gave instructions for: one line for each treatment."""
    numeric = [column for column in columns if column.kind in NUMBERS and column.kind != "boolean"]
    read = {column.name: column.describe() for column in numeric if column.format != EITHER}  # which is an error
    if listed := _listed({name: what for name, what in read.items() if what}):
        log.warning(f"{nodes.name}: read as numbers: {listed}.")
    if few := {c.name: _of_values(nodes, c.name) for c in columns if c.kind == "one-hot"}:
        log.warning(f"{nodes.name}: text with few values, encoded one-hot: {_listed(few)}.")
    if wordy := {c.name: count(len(c.words), "word") for c in columns if c.kind == "text"}:
        log.warning(f"{nodes.name}: free text, encoded as TF-IDF: {_listed(wordy)}.")
    ignored = {c.name: _distinct(nodes, c.name) for c in columns if c.kind == "ignored"}
    if empty := [name for name, values in ignored.items() if not values]:
        log.warning(f"{nodes.name}: ignored, without a value: {', '.join(map(repr, empty))}.")
    if other := {name: _of_values(nodes, name) for name, values in ignored.items() if values}:
        log.warning(f"{nodes.name}: ignored, as names or codes: {_listed(other)}; `one_hot` or `text` would use them.")


def warn_about_case(nodes: Table, columns: Sequence[Column]) -> None:
    """Name the values of one-hot columns that may be one, written differently."""
    alike = {}
    for column in columns:
        if column.kind == "one-hot":
            alike[column.name] = cells.alike_but_for_case(cells.counted(nodes.known(column.name)))
    if listed := _listed({name: texts for name, texts in alike.items() if texts}):
        what = "values that differ only in upper and lower case; if they are one value, write them alike"
        log.warning(f"{nodes.name}: {what}: {listed}.")


def _distinct(nodes: Table, name: str) -> int:
    return len(pc.unique(nodes.known(name).drop_null()))


def _of_values(nodes: Table, name: str) -> str:
    """The number of values of a text column, and why it is no column of another kind if it almost is."""
    found, known = count(_distinct(nodes, name), "value"), nodes.known(name)
    if _are_codes(known) and len(pc.unique(pc.utf8_length(known.drop_null()))) > 1:  # not like postal codes
        row = pc.index(pc.match_substring_regex(known, CODE), True).as_py()
        return f"{found}; whole numbers, but {known[row].as_py()!r} in row {nodes.row_number(row)} begins with 0"
    if cells.share_of_booleans(known) > 0.5:
        odd = np.isnan(cells.parse(known, "boolean")) & known.is_valid().to_numpy(zero_copy_only=False)
        row = int(np.argmax(odd))
        others = f"{odd.sum():,} are" if odd.sum() > 1 else "1 is"
        example = f"{known[row].as_py()!r} in row {nodes.row_number(row)}"
        return f"{found}; yes and no, but {others} neither, such as {example}"
    return found


def _listed(columns: Mapping[str, str]) -> str:
    listed = [f"{name!r} ({what})" for name, what in list(columns.items())[:MOST_LISTED]]
    more = len(columns) - len(listed)
    return ", ".join(listed) + (f" and {count(more, 'more column')}" if more else "")


def instructed(nodes: Table, one_hot: Sequence[str], text: Sequence[str]) -> list[Column]:
    """The columns with instructions."""
    columns = [Column(name, "one-hot") for name in one_hot]
    problems = Problems()
    for name in text:
        vocabulary, idf = words.learn(nodes.known(name).drop_null())
        with problems:
            if not vocabulary:
                raise DatasetError(f"{nodes.at(name)}: no word is in two cells, so there is no text to learn from.")
        columns.append(Column(name, "text", "", vocabulary, idf))
    problems.check()
    return columns

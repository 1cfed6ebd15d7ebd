"""Cells of text as numbers: decimal points and commas, percentages, amounts of money, yes and no, dates and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.text import count

MISSING = (  # in any case
    *("", "na", "n/a", "n.a.", "nan", "nat", "null", "none", "nil", "<na>", "(null)", "-", "--", "?"),
    *("missing", "not available", "n.d.", "n/d", "k.a.", "k. a."),
    *("#n/a", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!"),  # errors of spreadsheets
)
BOOLEANS = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("oui", "non"), ("tak", "nie")),
    *(("ja", "nein"), ("ja", "nej"), ("ja", "nei"), ("ja", "nee")),
    *(("si", "no"), ("sí", "no"), ("sì", "no"), ("sim", "não")),
)
MOSTLY = 0.95  # of the cells of a column are of one kind: then the others count as missing values
MOST_ALIKE = 3  # groups of texts in a message
DECIMALS = (".", ",")  # a format of numbers is one of them and a unit, such as ",%"
DATES = ("ymd", "dmy", "mdy", "dby", "bdy")  # the order of year, month, day; b is the name of a month
EPOCH = 10_957  # days from 1970 to 2000-01-01, from which days are counted: single precision keeps minutes near it

_CURRENCIES = ("€", "$", "£", "¥", "EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "CAD", "AUD")
UNITS = ("%", *_CURRENCIES)
_BEFORE, _AFTER = ("|".join(map(re.escape, units)) for units in (_CURRENCIES, UNITS))
_SPACES = " \u00a0\u2009\u202f"  # between groups of digits: also those that do not break
_GROUPS = {".": f",'’{_SPACES}", ",": f".'’{_SPACES}"}  # what may separate thousands, by the decimal sign
_TIME = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_DAY, _MONTH = "(?P<day>[0-9]{1,2})", "(?P<month>[0-9]{1,2})"
_NAME, _YEAR = "(?P<name>[A-Za-z]{3,9})", "(?P<year>[0-9]{4})"
_SHORT = "[/.](?P<short>[0-9]{2})"  # a year of two digits
CENTURY = 70  # two digits below are years from 2000 on, others from 1900 on
_ORDERS = {
    "ymd": f"{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}",
    "dmy": f"{_DAY}[-/.]{_MONTH}(?:[-/.]{_YEAR}|{_SHORT})",
    "mdy": f"{_MONTH}[-/]{_DAY}(?:[-/]{_YEAR}|{_SHORT})",  # with points, the day is first
    "dby": rf"{_DAY}\.?[- ]{_NAME}\.?,?[- ]{_YEAR}",
    "bdy": rf"{_NAME}\.? {_DAY},? {_YEAR}",
}
_ZONE = "(?: ?(?P<zone>Z|UTC|[-+][0-9]{2}:?[0-9]{2}))?"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def without_missing(texts: pa.Array) -> pa.Array:
    """Texts with null for those that stand for a missing value, such as n/a."""
    return pc.if_else(pc.is_in(pc.utf8_lower(texts), value_set=pa.array(MISSING)), None, texts)


def parse(texts: pa.Array, kind: str, format: str = "") -> np.ndarray:
    """Numbers for texts of one kind, as float64; NaN for null, and for a text of another form.

    Example:
        >>> parse(pa.array(["1.234,5", "-7", None]), "number", ",").tolist()
        [1234.5, -7.0, nan]
        >>> parse(pa.array(["12 %", "0.5%"]), "number", ".%").tolist(), parse(pa.array(["$1,200"]), "number", ".$")
        ([0.12, 0.005], array([1200.]))
        >>> parse(pa.array(["Yes", "no", "perhaps"]), "boolean").tolist()
        [1.0, 0.0, nan]
        >>> parse(pa.array(["2.1.00", "29.02.2001", "1/3/2000 6:00 pm"]), "date", "dmy").tolist()
        [1.0, nan, 60.75]
        >>> parse(pa.array(["06:00"]), "time")
        array([0.25])
    """
    if kind == "number":
        return _numbers(texts, format[:1], format[1:])
    if kind == "boolean":
        return _booleans(texts)
    return _dates(texts, format) if kind == "date" else _times(texts)


class Numbers(NamedTuple):
    """How the texts of a column are numbers.

    ``certain``: the decimal sign can be no other. ``either``: it can, and that makes a difference.
    """

    decimal: str
    unit: str = ""
    certain: bool = False
    either: bool = False

    def format(self, default: str) -> str:
        """The format of these numbers; ``default`` is the decimal sign where it can be either."""
        return (default if self.either else self.decimal) + self.unit


def read_numbers(texts: pa.Array) -> Numbers | None:
    """How most of the texts are numbers; None if they are not.

    Example:
        >>> read_numbers(pa.array(["1.5 €", "1,200.5 €"])), read_numbers(pa.array(["1.5", "two", "three"]))
        (Numbers(decimal='.', unit='€', certain=True, either=False), None)
        >>> read_numbers(pa.array(["1.234", "7"])).either, read_numbers(pa.array(["1234", "7"])).either
        (True, False)
    """
    if _plain(texts) is not None:
        point = bool(pc.any(pc.match_substring(texts, ".")).as_py())
        either = point and all(_may_have_comma(some) for some in (texts[:100], texts))
        return Numbers(".", certain=point and not either, either=either)
    unit = _unit(texts)
    read = {sign: _numbers(texts, sign, unit) for sign in DECIMALS}
    found = {sign: np.count_nonzero(~np.isnan(values)) for sign, values in read.items()}
    sign = max(DECIMALS, key=lambda sign: found[sign])
    if 2 * found[sign] <= len(texts) - texts.null_count:
        return None
    same = np.array_equal(read["."], read[","], equal_nan=True)
    either = bool(found["."] == found[","] and not same)
    return Numbers(sign, unit, certain=not same and not either, either=either)


def share_of_booleans(texts: pa.Array) -> float:
    """The share of the texts that are of one pair, such as yes and no. If others are among them, both must be there.

    Example:
        >>> share_of_booleans(pa.array(["Yes", "no", None, "no", "perhaps"])), share_of_booleans(pa.array(["y"]))
        (0.75, 1.0)
        >>> share_of_booleans(pa.array(["y", "y", "z"]))
        0.0
    """
    of = counted(pc.utf8_lower(texts))
    pairs = [pair for pair in BOOLEANS if set(pair) <= set(of) or set(of) <= set(pair)]
    return max((sum(of.get(text, 0) for text in pair) for pair in pairs), default=0) / max(1, sum(of.values()))


def are_fractions(texts: pa.Array) -> bool:
    """Whether almost all texts are numbers, and some have a fraction, which numbers of classes do not.

    Example:
        >>> are_fractions(pa.array(["21,38 €", "7 €"])), are_fractions(pa.array(["1.0", "2"]))
        (True, False)
    """
    reading = read_numbers(texts)
    if reading is None:
        return False
    values = parse(texts, "number", reading.format("."))
    values = values[np.isfinite(values)]
    return bool(len(values) >= MOSTLY * len(texts) and (values % 1 > 0).any())


def counted(texts: pa.Array) -> dict[str, int]:
    """The different texts that are not null, as they come, and how many of each there are.

    Example:
        >>> counted(pa.array(["b", None, "a", "b"]))
        {'b': 2, 'a': 1}
    """
    found = pc.value_counts(texts.drop_null())
    return dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))


def alike_but_for_case(counts: Mapping[str, int]) -> str:
    """The texts that differ only in upper and lower case, with the numbers of their nodes; empty without any.

    Example:
        >>> alike_but_for_case({"High": 54, "HIGH": 1, "low": 3})
        "'HIGH' (1 node) and 'High' (54 nodes)"
    """
    alike: dict[str, list[str]] = {}
    for text in sorted(counts):
        alike.setdefault(text.casefold(), []).append(f"{text!r} ({count(counts[text], 'node')})")
    groups = [" and ".join(texts) for texts in alike.values() if len(texts) > 1]
    more = f" and {len(groups) - MOST_ALIKE} more" if len(groups) > MOST_ALIKE else ""
    return ", ".join(groups[:MOST_ALIKE]) + more


def days(cells: pa.Array) -> np.ndarray:
    """Cells of Arrow's types of dates, times and durations in days; NaN for null."""
    kind, start = cells.type, 0
    if pa.types.is_date(kind):
        cells, per_day, start = cells.cast(pa.date32()).cast(pa.int32()), 1, EPOCH
    else:
        wanted = pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
        if pa.types.is_timestamp(kind):
            wanted, start = pa.timestamp("us", kind.tz), EPOCH
        cells, per_day = cells.cast(wanted, safe=False).cast(pa.int64()), 86_400_000_000
    return cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / per_day - start


def _pattern(decimal: str) -> str:
    whole = f"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:[{_GROUPS[decimal]}][0-9]{{3}})+)"
    point = re.escape(decimal)
    return f"^[-+]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?$"


def _plain(texts: pa.Array) -> np.ndarray | None:
    """Numbers with a decimal point, without groups of digits and units, quickly; None if a text is something else."""
    try:
        return texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def _may_have_comma(texts: pa.Array) -> bool:
    return pc.all(pc.match_substring_regex(texts, _pattern(","))).as_py() is not False


def _unit(texts: pa.Array) -> str:
    """The percent or currency sign that most of the texts have; empty if there is none."""
    signs = pc.extract_regex(texts, rf"^[-+]?(?P<before>{_BEFORE})|(?P<after>{_AFTER})$")
    signs = pc.binary_join_element_wise(signs.field("before"), signs.field("after"), "").drop_null()
    signs = signs.filter(pc.not_equal(signs, ""))
    if 2 * len(signs) <= len(texts) - texts.null_count:
        return ""
    return max(pc.value_counts(signs).to_pylist(), key=lambda sign: (sign["counts"], sign["values"]))["values"]


def _numbers(texts: pa.Array, decimal: str, unit: str) -> np.ndarray:
    if decimal == "." and not unit and (plain := _plain(texts)) is not None:
        return plain
    texts = pc.replace_substring_regex(pc.replace_substring(texts, "−", "-"), r"^\((.+)\)$", r"-\1")
    if unit:
        sign = re.escape(unit)
        if unit == "%":  # 12 is not 12 %, but 5 may be 5 €
            texts = pc.if_else(pc.match_substring(texts, unit), texts, None)
        texts = pc.replace_substring_regex(texts, rf"^([-+]?)\s*{sign}\s*", r"\1")
        texts = pc.replace_substring_regex(texts, rf"[\s\x{{a0}}\x{{202f}}]*{sign}$", "")
    texts = pc.if_else(pc.match_substring_regex(texts, _pattern(decimal)), texts, None)
    texts = pc.replace_substring_regex(texts, f"[{_GROUPS[decimal]}]", "")
    values = pc.replace_substring(texts, decimal, ".").cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values / 100 if unit == "%" else values


def _booleans(texts: pa.Array) -> np.ndarray:
    values, lower = np.full(len(texts), np.nan), pc.utf8_lower(texts)
    for place, digit in enumerate("10"):
        words = pa.array([digit, *{pair[place] for pair in BOOLEANS}])
        values[pc.is_in(lower, value_set=words).to_numpy(zero_copy_only=False)] = 1 - place
    return values


def _times(texts: pa.Array) -> np.ndarray:
    found = pc.extract_regex(texts, f"^{_TIME}$")
    return np.where(_matched(found), _share_of_day(found), np.nan)


def _dates(texts: pa.Array, order: str) -> np.ndarray:
    found = pc.extract_regex(texts, f"^{_ORDERS[order]}(?:(?:T| +){_TIME}{_ZONE})?$")
    if "b" in order:
        names = pc.utf8_lower(found.field("name"))
        month = sum(number * _starts(name, names) for number, name in enumerate(_MONTHS, 1))
    else:
        month = _integers(found.field("month"))
    year, day = _integers(found.field("year")), _integers(found.field("day"))
    if "short" in _ORDERS[order]:
        short = found.field("short")
        given = pc.fill_null(pc.not_equal(short, ""), False).to_numpy(zero_copy_only=False)
        year = np.where(given, _integers(short) + np.where(_integers(short) < CENTURY, 2000, 1900), year)
    first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    date = first.astype("datetime64[D]") + (day - 1)
    valid = _matched(found) & (month >= 1) & (month <= 12) & (day >= 1) & (date.astype("datetime64[M]") == first)
    days = date.astype(np.int64) - EPOCH + _share_of_day(found) - _zone(found.field("zone")) / 1440
    return np.where(valid, days, np.nan)


def _starts(month: str, names: pa.Array) -> np.ndarray:
    """Which names are that of the month, or its first three letters (or sept)."""
    known = pa.array([month, month[:3], month[:4] if month == "september" else month])
    return pc.is_in(names, value_set=known).to_numpy(zero_copy_only=False)


def _share_of_day(found: pa.StructArray) -> np.ndarray:
    """The time of day, from 0 to 1; NaN for one such as 25:00."""
    hour, minute = _integers(found.field("hour")), _integers(found.field("minute"))
    second = _floats(pc.replace_substring(found.field("second"), ",", "."))
    half = pc.fill_null(pc.utf8_lower(found.field("half")), "").to_numpy(zero_copy_only=False)
    valid = (hour < 24) & (minute < 60) & (second < 61) & ((half == "") | ((hour >= 1) & (hour <= 12)))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    return np.where(valid, (hour * 3600 + minute * 60 + second) / 86_400, np.nan)


def _zone(zones: pa.Array) -> np.ndarray:
    """Minutes east of UTC; 0 without a zone."""
    parts = pc.extract_regex(zones, "^(?P<sign>[-+])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})$")
    minutes = 60 * _integers(parts.field("hours")) + _integers(parts.field("minutes"))
    return np.where(
        pc.fill_null(pc.equal(parts.field("sign"), "-"), False).to_numpy(zero_copy_only=False), -minutes, minutes
    )


def _matched(found: pa.StructArray) -> np.ndarray:
    return found.is_valid().to_numpy(zero_copy_only=False)


def _integers(texts: pa.Array) -> np.ndarray:
    return _floats(texts).astype(np.int64)


def _floats(texts: pa.Array) -> np.ndarray:
    """0 for null and for nothing."""
    given = pc.if_else(pc.equal(texts, ""), None, texts).cast(pa.float64())
    return pc.fill_null(given, 0.0).to_numpy(zero_copy_only=False)

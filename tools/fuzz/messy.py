"""Tables as people keep them: dates, percentages, amounts of money, free text, many ways to write a missing value."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from random import Random

from tools.fuzz import mutate

NODES = 60
MONTHS = ("Jan", "February", "mar", "Sept", "Sep", "December", "Mai", "Okt", "Foo")
MISSING = ("", "", "NA", "n/a", "-", "--", "?", "None", "null", "#N/A", "NaT", "unknown", ".", "nil", "N.A.")
WORDS = (
    "graph",
    "network",
    "of",
    "the",
    "nodes",
    "Learning",
    "=SUM",
    "naïve",
    "学习",
    "a" * 40,
    "2020",
    "x\u0000y"[:1],
    "and",
)
UNITS = ("%", " %", "€", "$", "£", "¥", " kg", "‰", "USD", "pp")


def number(draw: Random) -> str:
    value = draw.choice(
        (draw.random() * 10, draw.randrange(10**4), draw.randrange(10**9), 10 ** draw.uniform(-300, 307))
    )
    text = draw.choice((f"{value:.2f}", f"{value:,.2f}", f"{value:,.0f}", f"{value:g}", f"{value:e}", f"({value:.1f})"))
    text = draw.choice(
        (text, text, text.translate(str.maketrans(",.", ".,")), text.replace(",", draw.choice("' \u00a0\u202f'_")))
    )
    return draw.choice(("", "", "", "-", "+", "−", "--")) + text


def unit(draw: Random) -> str:
    return draw.choice((f"{number(draw)}{draw.choice(UNITS)}", f"{draw.choice(UNITS)}{number(draw)}"))


def date(draw: Random) -> str:
    year = draw.choice((2020, 1999, 1970, 0, 1, 9999, 99999, 24, 2100, 1582))
    month, day = draw.randrange(14), draw.randrange(33)
    sign = draw.choice("-/. ")
    text = draw.choice(
        (
            f"{year:04d}{sign}{month:02d}{sign}{day:02d}",
            f"{day}{sign}{month}{sign}{year}",
            f"{month:02d}{sign}{day:02d}{sign}{year % 100:02d}",
            f"{day}. {draw.choice(MONTHS)} {year}",
            f"{draw.choice(MONTHS)} {day}, {year}",
            f"{year}{month:02d}{day:02d}",
        )
    )
    return text + draw.choice(
        (
            "",
            "",
            "",
            f" {time(draw)}",
            f"T{time(draw)}Z",
            f" {time(draw)}+{draw.randrange(99):02d}:{draw.randrange(99):02d}",
        )
    )


def time(draw: Random) -> str:
    hour, minute, second = draw.randrange(26), draw.randrange(62), draw.randrange(63)
    return draw.choice(
        (
            f"{hour:02d}:{minute:02d}",
            f"{hour}:{minute:02d}:{second:02d}",
            f"{hour}:{minute:02d} {draw.choice(('am', 'PM', 'p.m.'))}",
            f"{hour:02d}:{minute:02d}:{second:02d}.{draw.randrange(10**9)}",
        )
    )


def text(draw: Random) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(draw.choice((1, 3, 6, 6, 30))))


def code(draw: Random) -> str:
    return draw.choice((f"{draw.randrange(1000):05d}", f"A-{draw.randrange(10**6)}", f"00{draw.randrange(50)}"))


def boolean(draw: Random) -> str:
    return draw.choice(
        draw.choice((("yes", "no"), ("TRUE", "False"), ("y", "N"), ("ja", "nein"), ("1", "0"), ("t", "f")))
    )


CELLS: tuple[Callable[[Random], str], ...] = (number, unit, date, time, text, code, boolean, mutate.word)


def column(draw: Random) -> Callable[[], str]:
    """A column: mostly cells of one way of writing, which is what a person uses; some of another; some missing."""
    make, other = draw.choice(CELLS), draw.choice(CELLS)
    few = draw.random() < 0.3  # values that repeat
    values = [make(draw) for _ in range(4)]
    odd, missing = draw.choice((0.0, 0.0, 0.02, 0.3)), draw.choice((0.0, 0.1, 0.6, 1.0)) if draw.random() < 0.5 else 0.0
    state = draw.getrandbits(32)

    def cell() -> str:
        if draw.random() < missing:
            return draw.choice(MISSING)
        if draw.random() < odd:
            return other(draw)
        if few:
            return draw.choice(values)
        return make(draw if draw.random() < 0.1 else Random(draw.getrandbits(16) ^ state))

    return cell


def nodes(draw: Random, folder: Path, fixtures: Path) -> str:
    """Write a table of nodes with such columns next to the ordinary ones; return its name."""
    with (fixtures / "tables/nodes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    known = draw.random() < 0.5  # the columns that the model "messy" was trained with
    names = ["when", "share", "paid", "note", "kind"] if known else [f"c{i}" for i in range(draw.choice((1, 2, 5)))]
    fresh = set(draw.sample(names, draw.choice((1, 1, len(names)))) if known else names)
    makers = {name: column(draw) for name in names if name in fresh}
    clean = {
        "when": date_of,
        "share": lambda i: f"{i} %",
        "paid": lambda i: f"{i * 1000:,}.50 €",
        "note": note,
        "kind": kind,
    }
    for place, row in enumerate(rows[1:]):
        row += [makers[name]() if name in fresh else clean[name](place) for name in names]
    rows[0] += names
    if draw.random() < 0.3:  # dirt in the label, or the split
        dirt, where = column(draw), draw.choice((1, 2))
        for row in rows[1:]:
            row[where] = dirt() if draw.random() < 0.3 else row[where]
    ending, separator = draw.choice(((".csv", ","), (".csv", ","), (".csv", ";"), (".tsv", "\t")))
    with (folder / f"nodes{ending}").open("w", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file, delimiter=separator).writerows([[cell.replace("\x00", "") for cell in row] for row in rows])
    return f"nodes{ending}"


def date_of(place: int) -> str:
    return f"2020-{place % 12 + 1:02d}-{place % 28 + 1:02d}"


def note(place: int) -> str:
    return f"a note on the graph number {place % 5} of many"


def kind(place: int) -> str:
    return ("big", "small", "tiny")[place % 3]


def clean(folder: Path) -> None:
    """The table that a model of the fixtures is trained on."""
    with (folder / "nodes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    for place, row in enumerate(rows[1:]):
        row += [date_of(place), f"{place} %", f"{place * 1000:,}.50 €", note(place), kind(place)]
    rows[0] += ["when", "share", "paid", "note", "kind"]
    with (folder / "messy.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)

"""Changes of valid content: of bytes, of lines and cells, of values in nested data."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

WORDS = (
    *("", " ", "0", "-1", "1", "2.5", "-0.0", "1e308", "1e400", "-1e39", "nan", "NaN", "inf", "-inf", "None", "null"),
    *("true", "FALSE", "007", "1,5", "0x10", "1_000", "9" * 19, "9" * 400, "9" * 5000, "9007199254740993", "2**62"),
    *(
        "train",
        "val",
        "validation",
        "test",
        "TEST",
        "given",
        "random:5",
        "random:" + "9" * 50,
        "a|b",
        "|",
        "||a",
        "red",
    ),
    *("=1+1", "@SUM(A1)", "+1", "-cmd", "\t=x", "'", '"', '""', '"a', "a\nb", "a\r\nb", "\r", ";", "\t", ","),
    *("\x00", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x07", "\x9b", "\u202e", "\ufeff", "\u2028", "é", "ß", "İ"),
    *(
        "日本",
        "😀",
        "e\u0301",
        "[/x]",
        "[bold]",
        "[red]x[/red]",
        ":smile:",
        "{0}",
        "%s",
        "$HOME",
        "~",
        "../x",
        "/dev/null",
    ),
    *("n1", "n2", "n59", "n60", "N1", " n1 ", "id", "label", "source", "x" * 300, "x" * 70_000, "<a>", "</script>"),
    *(
        "2020-01-01",
        "2020-13-45",
        "12:30:61",
        "!!python/object:os.system x",
        "!!int a",
        "!!timestamp 1",
        "*a",
        "&a [*a]",
    ),
)
NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    7,
    255,
    10**6,
    2**31,
    2**53 + 1,
    2**62,
    2**63,
    10**18,
    10**30,
    10**400,
    0.5,
    -0.5,
    1e38,
    1e308,
)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *(None, True, False, "", "a", "0", "nan", "x" * 5000, "\x1b[31m", [], {}, [[]], [None], {"": None}, [1, "a"]),
    *(float("nan"), float("inf"), -float("inf"), {"a": {"b": {"c": [1, 2, {"d": []}]}}}, list(range(2000))),
)
FITTING = {
    "id": ("n1000", "n1001", "=x", "7", "é", "n1 n2", "\x1b[31m"),
    "label": ("red", "blue", "", "a|b", "0", "1", "-1", "nan", "=1+1", "\x1b[31m", "[/x]"),
    "split": ("train", "val", "test", "", "TRAIN", "validation"),
    "age": ("0", "1e30", "-1e-30", "3e38", "1e39", "true", "", "nan", "9007199254740993"),
    "size": ("0", "1", "1e-40", "5"),
    "source": ("n1", "n2", "n3", "n1000"),
    "target": ("n1", "n2", "n3"),
    "weight": ("1", "1e-30", "1e30", "0", "-1", "3.4e38", "", "inf"),
}
Draw = Random
Change = Callable[[Draw, Any], Any]


def times(draw: Draw) -> int:
    """Mostly few: an input with one fault reaches deeper than one with many."""
    return draw.choice((1, 1, 1, 2, 3, 10))


def raw(draw: Draw, content: bytes) -> bytes:
    """Bytes that are flipped, removed, inserted, repeated or cut off."""
    data = bytearray(content)
    for _ in range(times(draw)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(8):
            case 0 | 1:
                if place < len(data):
                    data[place] ^= 1 << draw.randrange(8)
            case 2:
                if place < len(data):
                    data[place] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            case 3:
                del data[place : place + draw.choice((1, 2, 8, 100))]
            case 4:
                data[place:place] = draw.randbytes(draw.choice((1, 4, 50)))
            case 5:
                data[place:place] = data[place : place + draw.choice((4, 40, 400))] * draw.choice((1, 2, 30))
            case 6:
                del data[place:]
            case _:
                data[place : place + 4] = draw.choice((2**32 - 1, 2**31 - 1, 2**28, 0)).to_bytes(4, "little")
    return bytes(data)


def table(draw: Draw, content: str) -> bytes:
    """A table of text: cells, columns, rows, separators, quotes, encoding."""
    rows = [line.split(",") for line in content.splitlines()]
    for _ in range(times(draw)):
        if not (rows and rows[0]):
            rows[:1] = [[""]]
        row, column = draw.randrange(len(rows)), draw.randrange(len(rows[0]))
        match draw.randrange(30):
            case 12 | 13 | 14 | 15 | 16 | 17 | 18:  # a value that belongs there, or nearly
                kind = rows[0][column % len(rows[0])]
                rows[row or -1][column % len(rows[row or -1])] = draw.choice(
                    FITTING.get(kind, ("0", "1e9", "", "-3", "red"))
                )
            case 19 | 20 | 21 | 22 | 23:  # a whole column
                fitting = FITTING.get(rows[0][column], ("0", "1", "2.5", "1e30", "-1"))
                rows = [rows[0], *([*cells[:column], draw.choice(fitting), *cells[column + 1 :]] for cells in rows[1:])]
            case 24 | 25 | 26:
                rows[row or -1][column % len(rows[row or -1])] = draw.choice(
                    [each for each in WORDS if not set(each) & set(',;\t\n\r"')]
                )
            case 0 | 1 | 2:
                rows[row][column % len(rows[row])] = word(draw)
            case 3:
                rows[0][column] = draw.choice(
                    (word(draw), draw.choice(rows[0]), "graph", "value", "feature", "split", "ID")
                )
            case 4:
                value = word(draw)
                rows = [rows[0], *([*cells[:column], value, *cells[column + 1 :]] for cells in rows[1:])]
            case 5:
                rows = [[*cells[:column], *cells[column + 1 :]] or [""] for cells in rows]
            case 6:
                rows[row] = draw.choice(([], [""], rows[row] * 2, rows[row][:-1] or [""], ["#", "comment"]))
                rows[row] = rows[row] or [""]
            case 7:
                rows[row:row] = [list(draw.choice(rows)) for _ in range(draw.choice((1, 50)))]
            case 8:
                del rows[row:]
                rows = rows or [[""]]
            case 9:
                name = draw.choice(("graph", "weight", "x", "", "Unnamed: 0", word(draw)))
                rows = [[*cells, name if i == 0 else word(draw)] for i, cells in enumerate(rows)]
            case 10:
                draw.shuffle(rows)
            case _:
                rows[row:row] = [[""]] * draw.choice((1, 3))
        rows = [cells or [""] for cells in rows]
    separator = draw.choice((",",) * 16 + (";", "\t", "|", ", "))
    text = draw.choice(("\n", "\n", "\n", "\r\n", "\r", "\n\n")).join(separator.join(cells) for cells in rows)
    text = draw.choice(("",) * 20 + ("\ufeff", "\n\n", " ", '"', "sep=,\n")) + text
    encoded = text.encode(draw.choice(("utf-8",) * 60 + ("utf-16", "latin-1", "utf-32", "utf-8-sig")), "replace")
    return raw(draw, encoded) if draw.random() < 0.1 else encoded


def word(draw: Draw) -> str:
    chosen = draw.choice(WORDS)
    return chosen if draw.random() < 0.9 else "".join(chr(draw.randrange(1, 0x3000)) for _ in range(draw.randrange(12)))


def value(draw: Draw) -> Any:
    return draw.choice((*VALUES, word(draw), draw.randrange(-(10**6), 10**6)))


def nested(draw: Draw, given: Any) -> Any:
    """Data as JSON holds them: some value becomes another, is removed, repeated, or wrapped."""
    for _ in range(times(draw)):
        given = _nested(draw, given, 0)
    return given


def _nested(draw: Draw, given: Any, depth: int) -> Any:
    if isinstance(given, dict) and given and (depth == 0 or draw.random() < 0.85):
        key = draw.choice(sorted(given, key=str))
        match draw.randrange(12):
            case 0:
                return {name: each for name, each in given.items() if name != key}
            case 1:
                return {**given, word(draw): value(draw)}
            case 2:
                return {word(draw) if name == key else name: each for name, each in given.items()}
        return {**given, key: _nested(draw, given[key], depth + 1)}
    if isinstance(given, list) and given and draw.random() < 0.85:
        place = draw.randrange(len(given))
        match draw.randrange(10):
            case 0:
                return given[:place]
            case 1:
                return given + given[place:]
            case 2:
                return [*given[:place], value(draw), *given[place:]]
        return [*given[:place], _nested(draw, given[place], depth + 1), *given[place + 1 :]]
    return draw.choice((value(draw), value(draw), [given], {"x": given}, str(given)))


def json_text(draw: Draw, content: str) -> bytes:
    match draw.randrange(10):
        case 0:
            return raw(draw, content.encode())
        case 1:
            deep = draw.choice((50, 2000, 200_000))
            return draw.choice(("[" * deep, "[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep)).encode()
        case 2:
            return content.replace(draw.choice('0123456789,:"[]{}'), word(draw), draw.choice((1, -1))).encode(
                errors="replace"
            )
    try:
        text = json.dumps(nested(draw, json.loads(content)))
    except (ValueError, RecursionError):  # changed before
        return raw(draw, content.encode(errors="replace"))
    return text.encode(errors="replace")

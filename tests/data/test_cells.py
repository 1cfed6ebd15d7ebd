"""Texts as numbers: what is read as which number, and what is not read."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngcn.data.cells import (
    BOOLEANS,
    DATES,
    DECIMALS,
    MISSING,
    days,
    parse,
    read_numbers,
    share_of_booleans,
    without_missing,
)

NAN = float("nan")


def days_of(text: str) -> float:
    return (pd.Timestamp(text) - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)


@pytest.mark.parametrize(
    ("format", "texts", "values"),
    [
        (".", ["1", "-2.5", "+3", ".5", "4.", "1e3", "2.5E-1", "007"], [1, -2.5, 3, 0.5, 4, 1000, 0.25, 7]),
        (".", ["1,234", "1,234,567.5", "1 234", "1\u202f234", "1\u00a0234.5", "1'234", "1’234"], None),
        (",", ["1,5", "-2,25", ",5", "7", "1e3", "−3,5"], [1.5, -2.25, 0.5, 7, 1000, -3.5]),
        (",", ["1.234", "1.234.567,5", "1 234", "1\u202f234", "1\u00a0234,5", "1'234", "1’234"], None),
        (".%", ["12 %", "0.5%", "%5", "-3 %", "100\u00a0%"], [0.12, 0.005, 0.05, -0.03, 1]),
        (",€", ["1.234,50 €", "€ 7", "-€3", "- 5", "12"], [1234.5, 7, -3, NAN, 12]),
        (".$", ["$1,200", "-$3", "7 €", "(1,200)"], [1200, -3, NAN, -1200]),
        (".EUR", ["1,200 EUR", "EUR 7.5", "7 USD"], [1200, 7.5, NAN]),
        (
            ".",
            ["1,5", "12,34", "1,2345", "01,234", "1.5.2", "1 23", "5 %", "$5", "", "-", "1e", "0x1", "1_0"],
            [NAN] * 13,
        ),
        (",", ["1.5", "1.23", "1,234,567", "1,5,2", ",", "5 %"], [NAN] * 6),
        (".%", ["12", "5 % of it", "%"], [NAN] * 3),
    ],
)
def test_numbers(format: str, texts: list[str], values: list[float] | None) -> None:
    values = values or [1234, 1234567.5, 1234, 1234, 1234.5, 1234, 1234]
    np.testing.assert_allclose(parse(pa.array([*texts, None]), "number", format), [*values, NAN])


@given(st.floats(-1e12, 1e12), st.sampled_from(DECIMALS), st.sampled_from(["", ",", " ", "'"]))
def test_what_was_written_is_read(value: float, decimal: str, group: str) -> None:
    group = "." if group == decimal else group
    text = f"{value:,.3f}".translate({ord(","): group, ord("."): decimal})
    assert parse(pa.array([text]), "number", decimal).tolist() == [pytest.approx(float(f"{value:.3f}"))]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "2"], (".", "", False, False)),
        (["1", "2.5"], (".", "", True, False)),
        (["1", "2,5"], (",", "", True, False)),
        (["1.234", "12"], (".", "", False, True)),  # a thousand, or little more than 1
        (["1,234", "12"], (".", "", False, True)),
        (["1,234", "2,5"], (",", "", True, False)),
        (["1,234,567"], (".", "", True, False)),
        (["1.234 €", "5 €", "x"], (".", "€", False, True)),
        (["7 %", "8 %", "9"], (".", "%", False, False)),
        (["7,5 EUR", "(8) EUR", "EUR 9"], (",", "EUR", True, False)),
        (["1", "2", "x"], (".", "", False, False)),
        (["1", "x"], None),
        (["1", "2", "x", "y", None], None),
    ],
)
def test_the_decimal_sign_of_a_column(texts: list[str], numbers: tuple | None) -> None:
    found = read_numbers(pa.array(texts))
    assert (None if found is None else tuple(found)) == numbers
    if found:
        assert found.format(",") == ("," if found.either else found.decimal) + found.unit


@pytest.mark.parametrize(
    ("order", "texts", "dates"),
    [
        ("ymd", ["2024-02-29", "2024/2/9", "1999-12-31T18:00:00Z"], ["2024-02-29", "2024-02-09", "1999-12-31 18:00"]),
        (
            "ymd",
            ["2024-01-01 01:30:00.5+02:00", "2024-01-01T01:30-0130"],
            ["2023-12-31 23:30:00.5", "2024-01-01 03:00"],
        ),
        ("dmy", ["1.2.2024", "01/02/2024", "1-2-2024 7:05"], ["2024-02-01", "2024-02-01", "2024-02-01 07:05"]),
        ("dmy", ["1.2.24", "31/12/69", "1.1.70 7:05"], ["2024-02-01", "2069-12-31", "1970-01-01 07:05"]),
        (
            "mdy",
            ["1/2/2024", "12/31/1970 12:05 AM", "1/2/2024 1:00 p.m."],
            ["2024-01-02", "1970-12-31 00:05", "2024-01-02 13:00"],
        ),
        ("dby", ["5 Jan 2024", "5. December 2024", "05-Sept-2024"], ["2024-01-05", "2024-12-05", "2024-09-05"]),
        ("bdy", ["Jan 5, 2024", "may 31 2024"], ["2024-01-05", "2024-05-31"]),
    ],
)
def test_dates(order: str, texts: list[str], dates: list[str]) -> None:
    np.testing.assert_allclose(parse(pa.array(texts), "date", order), [days_of(date) for date in dates], atol=1e-9)


@pytest.mark.parametrize("order", DATES)
def test_what_is_no_date(order: str) -> None:
    wrong = [
        "2023-02-29",
        "31.4.2024",
        "13/13/2024",
        "32 Jan 2024",
        "5 Jam 2024",
        "12-03-24",
        "2024",
        "2024-01-01 25:00",
    ]
    wrong += ["2024-00-10", "0.1.2024", "2024-01-01 10:61", "2024-01-01 13:00 pm", "yesterday", "", "2024-01-01x", None]
    assert np.isnan(parse(pa.array(wrong, pa.string()), "date", order)).all()


@given(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)))
def test_every_date_is_read_as_its_day(moment: datetime.datetime) -> None:
    want = (moment - datetime.datetime(2000, 1, 1)) / datetime.timedelta(days=1)
    assert parse(pa.array([moment.isoformat()]), "date", "ymd")[0] == pytest.approx(want, abs=1e-8)
    assert days(pa.array([moment]))[0] == pytest.approx(want, abs=1e-8)


def test_times_booleans_and_missing() -> None:
    np.testing.assert_allclose(
        parse(pa.array(["06:00", "0:00:36", "6 pm", "6:00 pm", "24:00"]), "time"), [0.25, 36 / 86400, NAN, 0.75, NAN]
    )
    np.testing.assert_array_equal(
        parse(pa.array(["TRUE", "n", "Ja", "1", "0", "2", None]), "boolean"), [1, 0, 1, 1, 0, NAN, NAN]
    )
    missing = pa.array([*MISSING, *map(str.upper, MISSING), "0", "unknown"])
    assert without_missing(missing).drop_null().to_pylist() == ["0", "unknown"]


@pytest.mark.parametrize(("yes", "no"), BOOLEANS)
def test_yes_and_no(yes: str, no: str) -> None:
    texts = pa.array([yes.upper(), no.capitalize(), None, yes])
    assert share_of_booleans(texts) == 1
    np.testing.assert_array_equal(parse(texts, "boolean"), [1, 0, NAN, 1])


def test_no_word_means_both() -> None:
    yes, no = zip(*BOOLEANS, strict=True)
    assert not set(yes) & set(no) and {"sí", "sim", "tak", "on"} < set(yes) and {"não", "nee", "nej", "nei"} < set(no)


def test_types_of_arrow() -> None:
    moment = datetime.datetime(2000, 1, 2, 6)
    for kind in (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC")):
        np.testing.assert_array_equal(days(pa.array([moment, None], kind)), [1.25, NAN])
    for kind in (pa.date32(), pa.date64()):
        np.testing.assert_array_equal(days(pa.array([moment.date(), None], kind)), [1, NAN])
    for kind in (pa.time32("s"), pa.time64("us")):
        np.testing.assert_array_equal(days(pa.array([moment.time(), None], kind)), [0.25, NAN])
    np.testing.assert_array_equal(days(pa.array([datetime.timedelta(hours=36), None])), [1.5, NAN])

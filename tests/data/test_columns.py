"""Which treatment a column gets, and that a model reads other tables in the same way."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from ngcn import Config, Model, build, train
from ngcn.data.columns import Column, ColumnFacts, decide
from ngcn.data.files import read
from ngcn.data.table import Table
from ngcn.errors import DatasetError, RunError
from ngcn.graph import Graph, load_dataset, load_for_model

WORDS = ["steel", "iron", "works", "mill", "trade", "goods", "wood", "glass", "paper", "cloth"]
ROWS = 60


def columns_of(decimal: str = ".", **given: list) -> dict[str, Column]:
    table = Table(pa.table(given), "nodes", decimal=decimal)
    return {column.name: column for column in decide(table, table.column_names)}


def company(seed: int = 0, rows: int = ROWS) -> dict[str, list]:
    random = np.random.default_rng(seed)
    return {
        "id": [f"{i:04}" for i in range(rows)],
        "label": ["xy"[i % 2] for i in range(rows)],
        "revenue": [f"{v:,.2f}".translate({44: ".", 46: ","}) + " €" for v in random.normal(5000, 3000, rows)],
        "margin": [f"{v:.1f} %".replace(".", ",") if v > 5 else "n/a" for v in random.uniform(0, 30, rows)],
        "founded": [f"{d % 28 + 1:02}.{d % 12 + 1:02}.{1990 + d % 30}" for d in random.integers(0, 9999, rows)],
        "opens": [f"{h}:30" for h in random.integers(6, 11, rows)],
        "listed": ["ja" if v else "nein" for v in random.integers(0, 2, rows)],
        "legal form": [["GmbH", "AG", "KG"][v] for v in random.integers(0, 3, rows)],
        "about": [" ".join(random.choice(WORDS, 5)) for _ in range(rows)],
        "zip": [f"0{v}" for v in random.integers(1000, 9999, rows)],
        "name": [f"Müller{i}" for i in range(rows)],
        "empty": ["" if i % 2 else "-" for i in range(rows)],
        "staff": [str(v) for v in random.integers(1, 999, rows)],
    }


def write(folder: Path, nodes: dict[str, list], separator: str = ";") -> str:
    folder.mkdir(exist_ok=True)
    pd.DataFrame(nodes).to_csv(folder / "nodes.csv", sep=separator, index=False)
    edges = pd.DataFrame({"from": nodes["id"][:-1], "to": nodes["id"][1:], "weight": "1,5"})
    edges.to_csv(folder / "edges.csv", sep=separator, index=False)
    return f"{folder}/"


KINDS = {
    "revenue": ("number", ",€"),
    "margin": ("number", ",%"),
    "founded": ("date", "dmy"),
    "opens": ("time", ""),
    "listed": ("boolean", ""),
    "staff": ("number", "."),
    "legal form": ("one-hot", ""),
    "about": ("text", ""),
    "zip": ("ignored", ""),
    "name": ("ignored", ""),
    "empty": ("ignored", ""),
}


def test_every_column_of_a_messy_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = company()
    graph = load_dataset(write(tmp_path / "firms", given))
    assert {column.name: (column.kind, column.format) for column in graph.columns} == KINDS
    names = (
        "revenue",
        "margin",
        "founded",
        "opens",
        "listed",
        "staff",
        *(f"legal form={f}" for f in ("AG", "GmbH", "KG")),
    )
    assert graph.feature_names == names + tuple(f"about={word}" for word in sorted(WORDS))
    X = {name: graph.features[:, place] for place, name in enumerate(graph.feature_names)}
    np.testing.assert_allclose(
        X["revenue"], [float(v[:-2].replace(".", "").replace(",", ".")) for v in given["revenue"]], rtol=1e-6
    )
    margins = [np.nan if v == "n/a" else float(v[:-2].replace(",", ".")) / 100 for v in given["margin"]]
    np.testing.assert_allclose(X["margin"], margins, rtol=1e-6)
    dates = pd.to_datetime(pd.Series(given["founded"]), format="%d.%m.%Y") - pd.Timestamp("2000-01-01")
    np.testing.assert_array_equal(X["founded"], dates.dt.days)
    np.testing.assert_array_equal(X["listed"], [v == "ja" for v in given["listed"]])
    assert (graph.features[:, 9:] > 0).sum(axis=1).max() <= 5
    for line in (
        "read as numbers: 'revenue' (amounts in €, decimal comma), 'margin' (percentages, decimal comma), 'founded' "
        "(dates (day first), as days since 2000), 'opens' (times, as a share of the day).",
        "text with few values, encoded one-hot: 'legal form' (3 values).",
        "free text, encoded as TF-IDF: 'about' (10 words).",
        "ignored, without a value: 'empty'.",
        "ignored, as names or codes: 'zip' (60 values), 'name' (60 values); `one_hot` or",
        "edges are from 'from' to 'to'",
        f"missing values: {margins.count(np.nan) or np.isnan(margins).sum()} of 'margin'",
    ):
        assert line in caplog.text, line


def test_a_model_reads_other_tables_as_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "firms", company())
    graph = load_dataset(path)
    config = Config(dataset=path, model="gcn", steps=2)
    train(graph, config).model.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    assert model.card.columns == graph.columns
    np.testing.assert_array_equal(model.read_graph(path).features, graph.features)
    few = company(seed=1, rows=3)  # by themselves, these would be read differently
    few |= {
        "revenue": ["1.234 €", "7 €", ""],
        "founded": ["01.02.2003", "n/a", "3.4.2005"],
        "margin": ["1 %", "2 %", "3,5 %"],
    }
    few |= {
        "about": ["steel steel iron", "unknown words only", ""],
        "legal form": ["KG", "Ltd", ""],
        "zip": ["1", "2", "3"],
    }
    few |= {"listed": ["1", "0", "yes"], "staff": ["1,234", "?", "5"]}
    new = model.read_graph(write(tmp_path / "new", few, separator="\t"))
    X = {name: new.features[:, place] for place, name in enumerate(new.feature_names)}
    assert new.feature_names == graph.feature_names and new.columns == graph.columns
    np.testing.assert_allclose(X["revenue"], [1234, 7, np.nan])
    np.testing.assert_allclose(X["margin"], [0.01, 0.02, 0.035], rtol=1e-6)
    np.testing.assert_array_equal(X["founded"], [1127, np.nan, 1919])
    np.testing.assert_array_equal(X["listed"], [1, 0, 1])
    np.testing.assert_array_equal(X["staff"], [1234, np.nan, 5])
    np.testing.assert_array_equal(
        [X[f"legal form={form}"] for form in ("AG", "GmbH", "KG")], [[0] * 3, [0] * 3, [1, 0, 0]]
    )
    about = new.features[:, [name.startswith("about=") for name in new.feature_names]]
    np.testing.assert_allclose(np.linalg.norm(about, axis=1), [1, 0, 0], rtol=1e-6)
    assert (about[0] > 0).sum() == 2
    assert np.isfinite(model.predict_proba(new)).all()
    with pytest.raises(
        DatasetError, match=r"nodes\.csv has 2 bad cells: .* 'founded': '2003-01-01' is not a date like the others"
    ):
        model.read_graph(write(tmp_path / "new", {**few, "founded": ["2003-01-01"] * 2 + ["1.1.2000"]}))
    with pytest.raises(
        DatasetError, match=r"has no column 'about'; .*: add the column, which the model was trained with"
    ):
        model.read_graph(write(tmp_path / "new", {name: cells for name, cells in few.items() if name != "about"}))


def test_the_stored_columns_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "firms", company())
    train(load_dataset(path), Config(dataset=path, model="gcn", steps=1)).model.save(tmp_path / "model")
    card = tmp_path / "model/graph.json"
    good = card.read_text()
    for right, wrong in (
        ('",%"', '",x"'),
        ('"dmy"', '"d"'),
        ('"date"', '"exec"'),
        ('"words": [', '"words": ["iron", '),
        ('"words"', '"word"'),
    ):
        assert right in good
        card.write_text(good.replace(right, wrong))
        with pytest.raises(RunError, match=r"graph\.json is damaged"):
            Model.load(tmp_path / "model")


def test_instructions_go_before_what_is_decided(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "firms", company())
    how = {"one_hot": ["about", "opens"], "text": ["legal form"], "ignore": ["founded"]}
    graph = load_dataset(path, **how)
    kinds = {column.name: column.kind for column in graph.columns}
    assert kinds["about"] == kinds["opens"] == "one-hot" and kinds["legal form"] == "text" and "founded" not in kinds
    assert "legal form=gmbh" in graph.feature_names and "'about'" not in caplog.text
    again = load_for_model(path, graph_schema(graph), **how)
    np.testing.assert_array_equal(again.features, graph.features)
    for wrong, message in (
        ({"text": ["abuot"]}, "did you mean 'about'"),
        ({"text": ["label"]}, "cannot be text and something else at once"),
        ({"text": ["about"], "one_hot": ["about"]}, "cannot be one-hot and something else at once"),
        ({"text": ["name"]}, "column 'name': no word is in two cells"),
    ):
        with pytest.raises(DatasetError, match=message):
            load_dataset(path, **wrong)


def graph_schema(graph: Graph):  # type: ignore[no-untyped-def]
    from ngcn.model.card import Card

    return Card.of(graph, Config()).schema


def test_numbers_with_two_readings() -> None:
    either, comma, point = ["1.234", "2.345", "7"], ["1,5", "2", "3"], ["1.5", "2", "3"]
    assert columns_of(a=either)["a"].format == "." and columns_of(",", a=either)["a"].format == ","
    assert columns_of(a=either, b=comma)["a"].format == "," and columns_of(",", a=either, b=point)["a"].format == "."
    assert columns_of(",", a=either, b=point, c=comma)["a"].format == ","  # they disagree
    assert columns_of(",", a=["1.5", "2.5"], b=["1", "2"])["a"].format == "."


@pytest.mark.parametrize(
    ("texts", "kind", "format"),
    [
        (["3/4/2000", "13/4/2000"], "date", "dmy"),
        (["3/4/2000", "3/14/2000"], "date", "mdy"),
        (["3/4/2000", "4/5/2000"], "date", "dmy or mdy"),
        (["3/3/2000", "4/4/2000"], "date", "dmy"),  # either way the same
        (["3.4.2000", "4.5.2000"], "date", "dmy"),
        (["2000-01-02", "n/a", "soon"] * 2 + ["2000-01-03"], "date", "ymd"),
        (["007", "7"] * 3, "one-hot", ""),
        (["0", "10"], "number", "."),
        (["0.5", "00"], "number", "."),
        (["y", "N", "NA"], "boolean", ""),
        (["yes", "no", "true", "false"] * 2, "one-hot", ""),
        (["12a", "14"] * 2, "one-hot", ""),
        (["NA", "?"], "ignored", ""),
        ([f"{i} apples" for i in range(50)], "ignored", ""),
        ([f"a basket of {i} apples" for i in range(50)], "text", ""),
        ([f"v{i % 20}" for i in range(50)], "one-hot", ""),
        ([f"v{i % 21}" for i in range(50)], "ignored", ""),
        ([f"v{i % 30}" for i in range(300)], "one-hot", ""),
    ],
)
def test_kinds(texts: list[str], kind: str, format: str) -> None:
    column = columns_of(a=texts)["a"]
    assert (column.kind, column.format) == (kind, format)


def test_a_missing_text_has_no_value_and_no_word() -> None:
    nodes = pd.DataFrame(
        {"id": range(6), "label": list("xyxyxy"), "town": ["Oslo", "n/a", "Rome", "NA", "Oslo", "Rome"]}
    )
    nodes["about"] = ["sells fresh bread", "NA", "sells old bread", "-", "fresh bread here", "NA"]
    graph = Graph.from_pandas(nodes, pd.DataFrame({"source": [0], "target": [1]}), one_hot=["town"], text=["about"])
    assert graph.feature_names[:2] == ("town=Oslo", "town=Rome") and "about=na" not in graph.feature_names
    assert graph.features[[1, 3]].nnz == 0


def test_types_of_pandas() -> None:
    nodes = pd.DataFrame(
        {
            "id": range(4),
            "label": list("xyxy"),
            "split": ["train", "train", "val", "val"],
            "when": pd.to_datetime(["2000-01-02", None, "2000-01-03 12:00", "1999-12-31"], format="ISO8601"),
            "since": pd.to_timedelta(["1 days", None, "36 hours", "0 s"]),
            "score": pd.Categorical([1.5, None, 2.5, 1.5]),
            "town": pd.Categorical(["Rome", None, "Oslo", "Rome"]),
            "gap": pd.array([1, None, 3, 4], "Int64"),
            "flag": pd.array([True, None, False, True], "boolean"),
        }
    )
    edges = pd.DataFrame({"source": [0], "target": [1]})
    graph = Graph.from_pandas(nodes, edges, one_hot=["town"])
    assert graph.feature_names == ("when", "since", "score", "gap", "flag", "town=Oslo", "town=Rome")
    n = np.nan
    want = [[1, 1, 1.5, 1, 1, 0, 1], [n, n, n, n, n, 0, 0], [2.5, 1.5, 2.5, 3, 0, 1, 0], [-1, 0, 1.5, 4, 1, 0, 1]]
    np.testing.assert_array_equal(graph.features, want)


def test_text_stays_sparse_and_as_it_is(tmp_path: Path) -> None:
    from ngcn.model import prepare

    given = company()
    alone = {name: given[name] for name in ("id", "label", "about")}
    graph = load_dataset(write(tmp_path / "a", alone))
    assert sp.issparse(graph.features) and prepare(graph, Config()).how == "none"
    beside = load_dataset(write(tmp_path / "b", {**alone, "staff": given["staff"]}))
    preparation = prepare(beside, Config())
    assert preparation.how == "standard" and preparation.deviation[0] > 1  # type: ignore[index]
    np.testing.assert_array_equal(preparation(beside.features)[:, 1:], graph.features.toarray())


def test_facts_about_columns(tmp_path: Path) -> None:
    parts = read(write(tmp_path / "firms", {**company(), "one": ["5"] * ROWS}), ignore=["zip"])
    facts = {of.name: of for of in parts.column_facts()}
    assert list(facts) == [*company(), "one"]
    assert facts["id"] == ColumnFacts("id", "id", "id", 0, ROWS) and facts["zip"].kind == "ignored"
    assert facts["label"] == ColumnFacts("label", "label", "label", 0, 2)
    assert facts["staff"][1:4] == ("number", "a number", 0) and facts["one"].suggestion == "`ignore=['one']`"
    assert facts["margin"].missing == company()["margin"].count("n/a") > 0
    assert facts["legal form"] == ColumnFacts(
        "legal form", "one-hot", "one-hot (3 values)", 0, 3, "`one_hot=['legal form']`"
    )
    assert facts["about"].treatment == "TF-IDF of 10 words" and facts["about"].suggestion == "`text=['about']`"
    assert facts["name"] == ColumnFacts("name", "ignored", "ignored", 0, ROWS, "`ignore=['name']`")
    bad = read(write(tmp_path / "bad", {**company(), "staff": ["many"] * 9 + ["5"] * (ROWS - 9)}))
    assert "'many' is not a number" in str(bad.errors[0]) and len(bad.column_facts()) == len(company())


def test_dates_of_either_order_are_described_and_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "firms", {**company(), "sold": [f"{i % 12 + 1}/{i % 11 + 1}/2020" for i in range(ROWS)]})
    with pytest.raises(DatasetError, match="column 'sold': these dates may have the day or the month first; write"):
        load_dataset(path)
    assert "'founded' (dates (day first)" in caplog.text and "'sold'" not in caplog.text
    facts = {of.name: of.treatment for of in read(path).column_facts()}
    assert facts["sold"] == "dates (day or month first is unclear)"


def test_a_few_odd_cells_are_missing_values_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = company(rows=100)
    odd = {"listed": (3, "vielleicht"), "staff": (5, "many"), "margin": (7, "1e9 km"), "founded": (0, "long ago")}
    for name, (row, cell) in odd.items():
        given[name][row] = cell
    graph = load_dataset(write(tmp_path / "firms", given))
    assert {column.name: (column.kind, column.format) for column in graph.columns} == KINDS
    for name, (row, cell) in odd.items():
        assert np.isnan(graph.features[row, graph.feature_names.index(name)])
        what = {"listed": "yes or no", "founded": "a date like the others"}.get(name, "a number")
        told = f"column {name!r}: 1 cell cannot be read as {what} and is filled like a missing value: {cell!r} (row "
        assert f"{told}{row + 2})" in caplog.text
    assert "'vielleicht' (row 5); `one_hot=['listed']` would make a feature of each value." in caplog.text
    assert "'many' (row 7)." in caplog.text  # too many values for that
    facts = {of.name: of for of in read(write(tmp_path / "firms", given)).column_facts()}
    assert (facts["listed"].kind, facts["listed"].missing, facts["staff"].missing) == ("boolean", 1, 1)
    caplog.clear()
    some = dict(enumerate(("s/d", "old", "s/d", "a", "b", "c", "d", "s/d", "d")))
    load_dataset(write(tmp_path / "more", {**company(rows=200), "staff": [some.get(i, str(i)) for i in range(200)]}))
    listed = "'s/d' (3 times), 'd' (2 times), 'old' (row 3), 'a' (row 5), 'b' (row 6) and 1 other."
    assert f"9 cells cannot be read as a number and are filled like missing values: {listed}" in caplog.text
    for row in range(10):
        given["staff"][row] = "many"
    with pytest.raises(DatasetError, match="has 10 bad cells: row 2, column 'staff': 'many' is not a number"):
        load_dataset(write(tmp_path / "firms", given))


def test_a_column_that_is_almost_of_another_kind_says_why_it_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = {**company(), "part": [["yes", "no", "partly", "yes"][i % 4] for i in range(ROWS)]}
    given["floor"] = [str(i % 12) for i in range(ROWS - 1)] + ["07"]
    load_dataset(write(tmp_path / "firms", given))
    assert "'part' (3 values; yes and no, but 15 are neither, such as 'partly' in row 4)" in caplog.text
    assert "'floor' (13 values; whole numbers, but '07' in row 61 begins with 0)" in caplog.text
    facts = {of.name: of.treatment for of in read(write(tmp_path / "firms", given)).column_facts()}
    assert facts["floor"] == "one-hot (13 values; whole numbers, but '07' in row 61 begins with 0)"
    assert columns_of(a=["t"] * 99 + ["x"])["a"].kind == "one-hot"  # no pair


@pytest.mark.parametrize("instructed", [[], ["legal form", "form"]])
def test_values_that_differ_only_in_case_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, instructed: list[str]
) -> None:
    given = {**company(), "form": [["a", "A", "b", "B", "c", "C", "D", "d", "Ä", "ä"][i % 10] for i in range(ROWS)]}
    given["legal form"] = [["GmbH", "AG", "GMBH "][i % 3] for i in range(ROWS)]
    given["label"] = ["Xy" if i % 3 else "XY" if i else "yes" for i in range(ROWS - 1)] + [""]
    load_dataset(write(tmp_path / "firms", given), one_hot=instructed)
    classes = "'XY' (19 nodes) and 'Xy' (39 nodes) differ only in upper and lower case; if they are one class, write"
    assert f"nodes.csv, column 'label': {classes} them alike." in caplog.text
    form = "'form' ('A' (6 nodes) and 'a' (6 nodes), 'B' (6 nodes) and 'b' (6 nodes), 'C' (6 nodes) and 'c' (6 nodes)"
    for text in ("values that differ only in upper and lower case; if", f"{form} and 2 more)", "'legal form' ('GMBH'"):
        assert text in caplog.text, text
    caplog.clear()
    load_dataset(write(tmp_path / "firms", company()))
    assert "differ only" not in caplog.text


@pytest.mark.parametrize("how", ["tables", "pandas", "built"])
def test_a_model_knows_the_names_of_the_columns_that_are_no_features(tmp_path: Path, how: str) -> None:
    nodes = pd.DataFrame({"nr": range(ROWS), "paper": ["xy"[i % 2] for i in range(ROWS)]})
    nodes["junk"], nodes["age"] = "?", [i % 7 * 1.5 for i in range(ROWS)]
    edges = pd.DataFrame({"a": range(ROWS - 2), "b": range(2, ROWS)})
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        nodes.to_csv(tmp_path / folder / "nodes.csv", index=False)
        edges.to_csv(tmp_path / folder / "edges.csv", index=False)
    names = {"id": "nr", "label": "paper", "source": "a", "target": "b", "ignore": ["junk"]}
    old = f"{tmp_path}/old/"
    if how == "pandas":
        graph = Graph.from_pandas(nodes, edges, **names)
    elif how == "built":
        build(tmp_path / "old", out=tmp_path / "built", **names)
        graph = load_dataset(f"{tmp_path}/built")
    else:
        graph = load_dataset(old, **names)
    train(graph, Config(model="gcn", steps=2)).model.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    new = model.read_graph(f"{tmp_path}/new/")
    assert new.node_ids.tolist() == list(range(ROWS)) and new.feature_names == ("age",) and new.test.all()
    assert new.edges == ROWS - 2 and not model.new_nodes(new).any()
    nodes.rename(columns={"nr": "id"}).to_csv(tmp_path / "new" / "nodes.csv", index=False)
    edges.rename(columns={"b": "target"}).to_csv(tmp_path / "new" / "edges.csv", index=False)
    with pytest.raises(DatasetError) as raised:
        model.read_graph(f"{tmp_path}/new/")
    for text in ("nodes.csv has no column 'nr'", "edges.csv has no column 'b'"):
        assert re.search(
            f"{text}; its first line names .*: rename the right one: the model was trained", str(raised.value)
        )

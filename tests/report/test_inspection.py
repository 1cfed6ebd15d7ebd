"""`inspect_graph` and `ngcn inspect`: the facts are those of the data, all problems are found, and the page is safe."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from ngcn import Graph, inspect_graph, load_dataset
from ngcn.cli import app
from ngcn.report.inspection import page
from report.conftest import MARKUP, crowds

ROWS = 60


def tables(folder: Path, edges: str = "", **cells: dict[int, str]) -> Path:
    """Tables of two classes; ``cells`` replace some, by column and row."""
    columns: dict[str, list[str]] = {
        "id": [f"{row:03}" for row in range(ROWS)],
        "label": ["xy"[row % 2] for row in range(ROWS)],
        "legal form": [("GmbH", "AG", "n/a")[row % 3] for row in range(ROWS)],
        "margin": [f"{row},5 %" if row % 4 else "" for row in range(ROWS)],
        "same": ["1"] * ROWS,
        "split": [("train", "val", "test")[row // 20] for row in range(ROWS)],
    }
    for name, changed in cells.items():
        for row, cell in changed.items():
            columns[name][row] = cell
    folder.mkdir()
    lines = [";".join(columns), *map(";".join, zip(*columns.values(), strict=True))]
    (folder / "nodes.csv").write_text("\n".join(lines))
    path = "".join(f"{row:03};{row + 2:03}\n" for row in range(ROWS - 2))
    (folder / "edges.csv").write_text(f"source;target\n{path}{edges}")
    return folder


def test_facts_of_tables(tmp_path: Path) -> None:
    found = inspect_graph(tables(tmp_path / "firms"))
    assert found.ok and found.facts is not None
    assert (found.facts.components, found.facts.component_sizes, found.facts.homophily) == (2, (30, 30), 1.0)
    assert found.facts.degrees == ((0, 0, 0), (1, 1, 4), (2, 2, 56))
    columns = {column.name: column for column in found.columns}
    assert (columns["margin"].treatment, columns["margin"].missing) == ("percentages, decimal comma", 15)
    assert (columns["legal form"].treatment, columns["legal form"].missing) == ("one-hot (2 values)", 20)
    assert found.missing == (("margin", 15),) and "4 features" in found.features
    assert found.classes == (("x", 10, 10, 10, 0), ("y", 10, 10, 10, 0))
    assert found.settings == {"one_hot": ("legal form",)}
    assert (columns["same"].suggestion, columns["legal form"].suggestion) == ("", "`one_hot=['legal form']`")
    options = [suggestion.option for suggestion in found.suggestions]
    assert options[0] == "`ignore=['same']`" and "`refit=True`" in options
    assert any("missing values: 15 of 'margin'" in text for text in found.warnings)
    graph = load_dataset(tmp_path / "firms", ignore=["same"], one_hot=["legal form"])
    assert inspect_graph(graph).classes == found.classes


def options(graph: Graph) -> set[str]:
    return {suggestion.option.split("=")[0].strip("`") for suggestion in inspect_graph(graph).suggestions}


def test_suggestions_follow_the_data() -> None:
    graph = crowds()
    none = np.zeros(60, bool)
    few = replace(graph, train=np.arange(60) % 30 == 0, val=none, test=none)
    unequal = replace(graph, train=(np.arange(60) < 16) | (np.arange(60) >= 55), val=none, test=none)
    rare = replace(graph, train=(np.arange(60) < 16) | (np.arange(60) >= 56), val=none, test=none)
    other = replace(graph, labels=np.random.default_rng(0).integers(0, 2, 60))
    assert options(graph) == {"refit"} and "balance" not in options(few)
    assert {"balance", "metric"} <= options(unequal) and not {"balance", "metric"} & options(rare)
    assert {"model", "mix"} <= options(other) and not {"model", "mix"} & options(graph)


def test_the_recipe_consistency_is_for_bags_of_words_with_edges(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    bag = crowds(features=sp.csr_array((random.random((60, 40)) < 0.1).astype(np.float32)), feature_names=None)
    assert "recipe" in options(bag)
    few = bag.with_split(bag.train & (np.arange(60) % 4 == 0), bag.val, bag.test)
    for graph in (
        few,
        replace(bag, adjacency=sp.csr_array((60, 60))),
        replace(bag, features=random.random((60, 40))),
        replace(bag, features=random.random((60, 2)), feature_names=None),
        replace(bag, features=-bag.features),
        replace(bag, features=sp.eye_array(60, format="csr"), feature_names=None),
    ):
        assert "recipe" not in options(graph)
    values = {row: f"{'abcdefghijklmnopqrstuvwxyz'[row // 3]}" for row in range(ROWS)}
    table = tables(tmp_path / "firms", **dict.fromkeys(("legal form", "margin", "same"), values))
    found = inspect_graph(table)
    assert "60 features: 1 where a node has the feature" in found.features  # one-hot columns, which are sparse, too
    assert "`recipe='consistency'`" not in [suggestion.option for suggestion in found.suggestions]


def test_without_edges_no_suggestion_needs_them(tmp_path: Path) -> None:
    folder = tables(tmp_path / "alone")
    (folder / "edges.csv").write_text("source;target\n")
    found = inspect_graph(folder)
    whys = {suggestion.option: suggestion.why for suggestion in found.suggestions}
    assert set(whys) == {"`ignore=['same']`", "`refit=True`", "`model='mlp'`"}
    assert "NGCNClassifier" in whys["`model='mlp'`"]
    each = {"features": sp.eye_array(60, format="csr"), "feature_names": None}  # and no features to learn from
    assert "model" not in options(crowds(adjacency=sp.csr_array((60, 60)), **each))
    assert "mix" not in options(crowds()) and "mix" in options(crowds(**each))


def test_columns_that_are_the_same_for_every_node(tmp_path: Path) -> None:
    texts = {row: f"calle mayor {row}x{row}" for row in range(ROWS)}
    same = tables(tmp_path / "same", **{"legal form": texts}, margin=dict.fromkeys(range(ROWS), "2"))
    found = inspect_graph(same)
    assert found.settings == {"text": ("legal form",)}  # as training does
    whys = {suggestion.option: suggestion.why for suggestion in found.suggestions}
    assert whys["`ignore=['legal form']`"].startswith("the column has the same words in every cell; but no feature")
    assert whys["`ignore=['margin']`"].endswith("a model could then only predict its own graph")
    other = inspect_graph(tables(tmp_path / "other", **{"legal form": texts}))
    assert [s.why for s in other.suggestions[:2]] == [
        "the column has the same words in every cell",
        "the column has only one value",
    ]
    codes = {row: f"c{row}" for row in range(ROWS)}
    none = inspect_graph(tables(tmp_path / "none", **dict.fromkeys(("legal form", "margin", "same"), codes)))
    assert none.settings == {"ignore": ("legal form", "margin", "same")}
    assert none.warnings[-1] == "Every node is a feature of its own, so a model can only predict its own graph."


def test_classes_with_few_labels(tmp_path: Path) -> None:
    found = inspect_graph(tables(tmp_path / "few", label={0: "rare", 2: "", 4: "two", 44: "two"}))
    few = (
        "2 classes have fewer than 3 labelled nodes, such as 'rare': merge them, leave them empty, or label more nodes."
    )
    assert few in found.warnings
    one = inspect_graph(crowds(labels=np.where(np.arange(60) == 0, 1, 0)))
    assert any(text.startswith("1 class has fewer than 3 labelled nodes, such as") for text in one.warnings)
    assert not any("fewer than 3" in text for text in inspect_graph(crowds(multilabel=True)).warnings)


def test_without_a_split_labels_are_counted_all_the_same(tmp_path: Path) -> None:
    nothing = dict.fromkeys(range(ROWS), "")
    unique = tables(tmp_path / "unique", label={row: f"L{row}" for row in range(ROWS)}, split=nothing)
    found = inspect_graph(unique)
    assert not found.ok and str(found.facts).endswith("\nLabels: 60 labelled nodes.") and len(found.classes) == 60
    assert not any("drawn" in text for text in found.warnings)  # of a split that is not used
    shown = run(str(unique), "--html", str(tmp_path / "unique.html")).stdout
    assert "Labelled" in shown and "Validation" not in shown and "60 classes have fewer than 3 labelled nodes" in shown
    text = (tmp_path / "unique.html").read_text()
    assert "Labelled nodes of each class." in text and "60 classes have fewer than 3 labelled nodes" in text
    none = inspect_graph(tables(tmp_path / "none", label=nothing, split=nothing))
    assert not none.ok and "Labels" not in str(none.facts)


def test_all_problems_are_found_at_once(tmp_path: Path) -> None:
    margin = {1: "much", 2: "more", 3: "much"}
    folder = tables(tmp_path / "bad", edges="nobody;001\n002;none\n", margin=margin, split={3: "trian"})
    found = inspect_graph(folder, label="group")
    edges, cells, label, split = found.problems
    assert "row 60, column 'source': there is no node 'nobody'" in edges and "'none'" in edges
    assert "has no column 'label'" not in label and "has no column 'group'" in label
    assert "row 3, column 'margin': 'much' is not a number; row 4, column 'margin': 'more'" in cells
    assert "'trian' is not a split" in split
    assert not found.ok and found.facts is None and len(found.columns) == 6
    one_class = tables(tmp_path / "one", label=dict.fromkeys(range(ROWS), "x"))
    found = inspect_graph(one_class)
    assert ["training needs two classes" in text for text in found.problems] == [True] and found.facts
    found = inspect_graph(tables(tmp_path / "gaps"), missing="error")
    assert "lacks feature values: 15 of 'margin' (25 %)" in found.problems[0]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["inspect", *arguments])


def test_the_command_says_the_same(tmp_path: Path) -> None:
    folder = str(tables(tmp_path / "firms"))
    shown = run(folder)
    assert shown.exit_code == 0 and not shown.exception
    for text in ("60 nodes, 58 edges", "percentages, decimal comma", "--ignore same: the column has only one value"):
        assert text in shown.stdout, text
    assert f"  ngcn train {folder} --one-hot 'legal form'\n" in shown.stdout
    assert "Try one of these, and compare the validation scores:" in shown.stdout
    data = json.loads(run(folder, "--json").stdout)
    assert data["ok"] and data["facts"]["nodes"] == 60 and data["columns"][3]["missing"] == 15
    bad = run(str(tables(tmp_path / "bad", label={0: ""})), "--html", str(tmp_path / "bad.html"))
    assert bad.exit_code == 2 and "a train node needs a label" in bad.stdout
    assert "Training would fail: 1 problem." in (tmp_path / "bad.html").read_text()


def test_the_command_has_the_paths_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tables(tmp_path / "my firms")
    (folder / "edges.csv").rename(tmp_path / "e dges.csv")
    monkeypatch.chdir(tmp_path)
    given = ("--nodes", "my firms/nodes.csv", "--edges", "e dges.csv")
    assert (
        "  ngcn train --nodes 'my firms/nodes.csv' --edges 'e dges.csv' --one-hot 'legal form'\n" in run(*given).stdout
    )


def test_the_page_tells_the_components(tmp_path: Path) -> None:
    def told(*edges: tuple[int, int]) -> str:
        u, v = np.array(edges, int).reshape(-1, 2).T
        graph = replace(crowds(), adjacency=sp.csr_array((np.ones(len(u)), (u, v)), shape=(60, 60)))
        text = page(inspect_graph(graph).to_dict())
        return text.split("How many nodes have so many neighbours.")[1].split("</p>")[0].strip()

    path = [(row, row + 1) for row in range(59)]
    assert told(*path) == "The graph is connected." and told() == ""
    assert told(*path[:39], *path[40:]) == "The 2 components have 40, 20 nodes."
    assert told(*path[:20]) == f"The largest of 40 components have 21{', 1' * 9} nodes."


def test_the_page_in_a_browser(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = tmp_path / "graph.html"
    inspect_graph(crowds()).write_html(path)
    for how in ({}, {"dark": True}, {"width": 390, "height": 844}):
        browser = open_page(path, **how)
        shown = browser.execute_script("return document.body.innerText")
        assert "This graph can be trained on." in shown and MARKUP in shown and "12 features" in shown
        assert browser.execute_script("return document.documentElement.scrollWidth") <= how.get("width", 1280)

"""`inspect_graph` and `ngcn inspect`: the facts are those of the data, all problems are found, and the page is safe."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from ngcn import Graph, inspect_graph, load_dataset
from ngcn.cli import app
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
    assert found.settings == {"one_hot": ("legal form",), "ignore": ("same",)}
    options = [suggestion.option for suggestion in found.suggestions]
    assert options[0] == "`ignore=['same']`" and "`refit=True`" in options
    assert any("missing values: 15 of 'margin'" in text for text in found.warnings)
    graph = load_dataset(tmp_path / "firms", ignore=["same"], one_hot=["legal form"])
    assert inspect_graph(graph).classes == found.classes


def test_suggestions_follow_the_data() -> None:
    graph = crowds()
    none = np.zeros(60, bool)
    few = replace(graph, train=np.arange(60) % 30 == 0, val=none, test=none)
    unequal = replace(graph, train=(np.arange(60) < 8) | (np.arange(60) == 59), val=none, test=none)
    other = replace(graph, labels=np.random.default_rng(0).integers(0, 2, 60))

    def options(graph: Graph) -> set[str]:
        return {suggestion.option.split("=")[0].strip("`") for suggestion in inspect_graph(graph).suggestions}

    assert options(graph) == {"refit", "recipe"} and not {"balance", "recipe"} & options(few)
    assert {"balance", "metric"} <= options(unequal)
    assert {"model", "mix"} <= options(other) and not {"model", "mix"} & options(graph)


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
    assert f"ngcn train {folder} --one-hot 'legal form' --ignore same" in shown.stdout
    data = json.loads(run(folder, "--json").stdout)
    assert data["ok"] and data["facts"]["nodes"] == 60 and data["columns"][3]["missing"] == 15
    bad = run(str(tables(tmp_path / "bad", label={0: ""})), "--html", str(tmp_path / "bad.html"))
    assert bad.exit_code == 2 and "a train node needs a label" in bad.stdout
    assert "Training would fail: 1 problem." in (tmp_path / "bad.html").read_text()


def test_the_page_in_a_browser(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    page = tmp_path / "graph.html"
    inspect_graph(crowds()).write_html(page)
    for how in ({}, {"dark": True}, {"width": 390, "height": 844}):
        browser = open_page(page, **how)
        shown = browser.execute_script("return document.body.innerText")
        assert "This graph can be trained on." in shown and MARKUP in shown and "12 features" in shown
        assert browser.execute_script("return document.documentElement.scrollWidth") <= how.get("width", 1280)

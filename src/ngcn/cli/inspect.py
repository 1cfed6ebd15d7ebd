"""`ngcn inspect`: show what training would see in a graph."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.table import Table

from ngcn.cli import _screen
from ngcn.cli._errors import USER_ERROR, as_options, check_place
from ngcn.cli.train import _GRAPH, _given, _option, _parameter
from ngcn.config import Config
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError
from ngcn.files import write_text
from ngcn.text import percent

SHOWN = 15  # rows of a table


def inspect(
    *,
    nodes: Annotated[str | None, _option("--nodes", "A table of nodes, in place of GRAPH.", panel="Data")] = None,
    html: Annotated[Path | None, _option("--html", "Write a page with the same, too.", panel="Output")] = None,
    as_json: Annotated[
        bool, _option("--json", "Print one JSON object on stdout and nothing else.", panel="Output")
    ] = False,
    **options: Any,
) -> None:
    """Show what training would see in a graph, without training.

    How each column is used, missing values, classes, neighbours, components, homophily, and options to consider.

    The exit code is 2 if training would fail; then the problems are listed.

    Example: [bold]ngcn inspect town[/bold]
    """
    given = _given(nodes, options)
    if "dataset" not in given:
        raise ConfigError("Name a dataset, such as `ngcn inspect cora`, or a folder of your own.")
    settings = Config(**given)
    check_exists(settings.dataset)
    if html:
        check_place(html)
    with _screen.busy(f"Loading {settings.graph_name}"):
        from ngcn.report import inspect_graph
        from ngcn.report.inspection import page

        found = inspect_graph(given.pop("dataset"), **given).to_dict()
    found = _with_options(found)
    paths = {name: options[name] for name in ("edges", "feature_table") if options[name]}
    command = _command(nodes, options["dataset"], found["settings"] | paths)  # as they were given
    if html:
        write_text(html, page(found, command))
    if as_json:
        print(json.dumps(found | {"command": command}, allow_nan=False))
    else:
        _show(found, command)
    if not found["ok"]:
        raise typer.Exit(USER_ERROR)


_OF_INSPECT = [p for p in signature(inspect, eval_str=True).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


def _signature() -> Signature:
    """The parameters of `ngcn inspect`: a graph, the settings of `Config` about the data, and those of the output."""
    kinds = get_type_hints(Config)
    settings = [
        s for s in fields(Config) if (s.metadata["panel"] == "Data" and s.name != "dataset") or s.name == "seed"
    ]
    graph = Annotated[str | None, typer.Argument(metavar="GRAPH", help=_GRAPH)]
    return Signature(
        [
            Parameter("dataset", Parameter.KEYWORD_ONLY, default=None, annotation=graph),
            *(_parameter(setting, kinds[setting.name]) for setting in settings if setting.name != "dataset"),
            *_OF_INSPECT,
        ]
    )


inspect.__signature__ = _signature()  # type: ignore[attr-defined]


def _with_options(found: dict[str, Any]) -> dict[str, Any]:
    """The same, with options in place of arguments."""
    texts = {name: list(map(as_options, found[name])) for name in ("problems", "warnings")}
    rows = {
        name: [row | {key: as_options(row[key])} for row in found[name]]
        for name, key in (("suggestions", "option"), ("columns", "suggestion"))
    }
    return found | texts | rows


def _command(nodes: str | None, graph: str, settings: dict[str, Any]) -> str:
    """The command that trains with these settings."""
    words = [f"--nodes {shlex.quote(nodes)}"] if nodes else [shlex.quote(graph)]
    for name, value in settings.items():
        words.append(as_options(f"`{name}={list(value) if isinstance(value, tuple) else value!r}`"))
    return f"ngcn train {' '.join(words)}"


def _show(found: dict[str, Any], command: str) -> None:
    console = _screen.Console()
    for line in found["summary"]:
        console.print(line, soft_wrap=True)
    if found["features"]:
        console.print(f"{found['features']}.", soft_wrap=True)
    nodes = found["facts"]["nodes"] if found["facts"] else 0
    if found["columns"]:
        console.print(_columns(found["columns"], nodes))
    elif found["missing"]:
        console.print(_missing(found["missing"], nodes))
    if found["classes"]:
        console.print(_classes(found["classes"]))
    if found["facts"]:
        console.print(_degrees(found["facts"]["degrees"]))
    _list(console, "Notes:", found["warnings"])
    options = [f"{row['option']}: {row['why']}" for row in found["suggestions"]]
    _list(console, "Try one of these, and compare the validation scores:", options)
    if found["ok"]:
        console.print("\nTrain:", style="bold")
        console.print(f"  {command}", soft_wrap=True)
    _list(console, "Training would fail:", found["problems"], "bold red")


def _list(console: _screen.Console, title: str, texts: list[str], style: str = "bold") -> None:
    if texts:
        console.print(f"\n{title}", style=style)
    for text in texts:
        console.print(f"- {text}", soft_wrap=True)


def _rows(table: Table, rows: list[Any], cells: Any) -> Table:
    for row in rows[:SHOWN]:
        table.add_row(*cells(row))
    if len(rows) > SHOWN:
        table.caption = f"and {len(rows) - SHOWN} more"
    return table


def _bar(share: float) -> str:
    return "█" * round(_screen.BAR / 2 * share)


def _columns(columns: list[dict[str, Any]], nodes: int) -> Table:
    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        share = f" ({percent(row['missing'] / nodes)})" if nodes and row["missing"] else ""
        missing = f"{row['missing']:,}{share}" if row["missing"] else ""
        return row["name"], row["treatment"], missing, f"{row['distinct']:,}", row["suggestion"]

    return _rows(Table("Column", "Used as", *_screen.right("Missing", "Values"), "As an option"), columns, cells)


def _missing(missing: list[tuple[str, int]], nodes: int) -> Table:
    table = Table("Feature", *_screen.right("Nodes without it", ""))
    return _rows(table, missing, lambda row: (row[0], f"{row[1]:,}", percent(row[1] / nodes)))


def _classes(classes: list[dict[str, Any]]) -> Table:
    splits = {"train": "Train", "val": "Validation", "test": "Test"}
    for row in classes:
        row["all"] = sum(row[split] for split in (*splits, "other"))
    most = max(row["all"] for row in classes) or 1
    shown = splits if any(row["train"] for row in classes) else {"all": "Labelled"}
    table = Table("Class", *_screen.right(*shown.values()), "")
    return _rows(table, classes, lambda row: (row["name"], *(f"{row[of]:,}" for of in shown), _bar(row["all"] / most)))


def _degrees(degrees: list[tuple[int, int, int]]) -> Table:
    most = max(nodes for *_, nodes in degrees) or 1
    table = Table(*_screen.right("Neighbours", "Nodes"), "")
    return _rows(table, list(degrees), lambda bin: (_range(*bin[:2]), f"{bin[2]:,}", _bar(bin[2] / most)))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

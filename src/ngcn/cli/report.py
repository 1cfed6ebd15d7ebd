"""`ngcn report`: write an HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngcn.cli import _screen
from ngcn.cli._errors import check_place, check_run
from ngcn.cli.evaluate import GRAPH, Edges, FeatureTable, graph_of
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    graph: Annotated[str | None, typer.Argument(metavar="[GRAPH]", help=GRAPH)] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The HTML file to write.", show_default="report.html in the run folder, report-GRAPH.html for GRAPH"
        ),
    ] = None,
    explain: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="The number of nodes to explain with neighbours and features, new and uncertain ones first.",
            show_default="200; fewer for large graphs",
        ),
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="A folder for the figures, as SVG and PNG.")] = None,
    edges: Edges = None,
    feature_table: FeatureTable = None,
) -> None:
    """Write a page about a run, or about its model on another graph: one HTML file that needs no network connection.

    Scores, learning curves, the weights of the towers, mistakes, calibration, missing values, a map of the nodes, and
    explanations of predictions.

    Example: [bold]ngcn report runs/cora-mixed[/bold]
    """
    check_run(run)
    if graph:
        check_exists(graph)
    if out:
        check_place(out)
    if plots and plots.exists() and not plots.is_dir():
        raise ConfigError(f"{plots} is a file; --plots takes a folder.")
    with _screen.busy("Loading") as update:
        from ngcn.report import write_report
        from ngcn.runs import Run

        opened = Run.open(run)
        _ = opened.model().network  # raises an error for a baseline, before the graph is loaded
        path = write_report(
            opened,
            out,
            explain=explain,
            graph=graph_of(opened, graph, edges, feature_table),
            plots=plots,
            on_progress=lambda news: update(f"Writing the report: {news}"),
        )
    _screen.note(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser.")

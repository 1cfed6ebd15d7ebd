"""`ngcn report`: write an HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngcn.cli import _screen
from ngcn.cli._errors import check_place, check_run


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file to write.", show_default="report.html in the run folder")
    ] = None,
    explain: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="The number of nodes to explain with neighbours and features, the least certain first.",
            show_default="200; fewer for large graphs",
        ),
    ] = None,
) -> None:
    """Write a page about a run: one HTML file that needs no network connection.

    Scores, learning curves, the weights of the towers, mistakes, a map of the nodes, and explanations of predictions.

    Example: [bold]ngcn report runs/cora-mixed[/bold]
    """
    check_run(run)
    if out:
        check_place(out)
    with _screen.busy("Loading") as update:
        from ngcn.report import write_report

        path = write_report(run, out, explain=explain, on_progress=lambda news: update(f"Writing the report: {news}"))
    _screen.note(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser.")

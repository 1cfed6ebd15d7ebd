"""Write the HTML file: template, style, scripts, and the data as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ngcn import checks
from ngcn.files import write_text
from ngcn.graph import Graph
from ngcn.report.gather import gather
from ngcn.report.page import as_json, render, static
from ngcn.runs import Run, open_run

SCRIPTS = ("dom.js", "charts.js", "map.js", "node.js", "main.js")  # joined in this order


def write_report(
    run: Run | Path | str,
    out: Path | str | None = None,
    *,
    explain: int | None = None,
    graph: Graph | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Write the page of a finished run and return its path.

    Args:
        run: the run or its folder.
        out: the file; ``report.html`` in the run folder if None.
        explain: the number of nodes to explain in full, the least certain first; 200 if None, fewer for large graphs.
        graph: the graph of the run; loaded again if None.
        on_progress: called with a short text when a new part begins.
    """
    run = open_run(run)
    path = checks.file_path("out", out) if out else run.folder / "report.html"
    _ = run.model().network  # raises an error for a baseline, before the graph is loaded
    data = gather(run, run.graph() if graph is None else graph, explain, on_progress or (lambda _: None))
    script = '"use strict";\n' + "\n".join(map(static, SCRIPTS))
    write_text(path, render("page.html", script, title=data["title"], data=as_json(data)))
    return path

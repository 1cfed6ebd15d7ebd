"""Write the HTML file: template, style, scripts, and the data as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ngcn import checks
from ngcn.errors import ConfigError
from ngcn.files import write_text
from ngcn.graph import Graph
from ngcn.model import Model
from ngcn.report.gather import gather
from ngcn.report.page import as_json, render, static
from ngcn.report.plots import write_plots
from ngcn.runs import Run, model_and_graph, open_run

SCRIPTS = ("dom.js", "charts.js", "map.js", "node.js", "main.js")  # joined in this order


def write_report(
    run: Run | Model | Path | str,
    out: Path | str | None = None,
    *,
    explain: int | None = None,
    graph: Graph | None = None,
    plots: Path | str | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Write the page of a finished run, or of a model on a graph, and return its path.

    Args:
        run: the run or its folder, whose best seed is shown; or a model, with its ``graph``.
        out: the file; if None, ``report.html`` in the run folder, or ``report-NAME.html`` for another graph.
        explain: the number of nodes to explain in full, new ones and the least certain first; 200 if None, fewer for
            large graphs.
        graph: the graph of the run, loaded again if None; or another one to use its model on, such as
            ``model.read_graph("new/")``. Scores are then those of its labelled nodes that the run was neither trained
            nor validated on; new nodes are marked and come first.
        plots: a folder for the figures as SVG and PNG.
        on_progress: called with a short text when a new part begins.

    Example:
        >>> import tempfile
        >>> import networkx
        >>> from ngcn import Config, Graph, train
        >>> club = Graph.from_networkx(networkx.karate_club_graph(), label="club")
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> result = train(club, Config(model="gcn", steps=2), folder=folder)
        >>> write_report(folder, explain=1, graph=club).name
        'report.html'
    """
    given = run if isinstance(run, Model) else open_run(run)
    if isinstance(given, Model) and out is None:
        raise ConfigError("A model is in no run folder, so the page needs a file; pass `out`.")
    path = checks.file_path("out", out) if out is not None else None
    folder = checks.file_path("plots", plots) if plots is not None else None
    _ = (
        given if isinstance(given, Model) else given.model()
    ).network  # an error for a baseline, before a graph is read
    model, graph = model_and_graph(given, graph)
    on_progress = on_progress or (lambda _: None)
    data = gather(model, graph, given if isinstance(given, Run) else None, explain, on_progress)
    if path is None and isinstance(given, Run):
        path = given.folder / (f"report-{graph.name}.html" if data["trained_on"] else "report.html")
    assert path is not None
    script = '"use strict";\n' + "\n".join(map(static, SCRIPTS))
    write_text(path, render("page.html", script, title=data["title"], data=as_json(data)))
    if folder:
        on_progress("drawing figures")
        folder.mkdir(parents=True, exist_ok=True)
        write_plots(data, folder)
    return path

"""Write the HTML file: template, style, scripts, and the data as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from ngcn import checks
from ngcn.files import write_text
from ngcn.graph import Graph
from ngcn.report.gather import gather
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
    write_text(path, render(data))
    return path


def render(data: dict[str, Any]) -> str:
    """The page as text. Its content security policy allows its own script and no loading of anything else."""
    from jinja2 import Environment, StrictUndefined

    def text(name: str) -> str:
        return (files("ngcn.report") / "static" / name).read_text(encoding="utf-8")

    style = text("page.css")
    script = '"use strict";\n' + "\n".join(map(text, SCRIPTS))
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(text("page.html"))
    return template.render(
        title=data["title"],
        style=style,
        script=script,
        data=as_json(data),
        policy=f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
    )


def as_json(data: dict[str, Any]) -> str:
    r"""JSON that is safe inside a script element: ``<`` is escaped, so that no ``</script>`` or ``<!--`` remains.

    Example:
        >>> as_json({"class": "</script>"})
        '{"class":"\\u003c/script>"}'
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

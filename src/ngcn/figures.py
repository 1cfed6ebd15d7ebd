"""Figures with matplotlib, which is imported when something is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ngcn.files import atomic

Drawing = Any  # a matplotlib Figure
# Okabe and Ito's colours, which are safe for colour-blind readers
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def panels(rows: int, columns: int, width: float = 3.4, height: float = 2.8, **more: Any) -> tuple[Drawing, Any]:
    """A drawing with a grid of panels."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = drawing.subplots(rows, columns, squeeze=False, **more)
    for panel in grid.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
        panel.set_axisbelow(True)
    return drawing, grid


def save_figure(drawing: Drawing, folder: Path, name: str) -> list[Path]:
    """Write a drawing as SVG and PNG. The same drawing gives the same bytes."""
    from matplotlib import rc_context

    paths = []
    for ending, how in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 160})):
        paths.append(folder / f"{name}.{ending}")
        with atomic(paths[-1]) as temporary, rc_context({"svg.hashsalt": "ngcn"}):
            drawing.savefig(temporary, format=ending, **how)
    return paths

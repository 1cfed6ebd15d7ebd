"""docs/results/performance.md: its figures, and its tables between their markers."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

COLORS = {"ngcn": "#0072B2", "PyG, linear first, CSR": "#E69F00", "PyG, SGConv towers": "#CC79A7", "floor": "#999999"}


DOCS = Path(__file__).parents[1] / "docs" / "results"


def put(name: str, text: str) -> None:
    """Replace what stands between the markers ``<!-- name -->`` and ``<!-- /name -->``."""
    page = DOCS / "performance.md"
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {name} -->")
    _, after = rest.split(f"<!-- /{name} -->")
    page.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}", encoding="utf-8")


def plot_steps(results: list[dict[str, Any]], path: Path) -> None:
    """Bars on a logarithmic axis: a group per graph, a bar per contestant, and the floor beside ours."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for panel, what in zip(panels, ("step", "evaluation"), strict=True):
        for place, result in enumerate(results):
            bars = {name: result["times"].get(f"{name}, {what}") for name in list(COLORS)[:3]}
            heights = {name: statistics.median(times) for name, times in bars.items() if times}
            if what == "step" and "floor" in result:
                heights["floor"] = sum(ms for _, ms in result["floor"].values())
            for name, height in heights.items():
                x = place + 0.2 * (list(COLORS).index(name) - 1.5)
                panel.bar(x, height, 0.18, color=COLORS[name], label=name if place == 0 else None)
                panel.text(x, height * 1.08, _short(height), ha="center", fontsize=7)
        panel.set(yscale="log", title="a training step" if what == "step" else "an evaluation", ylim=(1, None))
        panel.set_xticks(range(len(results)), [result["dataset"] for result in results])
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("milliseconds")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    panels[0].set_ylim(1, 10 * panels[0].get_ylim()[1])
    figure.savefig(path)


def _short(ms: float) -> str:
    """
    >>> _short(14.21), _short(6417.8), _short(21001.1)
    ('14', '6.4 s', '21 s')
    """
    return f"{ms:.2g}" if ms < 100 else f"{ms:.0f}" if ms < 1000 else f"{ms / 1000:.2g} s"


def plot_scaling(results: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Time and memory of a step against edges, K and r."""
    figure, panels = plt.subplots(2, 3, figsize=(10, 5.6), layout="constrained")
    for column, (what, points) in enumerate(results.items()):
        x = [point[what] for point in points]
        for panel, y, unit in ((panels[0, column], "ms", "ms a step"), (panels[1, column], "megabytes", "peak MB")):
            panel.plot(x, [point[y] for point in points], "o-", color=COLORS["ngcn"])
            panel.set(xlabel=what, ylabel=unit)
            panel.spines[["top", "right"]].set_visible(False)
            if what == "edges":
                panel.set(xscale="log", yscale="log")
            else:
                panel.set_ylim(0, 1.1 * max(point[y] for point in points))
    figure.savefig(path)

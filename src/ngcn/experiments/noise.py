"""The figure on missing features: accuracy on Cora while words are taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ngcn.experiments.cell import Cell
from ngcn.experiments.grid import Plan, setup
from ngcn.experiments.scores import NOT_RUN, Runs
from ngcn.experiments.section import Figure, Part, Table, draw_line, panels
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TITLE = "Missing features"
DATASET = "cora"
SEEDS = 10
TELLING = (0.0, 0.5, 0.9)  # shares that claims are judged by; all that a quick run has
ROWS = ("ngcn", "nsage", "dcnn", "gcn", "sage")  # with their default settings: K = 6, r = 4, attention


def shares(plan: Plan) -> tuple[float, ...]:
    return TELLING if plan.quick else tuple(tenth / 10 for tenth in range(11))


def group(model: str, share: float, plan: Plan) -> list[Cell]:
    """The seed draws what is removed as well, so that all models miss the same words."""
    return plan.cells(replace(setup(DATASET, model), removed=share), SEEDS)


def cells(plan: Plan) -> list[Cell]:
    if DATASET not in plan.datasets:
        return []
    return [one for model in reversed(ROWS) for share in shares(plan) for one in group(model, share, plan)]


def parts(store: Store, plan: Plan) -> list[Part]:
    found = {model: [Runs.of(store, group(model, share, plan)) for share in shares(plan)] for model in ROWS}
    rows = [
        [title_of(model), *(f"{runs.test:.1f}" if len(runs) else NOT_RUN for runs in line)]
        for model, line in found.items()
    ]
    header = ["removed", *map(percent, shares(plan))]
    said: list[Part] = [
        f"Cora, with a share of the words of every paper removed at random: test accuracy in %, mean over {SEEDS} "
        "runs when complete (bars: standard deviation), each with removals of its own that are the same for all "
        "models. Default settings (N-GCN and N-SAGE: K = 6, r = 4, attention). With all words gone nodes look the "
        "same, and get the same class, which the figure leaves out."
    ]
    if any(len(runs) for line in found.values() for runs in line[1:]):  # else there is nothing to see
        alt = "Test accuracy over the share of features removed, a line per model"
        said.append(Figure("noise", alt, lambda: _draw(found, shares(plan))))
    return [*said, Table("Cora with features removed", header, rows)]


def _draw(found: dict[str, list[Runs]], shares: Sequence[float]) -> Drawing:
    drawing, grid = panels(1, 1, width=6.4, height=4)
    panel = grid[0, 0]
    for number, (model, every) in enumerate(found.items()):
        # without 100 %, where all are the same: it would press what there is to see into the upper quarter
        line = [(100 * share, runs) for share, runs in zip(shares, every, strict=True) if len(runs) and share < 1]
        if line:
            draw_line(panel, [x for x, _ in line], [runs for _, runs in line], number, title_of(model))
    panel.set(xlim=(-3, 93), xlabel="features removed, %", ylabel="test accuracy, %", title="Cora")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False)
    return drawing

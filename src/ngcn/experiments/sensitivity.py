"""The figure of the sensitivity analysis: accuracy over K and r."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ngcn.experiments.cell import Cell
from ngcn.experiments.grid import CITATION, REPLICAS, STEPS, Plan, setup
from ngcn.experiments.scores import Runs, all_runs, chosen
from ngcn.experiments.section import COLORS, MARKERS, Figure, Part, draw_line, panels
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import dataset_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TITLE = "Sensitivity to K and r"
SEEDS = 20
QUICK_STEPS = (2, 6)


def groups(model: str, dataset: str, K: int, r: int, plan: Plan) -> list[list[Cell]]:
    """The cells of a point, per classifier. K = 1 is the paper's mixture of r GCNs: Â itself, no random walks."""
    powers = (1,) if K == 1 else tuple(range(K))
    return [
        plan.cells(setup(dataset, model, powers=powers, replicas=r, classifier=classifier), SEEDS)
        for classifier in ("fc", "attention")
    ]


def steps(plan: Plan) -> tuple[int, ...]:
    """K with random walks."""
    return QUICK_STEPS if plan.quick else STEPS


def panels_of(plan: Plan) -> list[tuple[str, str]]:
    return [(model, dataset) for model in ("ngcn", "nsage") for dataset in CITATION if dataset in plan.datasets]


def cells(plan: Plan) -> list[Cell]:
    points = product(REPLICAS, (1, *steps(plan)), panels_of(plan))
    return [one for r, K, panel in points for group in groups(*panel, K, r, plan) for one in group]


def runs_at(store: Store, model: str, dataset: str, K: int, r: int, plan: Plan) -> Runs | None:
    """The runs of a point with the classifier that validation prefers there; none before half of its seeds are done."""
    every = groups(model, dataset, K, r, plan)
    found = [runs for runs in all_runs(store, every) if 2 * len(runs) >= len(every[0])]
    return chosen(found) if found else None


def parts(store: Store, plan: Plan) -> list[Part]:
    return [
        "Mean test accuracy over seeds, with its standard deviation, for the classifier with the better mean "
        "validation accuracy at each point: attention, or fc where the mark is hollow. K = 1 is a mixture of r models "
        "on Â, without random walks. Every panel has a scale of its own.",
        Figure(
            "sensitivity",
            "Test accuracy over K, a line per r, for each model and dataset",
            lambda: _draw(store, plan),
        ),
    ]


def _draw(store: Store, plan: Plan) -> Drawing:
    drawing, grid = panels(2, len(panels_of(plan)) // 2, sharex=True)
    for panel, (model, dataset) in zip(grid.flat, panels_of(plan), strict=True):
        for number, r in enumerate(REPLICAS):
            every = [(K, runs_at(store, model, dataset, K, r, plan)) for K in (1, *steps(plan))]
            line = [(K + 0.08 * (number - 1), runs) for K, runs in every if runs]  # side by side
            if line:
                draw_line(panel, [x for x, _ in line], [runs for _, runs in line], number, f"r = {r}")
            for x, runs in line:
                if runs.setup.config.classifier == "fc":
                    panel.plot(x, runs.test, MARKERS[number], color=COLORS[number], mfc="white", zorder=3)
        if not panel.containers:
            panel.text(3.5, 0.5, "not run yet", ha="center", color="gray")
            panel.set_yticks([])
        panel.set(xlim=(0.6, 6.4), xticks=range(1, 7))
        panel.set_title(f"{title_of(model)} on {dataset_title(dataset)}", fontsize=10)
    for panel in grid[-1]:
        panel.set_xlabel("K")
    for panel in grid[:, 0]:
        panel.set_ylabel("test accuracy, %")
    drawn = {line.get_label(): line for panel in grid.flat for line in panel.containers}
    if drawn:
        lines = [drawn[label] for label in sorted(drawn)]
        drawing.legend(handles=lines, ncols=len(lines), loc="outside upper center", frameon=False, fontsize=9)
    return drawing

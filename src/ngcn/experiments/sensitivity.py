"""The figure of the sensitivity analysis: accuracy over K and r."""

from __future__ import annotations

from itertools import product

from ngcn.experiments.cell import CITATION, NETWORKS, REPLICAS, STEPS, Cell, Plan, setup
from ngcn.experiments.section import Figure, Part, Runs, all_runs, chosen, draw_line
from ngcn.experiments.store import Store
from ngcn.figures import COLORS, MARKERS, Drawing, panels
from ngcn.registry import title_of
from ngcn.text import dataset_title

TITLE = "Sensitivity to K and r"
SEEDS = 20


def groups(model: str, dataset: str, K: int, r: int, plan: Plan) -> list[list[Cell]]:
    """The cells of a point, by classifier. K = 1 is the paper's mixture of r models on Â, without random walks."""
    powers = (1,) if K == 1 else tuple(range(K))
    return [
        plan.cells(setup(dataset, model, powers=powers, replicas=r, classifier=classifier), SEEDS)
        for classifier in ("fc", "attention")
    ]


def steps(plan: Plan) -> tuple[int, ...]:
    """The values of K with random walks."""
    return (2, 6) if plan.quick else STEPS


def panels_of(plan: Plan) -> list[tuple[str, str]]:
    return [(model, dataset) for model in NETWORKS for dataset in CITATION if dataset in plan.datasets]


def cells(plan: Plan) -> list[Cell]:
    points = product(REPLICAS, (1, *steps(plan)), panels_of(plan))
    return [one for r, K, panel in points for group in groups(*panel, K, r, plan) for one in group]


def runs_at(store: Store, model: str, dataset: str, K: int, r: int, plan: Plan) -> Runs | None:
    """The runs of a point with the classifier chosen on validation; None until half of its seeds are finished."""
    cells = groups(model, dataset, K, r, plan)
    found = [runs for runs in all_runs(store, cells) if 2 * len(runs) >= len(cells[0])]
    return chosen(found) if found else None


def parts(store: Store, plan: Plan) -> list[Part]:
    alt = "Test accuracy over K, a line per r, for each model and dataset"
    return [
        "Mean and standard deviation of the test accuracy over seeds. Each point shows the classifier with the better "
        "mean validation accuracy: attention (filled marker) or fc (hollow marker). K = 1 is a mixture of r models "
        "on Â, without random walks. The panels have different scales.",
        Figure("sensitivity", alt, lambda: _draw(store, plan)),
    ]


def _draw(store: Store, plan: Plan) -> Drawing:
    drawing, grid = panels(2, len(panels_of(plan)) // 2, sharex=True)
    for panel, (model, dataset) in zip(grid.flat, panels_of(plan), strict=True):
        for number, r in enumerate(REPLICAS):
            runs_of = {K: runs_at(store, model, dataset, K, r, plan) for K in (1, *steps(plan))}
            offset = 0.08 * (number - 1)  # so that error bars do not overlap
            points = [(K + offset, runs) for K, runs in runs_of.items() if runs]
            draw_line(panel, points, number, f"r = {r}")
            for x, runs in points:
                if runs.setup.config.classifier == "fc":
                    panel.plot(x, runs.test, MARKERS[number], color=COLORS[number], mfc="white", zorder=3)
        if not panel.containers:
            panel.text(3.5, 0.5, "not trained yet", ha="center", color="gray")
            panel.set_yticks([])
        panel.set(xlim=(0.6, 6.4), xticks=range(1, 7))
        panel.set_title(f"{title_of(model)} on {dataset_title(dataset)}", fontsize=10)
    drawing.supxlabel("K", fontsize=10)
    drawing.supylabel("test accuracy, %", fontsize=10)
    drawn = {line.get_label(): line for panel in grid.flat for line in panel.containers}
    if drawn:
        handles = [drawn[label] for label in sorted(drawn)]
        drawing.legend(handles=handles, ncols=len(handles), loc="outside upper center", frameon=False, fontsize=9)
    return drawing

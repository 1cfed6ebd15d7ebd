"""Table 4: deeper GCN and SAGE, with the receptive field of N-GCN."""

from __future__ import annotations

from ngcn.experiments.cell import Cell
from ngcn.experiments.grid import Plan, setup
from ngcn.experiments.published import TABLE4
from ngcn.experiments.scores import NOT_RUN, Runs
from ngcn.experiments.section import Part, Table
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import dataset_title

TITLE = "Table 4: deeper models"
SEEDS = 20
HIDDEN = 64
LAYERS = (2, 3, 4)


def group(dataset: str, model: str, layers: int, plan: Plan) -> list[Cell]:
    return plan.cells(setup(dataset, model, hidden=HIDDEN, layers=layers), SEEDS)


def cells(plan: Plan) -> list[Cell]:
    rows = [row for row in TABLE4 if row[0] in plan.datasets]
    return [one for layers in LAYERS for row in rows for one in group(*row, layers, plan)]


def parts(store: Store, plan: Plan) -> list[Part]:
    rows = []
    for (dataset, model), published in TABLE4.items():
        if dataset not in plan.datasets:
            continue
        ours = [Runs.of(store, group(dataset, model, layers, plan)) for layers in LAYERS]
        rows += [
            [f"{dataset_title(dataset)}, {title_of(model)}: published", *(f"{score:.1f}" for score in published)],
            [
                "ours by the paper's rule",
                *(f"{100 * runs.best['test']:.1f}" if len(runs) else NOT_RUN for runs in ours),
            ],
            ["ours, mean", *map(str, ours)],
        ]
    return [
        f"GCN and SAGE with {HIDDEN} hidden units per layer and 2, 3 or 4 layers: test accuracy in %, {SEEDS} seeds "
        "when complete.",
        Table("Deeper GCN and SAGE", ["", "64×C", "64×64×C", "64×64×64×C"], rows),
    ]

"""Table 4: deeper GCN and SAGE, with the receptive field of N-GCN."""

from __future__ import annotations

from ngcn.experiments.cell import Cell, Plan, published_as, setup
from ngcn.experiments.section import NOT_RUN, Part, Runs, Table
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import dataset_title

TITLE = "Table 4: deeper models"
SEEDS = 20
HIDDEN = 64
LAYERS = (2, 3, 4)
PUBLISHED = {  # with 2, 3 and 4 layers
    ("citeseer", "gcn"): (69.9, 63.2, 65.9),
    ("citeseer", "sage"): (66.8, 66.0, 67.4),
    ("cora", "gcn"): (80.3, 80.0, 78.0),
    ("cora", "sage"): (76.1, 76.3, 75.7),
    ("pubmed", "gcn"): (76.2, 77.1, 78.1),
    ("pubmed", "sage"): (77.0, 77.6, 77.5),
    ("ppi", "gcn"): (46.0, 46.1, 46.6),
    ("ppi", "sage"): (65.8, 67.2, 65.0),
}


def group(dataset: str, model: str, layers: int, plan: Plan) -> list[Cell]:
    return plan.cells(setup(dataset, model, hidden=HIDDEN, layers=layers), SEEDS)


def rows(plan: Plan) -> list[tuple[str, str]]:
    return [(name, model) for name in plan.datasets for of, model in PUBLISHED if of == published_as(name)]


def cells(plan: Plan) -> list[Cell]:
    return [one for layers in LAYERS for row in rows(plan) for one in group(*row, layers, plan)]


def parts(store: Store, plan: Plan) -> list[Part]:
    lines = []
    for dataset, model in rows(plan):
        ours = [Runs.of(store, group(dataset, model, layers, plan)) for layers in LAYERS]
        lines += [
            [
                f"{dataset_title(dataset)}, {title_of(model)}: published",
                *map(str, PUBLISHED[published_as(dataset), model]),
            ],
            ["ours by the paper's rule", *(f"{100 * runs.best['test']:.1f}" if runs else NOT_RUN for runs in ours)],
            ["ours, mean", *map(str, ours)],
        ]
    return [
        f"GCN and SAGE with {HIDDEN} hidden units per layer and 2, 3 or 4 layers: test accuracy in %, {SEEDS} seeds "
        "when complete.",
        Table("Deeper GCN and SAGE", ["", "64×C", "64×64×C", "64×64×64×C"], lines),
    ]

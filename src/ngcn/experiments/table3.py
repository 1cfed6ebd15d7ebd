"""Table 3: Pubmed with few and with many labels."""

from __future__ import annotations

from typing import Any

from ngcn.experiments.cell import Cell
from ngcn.experiments.grid import Plan, setup
from ngcn.experiments.published import TABLE3
from ngcn.experiments.scores import Runs
from ngcn.experiments.section import Part, Table
from ngcn.experiments.store import Store
from ngcn.registry import title_of

TITLE = "Table 3: nodes per class"
SEEDS = 10
PER_CLASS = (5, 10, 20, 100)
# The paper does not state K and r; with these N-GCN has the best validation score of table 2 on Pubmed.
NETWORK = {"powers": 6, "replicas": 1}


def group(model: str, classifier: str, per_class: int, plan: Plan) -> list[Cell]:
    settings: dict[str, Any] = {"classifier": classifier, **NETWORK} if model in ("ngcn", "nsage") else {}
    return plan.cells(setup("pubmed", model, split=f"random:{per_class}", **settings), SEEDS)


def name(model: str, classifier: str) -> str:
    """The name of a row, with the classifier of N-GCN and N-SAGE.

    >>> name("ngcn", "fc"), name("dcnn", "fc")
    ('N-GCN, fc', 'DCNN')
    """
    return title_of(model) + (f", {classifier}" if model in ("ngcn", "nsage") else "")


def cells(plan: Plan) -> list[Cell]:
    if "pubmed" not in plan.datasets:
        return []
    return [one for per_class in PER_CLASS for row in TABLE3 for one in group(*row, per_class, plan)]


def parts(store: Store, plan: Plan) -> list[Part]:
    rows = []
    for (model, classifier), published in TABLE3.items():
        groups = [group(model, classifier, per_class, plan) for per_class in PER_CLASS]
        rows += [
            [name(model, classifier), *(str(Runs.of(store, group)) for group in groups)],
            ["published", *(f"{mean:.1f} ± {std:.1f}" for mean, std in published)],
        ]
    header = ["nodes per class", *map(str, PER_CLASS)]
    return [
        "Pubmed with 5, 10, 20 and 100 training nodes per class: test accuracy in %, mean ± standard deviation of "
        f"{SEEDS} random splits when complete, the same for all models. N-GCN and N-SAGE have K = {NETWORK['powers']}, "
        f"r = {NETWORK['replicas']}, the choice of validation for N-GCN in table 2; the paper states neither K and r "
        "nor the splits.",
        Table("Pubmed", header, rows),
    ]

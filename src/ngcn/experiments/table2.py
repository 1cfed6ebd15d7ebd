"""Table 2: every method on every dataset, configurations chosen on validation."""

from __future__ import annotations

from ngcn.experiments.cell import Cell, Setup
from ngcn.experiments.grid import STEPS, Plan, setup, sweep
from ngcn.experiments.published import TABLE2
from ngcn.experiments.scores import NOT_RUN, all_runs, chosen, difference, paper_rule
from ngcn.experiments.section import Part, Table
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import dataset_title

TITLE = "Table 2: node classification"
SEEDS = 20
OTHER_SEEDS = 10  # for the rows that the paper took from other papers
DETERMINISTIC = ("lp", "manireg")
QUICK = ("lp", "manireg", "ica", "gcn-kipf", "dcnn", "gcn", "sage", "ngcn", "nsage")


def configurations(model: str, dataset: str, quick: bool = False) -> list[Setup]:
    """The configurations that validation chooses from."""
    if model in ("ngcn", "nsage"):
        return sweep(dataset, model, quick)
    if model == "dcnn":
        return [setup(dataset, model, powers=K) for K in (STEPS[-1:] if quick else STEPS)]
    if model == "planetoid":
        inductive = setup(dataset, model, settings={"inductive": True, "pretraining": 100})
        return [inductive] if quick else [setup(dataset, model), inductive]
    return [setup(dataset, model)]


def groups(model: str, dataset: str, plan: Plan) -> list[list[Cell]]:
    """The cells of each configuration, one per seed."""
    if model in DETERMINISTIC:
        return [one.cells(1) for one in configurations(model, dataset)]
    seeds = SEEDS if model in ("dcnn", "gcn", "sage", "ngcn", "nsage") else OTHER_SEEDS
    return [plan.cells(one, seeds) for one in configurations(model, dataset, plan.quick)]


def models(dataset: str, plan: Plan) -> list[str]:
    """The rows of a dataset's table: the models for which the paper has a number."""
    return [model for model in TABLE2 if dataset in TABLE2[model] and (not plan.quick or model in QUICK)]


def cells(plan: Plan) -> list[Cell]:
    """Small models first, for early results."""
    rows = [(dataset, model) for dataset in plan.datasets for model in models(dataset, plan)]
    found = [cell for dataset, model in rows for group in groups(model, dataset, plan) for cell in group]
    return sorted(found, key=lambda cell: cell.setup.config.towers)


def parts(store: Store, plan: Plan) -> list[Part]:
    return [
        "**Paper's rule**: the test score of the run with the highest validation score, of all seeds of all "
        "configurations (N-GCN and N-SAGE: r in 1, 2, 4; K in 2 to 6; fc, attention, or attention with a loss per "
        "tower; DCNN: K in 2 to 6). Ties go to the configuration with the best mean validation score, then to the "
        "first seed. "
        "**Mean**: test score over the seeds of the configuration with the best mean validation score, shown under "
        "**chosen**; a configuration with less than half as many seeds as the others cannot be chosen. "
        "All in %; **Δ** is the difference from the published number. **Runs**: finished trainings, with the total if "
        "some are missing." + ("" if "ppi" in plan.datasets else " PPI is trained only if its files are available."),
        *(_table(store, plan, dataset) for dataset in plan.datasets),
    ]


def _table(store: Store, plan: Plan, dataset: str) -> Table:
    rows = []
    for model in models(dataset, plan):
        all_groups = groups(model, dataset, plan)
        found = all_runs(store, all_groups)
        published = TABLE2[model][dataset]
        finished, total = sum(map(len, found)), sum(map(len, all_groups))
        if not found:
            rows.append([_name(model), f"{published:.1f}", NOT_RUN, "", NOT_RUN, "", "", f"0/{total}"])
            continue
        best = paper_rule(found)
        mean = chosen(found)
        rows.append(
            [
                _name(model),
                f"{published:.1f}",
                f"{100 * best['test']:.1f}",
                difference(100 * best["test"], published),
                str(mean),
                difference(mean.test, published),
                describe(mean.setup),
                f"{finished}" if finished == total else f"{finished}/{total}",
            ]
        )
    header = ["", "published", "paper's rule", "Δ", "mean", "Δ", "chosen", "runs"]
    return Table(dataset_title(dataset), header, rows)


def row_of(cell: Cell) -> str:
    """The name of a cell's row: its model, with the recipe if that is not the paper's."""
    config = cell.setup.config
    return config.model if config.recipe == "paper" else f"{config.model}-{config.recipe}"


def _name(model: str) -> str:
    return {"gcn-kipf": "GCN (Kipf)", "sage-pool": "SAGE (pooling)"}.get(model) or title_of(model)


def describe(one: Setup) -> str:
    """A configuration in a few characters.

    >>> describe(setup("cora", "ngcn", powers=4, replicas=2, classifier="fc")), describe(setup("cora", "gcn"))
    ('K=4 r=2 fc', '')
    """
    config = one.config
    if config.model in ("ngcn", "nsage"):
        supervised = ", a loss per tower" if config.intermediate else ""
        return f"K={len(config.powers)} r={config.replicas} {config.classifier}{supervised}"
    if config.model == "dcnn":
        return f"K={len(config.powers)}"
    if config.model == "planetoid":
        return "inductive" if config.settings["inductive"] else "transductive"
    return ""

"""Table 2: every method on every dataset, configurations chosen on validation."""

from __future__ import annotations

from itertools import product

from ngcn.experiments.cell import NETWORKS, REPLICAS, STEPS, Cell, Plan, Setup, published_as, setup
from ngcn.experiments.section import NOT_RUN, Part, Table, all_runs, chosen, difference, paper_rule
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import dataset_title

TITLE = "Table 2: node classification"
SEEDS = 20
OTHER_SEEDS = 10  # for the rows that the paper took from other papers
DETERMINISTIC = ("lp", "manireg")
QUICK = ("lp", "manireg", "ica", "gcn-kipf", "dcnn", "gcn", "sage", "ngcn", "nsage")
PUBLISHED = {  # accuracy on Citeseer, Cora and Pubmed, micro-F1 on PPI
    "manireg": {"citeseer": 60.1, "cora": 59.5, "pubmed": 70.7},
    "semiemb": {"citeseer": 59.6, "cora": 59.0, "pubmed": 71.1},
    "lp": {"citeseer": 45.3, "cora": 68.0, "pubmed": 63.0},
    "deepwalk": {"citeseer": 43.2, "cora": 67.2, "pubmed": 65.3},
    "ica": {"citeseer": 69.1, "cora": 75.1, "pubmed": 73.9},
    "planetoid": {"citeseer": 64.7, "cora": 75.7, "pubmed": 77.2},
    "gcn-kipf": {"citeseer": 70.3, "cora": 81.5, "pubmed": 79.0},
    "sage-lstm": {"ppi": 61.2},
    "sage-pool": {"ppi": 60.0},
    "dcnn": {"citeseer": 71.1, "cora": 81.3, "pubmed": 79.3, "ppi": 44.0},
    "gcn": {"citeseer": 71.2, "cora": 81.0, "pubmed": 78.8, "ppi": 46.2},
    "sage": {"citeseer": 63.5, "cora": 77.4, "pubmed": 77.6, "ppi": 59.8},
    "ngcn": {"citeseer": 72.2, "cora": 83.0, "pubmed": 79.5, "ppi": 46.8},
    "nsage": {"citeseer": 71.0, "cora": 81.8, "pubmed": 79.4, "ppi": 65.0},
}


def configurations(model: str, dataset: str, quick: bool = False) -> list[Setup]:
    """The configurations that validation chooses from."""
    if model in NETWORKS and quick:  # the default of `ngcn train`, with half of its towers
        return [setup(dataset, model, powers=6, replicas=2, classifier="attention")]
    if model in NETWORKS:
        ways = [("fc", False), ("attention", False), ("attention", True)]  # classifier, a loss per tower
        return [
            setup(dataset, model, powers=K, replicas=r, classifier=classifier, intermediate=intermediate)
            for (classifier, intermediate), K, r in product(ways, STEPS, REPLICAS)
        ]
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
    seeds = SEEDS if model in ("dcnn", "gcn", "sage", *NETWORKS) else OTHER_SEEDS
    return [plan.cells(one, seeds) for one in configurations(model, dataset, plan.quick)]


def models(dataset: str, plan: Plan) -> list[str]:
    """The rows of a dataset's table: the models for which the paper has a number."""
    name = published_as(dataset)
    return [model for model in PUBLISHED if name in PUBLISHED[model] and (not plan.quick or model in QUICK)]


def cells(plan: Plan) -> list[Cell]:
    """Small models first, for early results."""
    rows = [(model, dataset) for dataset in plan.datasets for model in models(dataset, plan)]
    found = [cell for row in rows for group in groups(*row, plan) for cell in group]
    return sorted(found, key=lambda cell: cell.setup.config.towers)


def parts(store: Store, plan: Plan) -> list[Part]:
    header = ["", "published", "paper's rule", "Δ", "mean", "Δ", "chosen", "runs"]
    rows = {name: [_row(store, plan, name, model) for model in models(name, plan)] for name in plan.datasets}
    return [
        "**Paper's rule**: the test score of the run with the highest validation score, of all seeds of all "
        "configurations (N-GCN and N-SAGE: r in 1, 2, 4; K in 2 to 6; fc, attention, or attention with a loss per "
        "tower; DCNN: K in 2 to 6). Ties go to the configuration with the best mean validation score, then to the "
        "first seed. "
        "**Mean**: test score over the seeds of the configuration with the best mean validation score, shown under "
        "**chosen**; a configuration with less than half as many seeds as the others cannot be chosen. "
        "All in %; **Δ** is the difference from the published number. **Runs**: finished trainings, with the total if "
        "some are missing." + ("" if "ppi" in plan.datasets else " PPI is trained only if its files are available."),
        *(Table(dataset_title(dataset), header, rows[dataset]) for dataset in plan.datasets),
    ]


def _row(store: Store, plan: Plan, dataset: str, model: str) -> list[str]:
    name = {"gcn-kipf": "GCN (Kipf)", "sage-pool": "SAGE (pooling)"}.get(model) or title_of(model)
    cells, published = groups(model, dataset, plan), PUBLISHED[model][published_as(dataset)]
    found = all_runs(store, cells)
    finished, total = sum(map(len, found)), sum(map(len, cells))
    runs = f"{finished}" if finished == total else f"{finished}/{total}"
    if not found:
        return [name, f"{published}", NOT_RUN, "", NOT_RUN, "", "", runs]
    best, mean = 100 * paper_rule(found)["test"], chosen(found)
    scores = [f"{best:.1f}", difference(best, published), str(mean), difference(mean.test, published)]
    return [name, f"{published}", *scores, describe(mean.setup), runs]


def row_of(cell: Cell) -> str:
    """The name of a cell's row: its model, with the recipe if that is not the paper's."""
    config = cell.setup.config
    return config.model if config.recipe in ("paper", None) else f"{config.model}-{config.recipe}"


def describe(one: Setup) -> str:
    """
    >>> describe(setup("cora", "ngcn", powers=4, replicas=2, classifier="fc")), describe(setup("cora", "gcn"))
    ('K=4 r=2 fc', '')
    """
    config = one.config
    if config.model in NETWORKS:
        supervised = ", a loss per tower" if config.intermediate else ""
        return f"K={len(config.powers)} r={config.replicas} {config.classifier}{supervised}"
    if config.model == "dcnn":
        return f"K={len(config.powers)}"
    if config.model == "planetoid":
        return "inductive" if config.settings["inductive"] else "transductive"
    return ""

"""How long cells will take: a rough count of the work, put right by the cells that are done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from ngcn.data.catalog import DATASETS
from ngcn.experiments.cell import Cell
from ngcn.experiments.store import Store

NON_ZEROS = {"cora": 49_216, "citeseer": 105_165, "pubmed": 988_031}  # of the features
# Seconds of a step on one core (AMD EPYC, AVX2): as such, and per million multiplications
OVERHEAD, PER_MILLION = 0.0025, 0.0004
SAGE = 1.75  # times as much work as GCN: neighbours and the node itself
BASELINE_SECONDS = {  # of a seed on Cora; the others by the number of their nodes
    "lp": 0.2,
    "manireg": 0.3,
    "semiemb": 5.0,
    "deepwalk": 11.0,
    "ica": 1.1,
    "planetoid": 20.0,
    "sage-lstm": 35.0,
    "sage-pool": 9.0,
}


def rough_seconds(cell: Cell) -> float:
    """On a machine like the one that the constants were measured on."""
    config = cell.setup.config
    dataset = DATASETS[config.dataset]
    if config.is_baseline:
        return BASELINE_SECONDS[config.model] * dataset.nodes / DATASETS["cora"].nodes
    non_zeros = NON_ZEROS.get(config.dataset, dataset.nodes * dataset.features)
    towers = len(config.powers) * config.replicas
    columns = config.hidden * (config.layers - 1) + dataset.classes
    multiply = non_zeros * towers * config.hidden
    walk = 2 * dataset.edges * sum(config.powers) * config.replicas * columns
    dense = dataset.nodes * towers * config.hidden * columns
    millions = (multiply + walk + dense) * (SAGE if "sage" in config.model else 1) / 1e6
    return config.steps * (OVERHEAD + PER_MILLION * millions)


def duration(seconds: float) -> str:
    """
    >>> duration(40), duration(400), duration(40_000)
    ('40 s', '7 min', '11.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def seconds(cells: Iterable[Cell], store: Store, seen: Iterable[Cell] = ()) -> float:
    """Of one core, for ``cells``, put right by what the cells ``seen`` that ``store`` has took: those of the same model
    and dataset where there are any, else all of them."""
    ratios = defaultdict(list)
    for cell in seen:
        if outcome := store.get(cell):
            for kind in (_kind(cell), "any"):
                ratios[kind].append(outcome["seconds"] / rough_seconds(cell))
    factors = {kind: median(each) for kind, each in ratios.items()}
    return sum(rough_seconds(cell) * factors.get(_kind(cell), factors.get("any", 1.0)) for cell in cells)


def _kind(cell: Cell) -> tuple[str, ...]:
    config = cell.setup.config
    return config.model, config.recipe, config.dataset

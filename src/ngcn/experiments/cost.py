"""Estimates of training time: a rough count of the operations, corrected by the measured times of finished cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from ngcn.data.catalog import DATASETS
from ngcn.experiments.cell import Cell
from ngcn.experiments.store import Store
from ngcn.text import count

NON_ZEROS = {"cora": 49_216, "citeseer": 105_165, "pubmed": 988_031}  # of the features
# Seconds per step on one core (AMD EPYC, AVX2): a constant, and a cost per million multiplications
OVERHEAD, PER_MILLION = 0.0025, 0.0004
SAGE = 1.75  # work relative to GCN: neighbours and the node itself
# One seed on Cora; proportional to the number of nodes elsewhere
BASELINE_SECONDS = {"lp": 0.2, "manireg": 0.3, "semiemb": 5.0, "deepwalk": 11.0, "ica": 1.1, "planetoid": 20.0}
BASELINE_SECONDS |= {"sage-lstm": 35.0, "sage-pool": 9.0}


def rough_seconds(cell: Cell) -> float:
    """The estimate for the machine on which the constants were measured."""
    config = cell.setup.config
    dataset = DATASETS[config.dataset]
    if config.is_baseline:
        return BASELINE_SECONDS[config.model] * dataset.nodes / DATASETS["cora"].nodes
    non_zeros = NON_ZEROS.get(config.dataset, dataset.nodes * dataset.features)
    width = config.hidden * (config.layers - 1) + dataset.classes
    multiply = non_zeros * config.towers * config.hidden
    walk = 2 * dataset.edges * sum(config.powers) * config.replicas * width
    dense = dataset.nodes * config.towers * config.hidden * width
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


class Estimate:
    """Training times as text: :func:`rough_seconds`, corrected by the measured times of the ``cells`` in the store. The
    correction is per model and dataset; if none is measured, that of all models is used."""

    def __init__(self, store: Store, cells: Iterable[Cell], cores: int) -> None:
        self.cores = cores
        ratios = defaultdict(list)
        for cell in cells:
            if outcome := store.get(cell):
                for kind in (_kind(cell), ()):
                    ratios[kind].append(outcome["seconds"] / rough_seconds(cell))
        self._factors = {kind: median(each) for kind, each in ratios.items()}

    def __call__(self, cells: Iterable[Cell]) -> str:
        all_models = self._factors.get((), 1.0)
        seconds = sum(rough_seconds(cell) * self._factors.get(_kind(cell), all_models) for cell in cells)
        return f"{duration(seconds / self.cores)} on {count(self.cores, 'core')}"


def _kind(cell: Cell) -> tuple[str, ...]:
    config = cell.setup.config
    return config.model, config.recipe, config.dataset

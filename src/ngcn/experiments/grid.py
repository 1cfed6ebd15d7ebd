"""The configurations that the paper trains, and how many of them a plan asks for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from ngcn.config import Config
from ngcn.experiments.cell import Cell, Setup

DATASETS = ("citeseer", "cora", "pubmed", "ppi")  # in the order of the paper's table
CITATION = DATASETS[:3]
STEPS = (2, 3, 4, 5, 6)  # K: powers 0 to K-1
REPLICAS = (1, 2, 4)  # r
QUICK_SEEDS = 3
QUICK = {"powers": 6, "replicas": 2, "classifier": "attention"}  # the default of `ngcn train`, with half of its towers


@dataclass(frozen=True)
class Plan:
    """How much to compute: which datasets, how many seeds (the paper's number if None), and whether a taste will do."""

    datasets: tuple[str, ...] = CITATION
    seeds: int | None = None
    quick: bool = False

    def cells(self, setup: Setup, seeds: int) -> list[Cell]:
        """A cell for each seed of the plan; ``seeds`` is what the paper has."""
        return setup.cells(self.seeds or (QUICK_SEEDS if self.quick else seeds))


def setup(dataset: str, model: str, **settings: Any) -> Setup:
    return Setup(Config(dataset=dataset, model=model, **settings))


def sweep(dataset: str, model: str, quick: bool = False) -> list[Setup]:
    """N-GCN or N-SAGE over K, r and the classifier, attention with and without a loss for each tower; quickly, a
    single one."""
    if quick:
        return [setup(dataset, model, **QUICK)]
    ways = [("fc", False), ("attention", False), ("attention", True)]
    return [
        setup(dataset, model, powers=K, replicas=r, classifier=classifier, intermediate=intermediate)
        for (classifier, intermediate), K, r in product(ways, STEPS, REPLICAS)
    ]

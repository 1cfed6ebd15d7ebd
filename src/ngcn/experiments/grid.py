"""The configurations that the paper trains, and the plan that selects among them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from ngcn.config import Config
from ngcn.experiments.cell import Cell, Setup

DATASETS = ("citeseer", "cora", "pubmed", "ppi")  # in the order of the paper's table
CITATION = DATASETS[:3]
NETWORKS = ("ngcn", "nsage")  # the models with K, r and a choice of classifier
STEPS = (2, 3, 4, 5, 6)  # K: powers 0 to K-1
REPLICAS = (1, 2, 4)  # r
QUICK_SEEDS = 3
QUICK = {"powers": 6, "replicas": 2, "classifier": "attention"}  # the default of `ngcn train`, with half of its towers


@dataclass(frozen=True)
class Plan:
    """What to train: datasets, seeds per configuration (the paper's number if None); quick takes few configurations."""

    datasets: tuple[str, ...] = CITATION
    seeds: int | None = None
    quick: bool = False

    def cells(self, setup: Setup, seeds: int) -> list[Cell]:
        """A cell for each seed of the plan; ``seeds`` is the paper's number."""
        return setup.cells(self.seeds or (QUICK_SEEDS if self.quick else seeds))


def setup(dataset: str, model: str, **settings: Any) -> Setup:
    return Setup(Config(dataset=dataset, model=model, **settings))


def sweep(dataset: str, model: str, quick: bool = False) -> list[Setup]:
    """N-GCN or N-SAGE for all K, r and classifiers, attention with and without a loss per tower; one if quick."""
    if quick:
        return [setup(dataset, model, **QUICK)]
    ways = [("fc", False), ("attention", False), ("attention", True)]
    return [
        setup(dataset, model, powers=K, replicas=r, classifier=classifier, intermediate=intermediate)
        for (classifier, intermediate), K, r in product(ways, STEPS, REPLICAS)
    ]

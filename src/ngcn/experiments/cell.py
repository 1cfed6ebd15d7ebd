"""`Cell`: one training of an experiment; `Setup`: the configuration that its seeds share; `Plan`: what to train."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ngcn.config import Config
from ngcn.graph import Graph, load_dataset
from ngcn.report.project import hidden_layer, project
from ngcn.training import fit
from ngcn.version import __version__

Outcome = dict[str, Any]  # the stored result of a cell: scores, best step, seconds, scale weights
DATASETS = ("citeseer", "cora", "pubmed", "ppi")  # in the order of the paper's table
CITATION = DATASETS[:3]
REBUILT = "ppi-rebuilt"  # takes the place of PPI in tables 2 and 4 where it is asked for by name
NETWORKS = ("ngcn", "nsage")  # the models with K, r and a choice of classifier
STEPS = (2, 3, 4, 5, 6)  # K: powers 0 to K-1
REPLICAS = (1, 2, 4)  # r
QUICK_SEEDS = 3

# The defaults when the first cells were stored, where they are others now: the key of a cell leaves them out
_OFF = dict.fromkeys(("bias", "shared_mask", "balance", "refit"), False)
_FULL = {"batch": "auto", "walks": 8, "batch_size": 512}
DEFAULTS = {"model": "ngcn", "recipe": "paper", "drop_nodes": 0.0, **_FULL, **_OFF}

_load = lru_cache(maxsize=4)(load_dataset)


@dataclass(frozen=True)
class Setup:
    """A configuration to be trained with several seeds.

    Example:
        >>> [cell.name for cell in setup("cora", "gcn").cells(2)]
        ['cora-gcn-seed0-197c86bdad', 'cora-gcn-seed1-ddf54510b9']
    """

    config: Config  # its seed is ignored
    removed: float = 0.0  # the share of the non-zero features to remove at random before training
    draws_map: bool = False  # also store the hidden layer of every node, in two dimensions

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything but the seed that determines the outcome. Settings at their default are left out, so that a new
        setting of `Config` does not change the keys of stored cells."""
        free = [f for f in fields(Config) if f.name not in ("dataset", "seed", "seeds")]
        values = {f.name: (getattr(self.config, f.name), DEFAULTS.get(f.name, f.default)) for f in free}
        given = {name: value for name, (value, default) in values.items() if value not in (default, None, {})}
        own = {"removed": self.removed, "map": self.draws_map}
        return {"dataset": self.config.dataset, **given, **{name: value for name, value in own.items() if value}}

    def cells(self, seeds: int) -> list[Cell]:
        """The seeds 0, 1, ..."""
        return [Cell(self, seed) for seed in range(seeds)]


def setup(dataset: str, model: str, removed: float = 0.0, draws_map: bool = False, **settings: Any) -> Setup:
    """A configuration as the paper trains it, unless the settings name another recipe."""
    if not Config(model=model).is_baseline:
        settings = {"recipe": "paper", **settings}
    return Setup(Config(dataset=dataset, model=model, **settings), removed, draws_map)


@dataclass(frozen=True)
class Plan:
    """What to train: datasets, seeds per configuration (the paper's number if None); quick takes few configurations."""

    datasets: tuple[str, ...] = CITATION
    seeds: int | None = None
    quick: bool = False

    def cells(self, setup: Setup, seeds: int) -> list[Cell]:
        """A cell for each seed of the plan; ``seeds`` is the paper's number."""
        return setup.cells(self.seeds or (QUICK_SEEDS if self.quick else seeds))


@dataclass(frozen=True)
class Cell:
    """One seed of one configuration. The seed also draws the random split and the removed features.

    Example:
        >>> cell = Cell(setup("cora", "gcn", steps=5), seed=0)
        >>> sorted(cell.run())
        ['best_step', 'metric', 'scale_weights', 'seconds', 'steps', 'test', 'val', 'version']
    """

    setup: Setup
    seed: int

    @cached_property
    def key(self) -> str:
        return key_of(self.setup.settings, self.seed)

    @property
    def name(self) -> str:
        """The name of its file: a readable part, then the beginning of the key."""
        return f"{self.setup.config.name.replace('-paper', '', 1)}-seed{self.seed}-{self.key[:10]}"

    def run(self, folder: Path | None = None) -> Outcome:
        """Train on one thread. Checkpoints go to ``folder``."""
        torch.set_num_threads(1)
        config = self.setup.config
        graph = _load(config.dataset, split=config.split, seed=self.seed if config.split.startswith("random") else 0)
        if self.setup.removed:
            graph = remove_features(graph, self.setup.removed, self.seed)
        started = time.process_time()  # CPU time: other trainings may share the core
        checkpoint = folder / "checkpoint.safetensors" if folder else None
        result = fit(graph, config, self.seed, checkpoint=checkpoint)
        outcome = {
            "metric": result.metric,
            "val": round(result.val, 6),
            "test": None if result.test is None else round(result.test, 6),
            "best_step": result.best_step,
            "steps": result.steps,
            "seconds": round(time.process_time() - started, 2),
            "scale_weights": result.scale_weights and [round(weight, 4) for weight in result.scale_weights],
            "version": __version__,
        }
        if self.setup.draws_map:  # two coordinates per node, as in the paper's t-SNE figure
            network = result.model.network
            with torch.no_grad():
                Z = network.towers(*result.model.inputs(graph), torch.arange(graph.nodes))
            outcome["map"] = project(hidden_layer(network, Z)[0]).tolist()
        return outcome


def published_as(dataset: str) -> str:
    """The dataset whose published numbers stand next to ours."""
    return "ppi" if dataset == REBUILT else dataset


def key_of(settings: dict[str, Any], seed: int) -> str:
    """The key of a cell: a hash of everything that determines its outcome."""
    return sha256(json.dumps({**settings, "seed": seed}, sort_keys=True).encode()).hexdigest()


def remove_features(graph: Graph, share: float, seed: int) -> Graph:
    """Set each non-zero feature to 0 with probability ``share``, independently; the seed draws which."""
    features = sp.csr_array(graph.features, copy=True)
    features.data[np.random.default_rng(seed).random(features.nnz) < share] = 0
    features.eliminate_zeros()
    return replace(graph, features=features)

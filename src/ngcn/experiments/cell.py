"""`Cell`: one training among the thousands behind the paper's tables; `Setup`: what its seeds have in common."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ngcn import __version__
from ngcn.config import Config
from ngcn.graph import Graph, load_dataset
from ngcn.model import Model
from ngcn.report.project import hidden_layer, project
from ngcn.training import Step, fit

Outcome = dict[str, Any]  # what is kept of a cell: scores, best step, seconds, scale weights


@dataclass(frozen=True)
class Setup:
    """A configuration to be trained with several seeds.

    Args:
        config: the settings; its seed does not count.
        removed: the share of the features' non-zeros that are taken away at random before training.
        draws_map: whether the outcome has the hidden layer of every node in two dimensions, too.

    Example:
        >>> [cell.name for cell in Setup(Config(model="gcn")).cells(2)]
        ['cora-gcn-seed0-197c86bdad', 'cora-gcn-seed1-ddf54510b9']
    """

    config: Config
    removed: float = 0.0
    draws_map: bool = False

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What determines the outcome but for the seed. Settings at their default are left out, so that a setting
        that does not exist yet will not make a cell another one."""
        every = [
            (f, getattr(self.config, f.name)) for f in fields(Config) if f.name not in ("dataset", "seed", "seeds")
        ]
        given = {f.name: value for f, value in every if value != f.default and value != {}}
        given |= {"removed": self.removed} if self.removed else {}
        given |= {"map": True} if self.draws_map else {}
        return {"dataset": self.config.dataset, **given}

    def cells(self, seeds: int) -> list[Cell]:
        """The seeds 0, 1, ..."""
        return [Cell(self, seed) for seed in range(seeds)]


@dataclass(frozen=True)
class Cell:
    """One initialisation of one configuration. The seed draws a random split, and what is removed, too.

    Example:
        >>> cell = Cell(Setup(Config(model="gcn", steps=5)), seed=0)
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
        """What its file is called: readable to begin with, unique in the end."""
        return f"{self.setup.config.name}-seed{self.seed}-{self.key[:10]}"

    def run(self, folder: Path | None = None, on_step: Callable[[Step], None] | None = None) -> Outcome:
        """Train it, on one thread; ``folder`` is for the checkpoint that a killed process goes on from, and ``on_step``
        is called after every step, as in :func:`~ngcn.training.train`."""
        torch.set_num_threads(1)
        config = self.setup.config
        graph = _load(config.dataset, config.split, self.seed if config.split.startswith("random") else 0)
        if self.setup.removed:
            graph = remove_features(graph, self.setup.removed, self.seed)
        started = time.process_time()  # not the clock, which runs on while other trainings have the core
        checkpoint = folder / "checkpoint.safetensors" if folder else None
        result = fit(graph, config, self.seed, checkpoint=checkpoint, on_step=on_step)
        weights = result.scale_weights
        outcome = {
            "metric": result.metric,
            "val": round(result.val, 6),
            "test": None if result.test is None else round(result.test, 6),
            "best_step": result.best_step,
            "steps": result.steps,
            "seconds": round(time.process_time() - started, 2),
            "scale_weights": None if weights is None else [round(weight, 4) for weight in weights],
            "version": __version__,
        }
        if self.setup.draws_map:
            outcome["map"] = _map(graph, result.model)
        return outcome


def key_of(settings: dict[str, Any], seed: int) -> str:
    """The name of a cell for machines: a hash of all that determines it."""
    return sha256(json.dumps({**settings, "seed": seed}, sort_keys=True).encode()).hexdigest()


def remove_features(graph: Graph, share: float, seed: int) -> Graph:
    """The graph without a ``share`` of the non-zeros of its features, as if authors had left out words at random.

    Each is removed with that probability, for itself; the same seed removes the same.
    """
    features = sp.csr_array(graph.features, copy=True)
    gone = np.random.default_rng(seed).random(features.nnz) < share
    features.data[gone] = 0
    features.eliminate_zeros()
    return replace(graph, features=features)


@lru_cache(maxsize=4)
def _load(dataset: str, split: str, seed: int) -> Graph:
    return load_dataset(dataset, split=split, seed=seed)


def _map(graph: Graph, model: Model) -> list[list[int]]:
    """Two coordinates per node, as in the paper's t-SNE figure."""
    with torch.no_grad():
        Z = model.network.towers(*model.inputs(graph), torch.arange(graph.nodes))
    return project(hidden_layer(model.network, Z)[0]).tolist()

"""A baseline where a network would be trained: one step, and what it says of every node in the place of weights."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngcn.baselines import BASELINES
from ngcn.baselines.predictions import prediction_network
from ngcn.graph import Graph
from ngcn.training.config import Config, ConfigError
from ngcn.training.metrics import metric, scores
from ngcn.training.objective import loss
from ngcn.training.run import Result, write_seed
from ngcn.training.setup import prepare


def check_baseline(graph: Graph, config: Config) -> None:
    if graph.multilabel and not BASELINES[config.model].multilabel:
        able = [name for name, baseline in BASELINES.items() if baseline.multilabel]
        raise ConfigError(
            f"{config.model} gives a node one class, but those of {graph.name!r} have several labels; "
            f"use {', '.join(['a network', *able])}."
        )


def fit_baseline(graph: Graph, config: Config, seed: int, folder: Path | None = None) -> Result:
    """Fit the baseline of ``config`` with ``seed``, and write it to ``folder`` as a trained network would be."""
    started = time.monotonic()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        given = replace(graph, features=prepare(graph, config)(graph.features))
        baseline = BASELINES[config.model](**config.settings)
        baseline.fit(given, seed)
        chances = baseline.predict_proba(given)
    seconds = time.monotonic() - started

    network: Any = prediction_network(graph)
    network.graph_models.probabilities.copy_(torch.from_numpy(np.asarray(chances, dtype=np.float32)))
    network.eval()
    found, losses = {}, {}
    for split in ("train", "val", "test"):
        rows = getattr(graph, split).nonzero()[0]
        logits = network.graph_models(None, None, torch.from_numpy(rows))[:, 0]
        labels = torch.from_numpy(graph.labels[rows])
        found[split] = scores(logits, labels) if len(rows) else {}
        losses[split] = loss(logits, labels).item() if len(rows) else 0.0
    result = Result(
        seed=seed,
        metric=metric(graph),
        val_scores=found["val"],
        test_scores=found["test"],
        best_step=1,
        steps=1,
        seconds=round(seconds, 3),
        status="complete",
        stopped="A baseline is fitted in one step.",
        scale_weights=None,
        history={"loss": [losses["train"]], "val_loss": [losses["val"]], "val": [found["val"][metric(graph)]]},
        network=network,
    )
    if folder:
        write_seed(folder, result)
    return result

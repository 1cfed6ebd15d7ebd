"""Training a baseline: one step, and a table of probabilities in place of a network."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch

from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.model import Card, FittedBaseline
from ngcn.registry import MODELS, baseline_names, load
from ngcn.scoring import cross_entropy, metric_of
from ngcn.training.result import Result


def fit_baseline(graph: Graph, config: Config, seed: int) -> Result:
    """Fit the baseline that the config names."""
    kind = load(MODELS[config.model].baseline)
    if graph.multilabel and not kind.multilabel:
        able = [name for name in baseline_names() if load(MODELS[name].baseline).multilabel]
        raise ConfigError(
            f"{config.model} predicts one class per node, but the nodes of {graph.name!r} have several labels; use "
            f"{', '.join(['a network', *able])}."
        )
    started = time.monotonic()
    card = Card.of(graph, config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        prepared = replace(graph, features=card.preparation(graph.features, graph.adjacency))
        baseline = kind(**config.settings)
        baseline.fit(prepared, seed)
        table = torch.from_numpy(np.asarray(baseline.predict_proba(prepared), dtype=np.float32))
    seconds = time.monotonic() - started

    model = FittedBaseline(table, config, card)
    losses = []
    for split in ("train", "val"):
        rows = getattr(graph, split).nonzero()[0]
        losses.append(cross_entropy(model.logits(graph, rows), torch.from_numpy(graph.labels[rows])).item())
    val = model.evaluate(graph, "val")["val"][metric_of(graph.multilabel)]
    return Result.of(
        model,
        graph,
        [(losses[0], losses[1], val)],
        seed=seed,
        best_step=1,
        steps=1,
        seconds=round(seconds, 3),
        status="complete",
        stopped="A baseline is fitted in one step.",
    )

"""`Result`: what training returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

import torch
from torch import Tensor

from ngcn.graph import Graph
from ngcn.model import Model
from ngcn.nn import Network
from ngcn.nn.network import group_title
from ngcn.scoring import metric_of, probabilities, score

HISTORY = ("loss", "val_loss", "val")  # what is recorded of every step


@dataclass(frozen=True)
class Result:
    """A trained model, its scores, and how training went.

    ``val`` and ``test`` are the score named ``metric``, from 0 to 1; without test nodes ``test`` is None, and without
    validation nodes ``val`` is NaN. ``status`` is complete, early or diverged; ``stopped`` says the same in a sentence.
    ``towers`` says of the towers of each power, or of each kind and power, how much they count and how good they are by
    themselves, see :func:`tower_table`; None where towers have no weights, and for runs before 0.3.0. ``history`` has
    the loss, the validation loss and the validation score of every step. ``held_out_scores`` are those of
    the validation nodes without optimism: each half of them is scored with the steps, the weights and the calibration
    that the other half chooses. They are empty for recipes that do not choose twice, such as paper.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=2))
        >>> result.metric, result.steps, result.status, sorted(result.history)
        ('accuracy', 2, 'complete', ['loss', 'val', 'val_loss'])
        >>> result.test == result.test_scores["accuracy"]
        True
    """

    seed: int
    metric: str
    val_scores: dict[str, float]
    test_scores: dict[str, float]
    best_step: int
    steps: int
    seconds: float
    status: str
    stopped: str
    scale_weights: list[float] | None
    history: dict[str, list[float]]
    model: Model
    towers: list[dict[str, Any]] | None = None
    held_out_scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, graph: Graph, history: Sequence[tuple[float, float, float]], **facts: Any) -> Result:
        """The result of a training that is over. Evaluates the model on the validation and test nodes."""
        found, weights = model.evaluate(graph, "val", "test"), model.scale_weights()
        return cls(
            metric=model.config.metric or metric_of(graph.multilabel),
            val_scores=found["val"],
            test_scores=found["test"],
            scale_weights=None if weights is None else list(weights.values()),
            history=dict(zip(HISTORY, map(list, zip(*history, strict=True)), strict=True)),
            model=model,
            **facts,
        )

    @property
    def val(self) -> float:
        return self.val_scores.get(self.metric, nan)

    @property
    def test(self) -> float | None:
        return self.test_scores.get(self.metric)

    def __repr__(self) -> str:
        test = "none" if self.test is None else f"{self.test:.4f}"
        return f"Result(seed={self.seed}, {self.metric}: val={self.val:.4f}, test={test}, best_step={self.best_step})"


def tower_table(network: Network, Z: Tensor, labels: Tensor, metric: str) -> list[dict[str, Any]] | None:
    """For each group of towers: its name, graph model, operator and power, the score of its own predictions, and its
    weight. None for a single group, and where towers have no weights.

    Args:
        Z: ``(nodes, towers, width)`` the outputs of all towers for the validation nodes.
    """
    m, groups = network.classifier.weights(), network.groups()
    if m is None or len(groups) < 2:
        return None
    found = []
    for group, towers in groups.items():
        p = torch.einsum("t,ntc->nc", m[towers] / m[towers].sum(), probabilities(Z[:, towers], network.multilabel))
        p = p.clamp(1e-7, 1 - 1e-7)
        value = score(metric, p.logit() if network.multilabel else p.log(), labels)
        name = network.tower_names[towers[0]]._asdict()
        found.append({"towers": group_title(group), **name, "val": value, "weight": float(m[towers].sum())})
    return found

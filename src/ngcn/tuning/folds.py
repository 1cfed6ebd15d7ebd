"""`cross_validate`: train as many times as there are folds; each fold is scored once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ngcn import checks
from ngcn.config import Config, need_config
from ngcn.errors import ConfigError, GraphError
from ngcn.graph import Graph, need_graph
from ngcn.scoring import metric_of
from ngcn.text import mean_std, score_text
from ngcn.training import Result, fit


@dataclass(frozen=True)
class CrossValidation:
    """The scores of :func:`cross_validate`.

    Attributes:
        metric: the name of the score.
        scores: the score of each fold.
        all_scores: all scores of each fold, by name.

    Example:
        >>> found = CrossValidation("accuracy", scores=(0.8, 0.9), all_scores=({}, {}))
        >>> print(f"{found.mean:.2f} ± {found.std:.2f}")
        0.85 ± 0.07
    """

    metric: str
    scores: tuple[float, ...]
    all_scores: tuple[dict[str, float], ...]

    @property
    def mean(self) -> float:
        return mean_std(self.scores)[0]

    @property
    def std(self) -> float:
        """The sample standard deviation over folds."""
        return mean_std(self.scores)[1]

    def __str__(self) -> str:
        shown = f"{score_text(self.metric, self.mean)} ± {score_text(self.metric, self.std)}"
        return f"{self.metric} {shown} over {len(self.scores)} folds"


def cross_validate(
    graph: Graph,
    config: Config | None = None,
    folds: int = 5,
    *,
    nodes: np.ndarray | None = None,
    on_fold: Callable[[int, Result], None] | None = None,
) -> CrossValidation:
    """Cross-validate: each fold of the labelled nodes is tested once, with a model that did not see its labels.

    For each fold, the next fold is for validation, and the others train. Edges and features of all nodes are known.

    Args:
        graph: the graph; its split is not used, but its test nodes are left out.
        config: the settings.
        folds: the number of folds, 3 or more. With one label per node, every class is spread evenly over them.
        nodes: ``(nodes,)`` mask of the nodes to divide; all labelled nodes but the test nodes if None.
        on_fold: called with the number of a fold, from 0, and its result.

    Example:
        >>> from ngcn import load_dataset
        >>> found = cross_validate(load_dataset("cora"), Config(model="gcn", steps=40), folds=3)
        >>> len(found.scores), found.mean > 0.5
        (3, True)
    """
    need_graph(graph)
    config = need_config(Config() if config is None else config)
    config = replace(config, dataset=graph.name, seeds=1)
    folds = checks.whole(3, 1000)("folds", folds)
    divided = ~graph.unlabelled & (~graph.test if nodes is None else np.asarray(nodes, bool))
    fold = _folds(graph, divided, folds, config.seed)
    found = []
    for number in range(folds):
        test, val = fold == number, fold == (number + 1) % folds
        result = fit(graph.with_split(divided & ~test & ~val, val, test), config, config.seed)
        found.append(result.test_scores)
        if on_fold:
            on_fold(number, result)
    metric = config.metric or metric_of(graph.multilabel)
    if missing := [number for number, scores in enumerate(found) if metric not in scores]:
        raise ConfigError(f"{metric} is not defined on fold {missing[0]}; use fewer folds, or another metric.")
    return CrossValidation(metric, tuple(scores[metric] for scores in found), tuple(found))


def _folds(graph: Graph, divided: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold of each node, -1 for none: classes one after the other, in random order, dealt like cards."""
    nodes = np.random.default_rng(seed).permutation(np.flatnonzero(divided))
    if len(nodes) < folds:
        raise GraphError(
            f"The graph {graph.name!r} has {len(nodes)} labelled nodes for {folds} folds; use fewer folds."
        )
    if not graph.multilabel:
        nodes = nodes[np.argsort(graph.labels[nodes], kind="stable")]
    fold = np.full(graph.nodes, -1)
    fold[nodes] = np.arange(len(nodes)) % folds
    return fold

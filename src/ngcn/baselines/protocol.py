"""`Baseline`: the base class of the other methods of the paper's tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from ngcn import checks
from ngcn.errors import ConfigError
from ngcn.graph import Graph

# The checks of settings by name, for all methods; other integers must be 1 or more
LIMITS: dict[str, checks.Check] = {
    **dict.fromkeys(("C", "p", "q", "ambient"), checks.positive),
    **dict.fromkeys(("l2", "weight", "margin", "intrinsic", "pretraining"), checks.not_negative),
    **dict.fromkeys(("positive", "walked"), checks.share),
    "lr": checks.number("above 0 and below 3e38", lambda x: 0 < x < 3e38),  # torch takes it in single precision
    "alpha": checks.open_share,
    "dropout": checks.dropout,
}
STEPS = 1000  # of conjugate gradients; most graphs take less than 200, a long chain as many as it has nodes


@dataclass(kw_only=True)
class Baseline(ABC):
    """A method that is fitted to the training nodes of a graph and predicts class probabilities.

    The settings are dataclass fields: numbers, strings or booleans. Fitted attributes end in ``_``. A method may use
    validation labels for selection, and no test labels. Features are prepared as the run's ``features`` setting says.

    Example:
        >>> class Majority(Baseline):
        ...     def fit(self, graph, seed):
        ...         self.share_ = np.bincount(graph.labels[graph.train], minlength=graph.classes) / graph.train.sum()
        ...     def predict_proba(self, graph):
        ...         return np.tile(self.share_, (graph.nodes, 1))
        >>> from ngcn import MODELS, Config, ModelSpec, load_dataset, train
        >>> MODELS["majority"] = ModelSpec("Majority class", baseline=Majority)
        >>> train(load_dataset("cora"), Config(model="majority")).test
        0.13
        >>> del MODELS["majority"]
    """

    reads_features: ClassVar[bool] = True  # False if it uses the edges alone
    multilabel: ClassVar[bool] = False  # whether it can predict several labels per node

    def __post_init__(self) -> None:
        for setting in fields(self):
            check = LIMITS.get(setting.name) or (checks.whole(1) if type(setting.default) is int else None)
            if check:
                check(setting.name, getattr(self, setting.name))

    @abstractmethod
    def fit(self, graph: Graph, seed: int) -> None:
        """Fit to the training nodes; the same seed gives the same result."""

    @abstractmethod
    def predict_proba(self, graph: Graph) -> np.ndarray:
        """The class probabilities, ``(nodes, classes)``: rows sum to 1, except for multi-label."""


class Transductive(Baseline):
    """A method that predicts only the nodes that it was fitted on: :meth:`infer` returns their class probabilities."""

    @abstractmethod
    def infer(self, graph: Graph, seed: int) -> np.ndarray: ...

    def fit(self, graph: Graph, seed: int) -> None:
        self.probabilities_ = self.infer(graph, seed)

    def predict_proba(self, graph: Graph) -> np.ndarray:
        nodes = len(self.probabilities_)
        if graph.nodes != nodes:
            raise ConfigError(
                f"{type(self).__name__} can only predict the {nodes} nodes that it was fitted on, but {graph.name!r} "
                f"has {graph.nodes}; fit it on this graph."
            )
        return self.probabilities_


def one_hot(graph: Graph) -> np.ndarray:
    """The one-hot labels of the training nodes, ``(nodes, classes)``; zeros for other nodes."""
    return np.eye(graph.classes)[graph.labels] * graph.train[:, None]


def solve(A: sp.sparray | LinearOperator, B: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Solve A X = B for a symmetric positive (semi-)definite A, by conjugate gradients with its diagonal as the
    preconditioner. Stops after STEPS at the latest, each of which reaches one hop further."""
    M = sp.diags_array(1 / diagonal)
    return np.stack([cg(A, b, rtol=1e-8, M=M, maxiter=STEPS)[0] for b in B.T], axis=1)

"""`Baseline`: the base class of the other methods of the paper's tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from ngcn import checks
from ngcn.graph import Graph

# The checks of settings by name, for all methods; other integers must be 1 or more
LIMITS: dict[str, checks.Check] = {
    **dict.fromkeys(("lr", "C", "p", "q", "ambient"), checks.positive),
    **dict.fromkeys(("l2", "weight", "margin", "intrinsic", "pretraining"), checks.not_negative),
    **dict.fromkeys(("positive", "walked"), checks.share),
    "alpha": checks.open_share,
    "dropout": checks.dropout,
}


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
            check = checks.whole(1) if type(setting.default) is int else lambda name, value: value
            LIMITS.get(setting.name, check)(setting.name, getattr(self, setting.name))

    @abstractmethod
    def fit(self, graph: Graph, seed: int) -> None:
        """Fit to the training nodes; the same seed gives the same result."""

    @abstractmethod
    def predict_proba(self, graph: Graph) -> np.ndarray:
        """The class probabilities, ``(nodes, classes)``: rows sum to 1, except for multi-label."""


def one_hot(graph: Graph) -> np.ndarray:
    """The one-hot labels of the training nodes, ``(nodes, classes)``; zeros for other nodes."""
    Y = np.zeros((graph.nodes, graph.classes))
    rows = graph.train.nonzero()[0]
    Y[rows, graph.labels[rows]] = 1
    return Y


def shares(F: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows of non-negative weights, divided by their sum; ``prior`` in place of a row of zeros."""
    F = np.where(F.sum(axis=1, keepdims=True) > 0, F, prior)
    return F / F.sum(axis=1, keepdims=True)


def solve(A: sp.sparray | LinearOperator, B: np.ndarray, diagonal: np.ndarray, rtol: float = 1e-8) -> np.ndarray:
    """Solve A X = B for a symmetric positive (semi-)definite A, by conjugate gradients for each column.

    ``diagonal`` is the diagonal of A, the preconditioner.
    """
    columns = []
    for b in B.T:
        x, failed = cg(A, b, rtol=rtol, M=sp.diags_array(1 / diagonal), maxiter=100 * len(b))
        assert not failed, "conjugate gradients did not converge"
        columns.append(x)
    return np.stack(columns, axis=1)

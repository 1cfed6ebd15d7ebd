"""`Baseline`: what the other rows of the paper's tables have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from ngcn.graph import Graph


class BaselineError(ValueError):
    """A setting that a baseline cannot use; the message names it and says what would do."""


# What a setting of this name may be, in whatever method; any other whole number is 1 or more
LIMITS: dict[str, tuple[str, Callable[[float], bool]]] = {
    **dict.fromkeys(("lr", "C", "p", "q", "ambient"), ("above 0", lambda x: x > 0)),
    **dict.fromkeys(("l2", "weight", "margin", "intrinsic", "pretraining"), ("0 or more", lambda x: x >= 0)),
    **dict.fromkeys(("positive", "walked"), ("between 0 and 1", lambda x: 0 <= x <= 1)),
    "alpha": ("between 0 and 1", lambda x: 0 < x < 1),
    "dropout": ("from 0 up to but not including 1", lambda x: 0 <= x < 1),
}


@dataclass(kw_only=True)
class Baseline(ABC):
    """A method that learns from the training nodes of a graph and gives every node its class probabilities.

    The settings are dataclass fields: numbers, words, or yes and no. What is learned goes into attributes whose names
    end in ``_``. A method that selects on validation nodes may read their labels, and none the labels of test nodes.

    The features of the graph come prepared as the run's ``features`` setting says.

    Example:
        >>> class Majority(Baseline):
        ...     title = "Majority"
        ...     def fit(self, graph, seed):
        ...         self.share_ = np.bincount(graph.labels[graph.train], minlength=graph.classes) / graph.train.sum()
        ...     def predict_proba(self, graph):
        ...         return np.tile(self.share_, (graph.nodes, 1))
        >>> from ngcn.graph import load_dataset
        >>> majority = Majority()
        >>> majority.fit(load_dataset("cora"), seed=0)
        >>> majority.predict_proba(load_dataset("cora")).shape
        (2708, 7)
    """

    title: ClassVar[str]  # its name in tables
    reads_features: ClassVar[bool] = True  # or does it look at the edges alone?
    auto_features: ClassVar[str] = "auto"  # what features=auto of a run means for it
    multilabel: ClassVar[bool] = False  # can it give a node several labels?

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value, whole = setting.name, getattr(self, setting.name), type(setting.default) is int
            if name in LIMITS or whole:
                what, fits = LIMITS.get(name, ("1 or more", lambda x: x >= 1))
                if not (fits(value) and value < float("inf")):
                    raise BaselineError(f"{name} must be {what}, not {value}.")

    @abstractmethod
    def fit(self, graph: Graph, seed: int) -> None:
        """Learn from the training nodes; the same seed gives the same result."""

    @abstractmethod
    def predict_proba(self, graph: Graph) -> np.ndarray:
        """The class probabilities, ``(nodes, classes)``: rows sum to 1, or for multi-label each entry is one."""


def one_hot(graph: Graph) -> np.ndarray:
    """A row per node with a 1 at its class if it is a training node, else zeros."""
    Y = np.zeros((graph.nodes, graph.classes))
    rows = graph.train.nonzero()[0]
    Y[rows, graph.labels[rows]] = 1
    return Y


def shares(F: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows of weights that are 0 or more, divided by their sum; ``prior`` where nothing is known, a row of zeros."""
    F = np.where(F.sum(axis=1, keepdims=True) > 0, F, prior)
    return F / F.sum(axis=1, keepdims=True)


def solve(A: sp.sparray | LinearOperator, B: np.ndarray, diagonal: np.ndarray, rtol: float = 1e-8) -> np.ndarray:
    """X with A X = B for a symmetric positive (semi-)definite A, by conjugate gradients, a column at a time.

    ``diagonal`` is that of A; divided by it, A is better conditioned.
    """
    columns = []
    for b in B.T:
        x, failed = cg(A, b, rtol=rtol, M=sp.diags_array(1 / diagonal), maxiter=100 * len(b))
        assert not failed, "conjugate gradients did not converge"
        columns.append(x)
    return np.stack(columns, axis=1)

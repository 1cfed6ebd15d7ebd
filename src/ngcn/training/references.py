"""What a model must beat: always predicting the largest class, and what reads the features or the edges alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from torch import Tensor

from ngcn.graph import Graph, StoredGraph
from ngcn.large import Prepared
from ngcn.model import Preparation
from ngcn.registry import MODELS, load
from ngcn.scoring import merit, metric_of, scores
from ngcn.text import METRICS, percent, score_text

Scores = dict[str, dict[str, float]]  # split -> name -> score
STRENGTHS = (1.0, 100.0)  # C of logistic regression; the validation nodes choose
MOST = 5_000  # training nodes of logistic regression; more take long, and teach it little
RANKS_WELL = 0.6  # ROC-AUC above which a model that predicts a single class has learned something all the same
TOO_GOOD, ENOUGH = 0.995, 20  # an accuracy that hints at a feature made from the label; validation nodes to judge by
MOST_LINKS = 30_000_000  # edges times classes, with which label propagation takes about 10 s
ALONE = {  # reference -> what it is, and what to try if it is better
    "regression": (
        "Logistic regression on the features alone",
        "The edges may mislead the model; `model='mlp'` ignores them.",
    ),
    "propagation": (
        "Label propagation, which sees the edges alone,",
        "The features may tell little about the labels; `model='lp'` ignores them.",
    ),
}


def majority(graph: Graph) -> Scores:
    """The scores of predicting the class frequencies of the training nodes, whatever the node.

    Example:
        >>> from ngcn import load_dataset
        >>> round(majority(load_dataset("cora"))["test"]["accuracy"], 3)
        0.13
    """
    known = torch.from_numpy(graph.labels[graph.train])
    if graph.multilabel:
        logits = known.mean(dim=0).clamp(1e-4, 1 - 1e-4).logit()
    else:
        logits = known.bincount(minlength=graph.classes).float().clamp(min=0.5).log()
    return _evaluate(graph, lambda rows: logits.expand(len(rows), -1))


def regression(graph: Graph, preparation: Preparation) -> Scores | None:
    """The scores of logistic regression on the prepared features; None if the training nodes have a single class."""
    if len(np.unique(graph.labels[graph.train])) < 2:
        return None
    train = np.flatnonzero(graph.train)
    large = isinstance(graph, StoredGraph)  # rows of it are prepared as they are read
    X: Any = Prepared(graph, preparation) if large else preparation(graph.features, graph.adjacency)
    if len(train) > MOST:
        train = np.sort(np.random.default_rng(0).permutation(train)[:MOST])
    inputs, labels = X[train].astype(np.float64), graph.labels[train]
    target = labels if graph.multilabel else np.eye(graph.classes)[labels]
    found: list[Scores] = []
    for C in STRENGTHS:
        W, b = fit_logistic(inputs, target, C, graph.multilabel)
        found.append(_evaluate(graph, partial(_linear, X, W, b)))
    return max(found, key=lambda scored: scored["val"].get(metric_of(graph.multilabel), 0.0))


def fit_logistic(X: Any, target: np.ndarray, C: float, multilabel: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r"""Multinomial logistic regression, as scikit-learn's, which takes a second to import; for multi-label, one for
    each class.

    .. math:: \min_{W, b} \; C \sum_i L(x_i W + b, y_i) + \tfrac{1}{2} |W|^2

    Args:
        X: ``(nodes, features)``, dense or sparse.
        target: ``(nodes, classes)`` zeros and ones.
        C: how much the losses count.

    Example:
        >>> W, b = fit_logistic(np.array([[0.0], [1.0]]), np.eye(2), C=1.0)
        >>> np.round(W, 2)
        array([[-0.4,  0.4]])
    """
    classes = target.shape[1]

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        W, b = _parts(values, classes)
        Z = X @ W + b
        if multilabel:
            losses, p = np.logaddexp(0, Z) - target * Z, expit(Z)
        else:
            log_p = log_softmax(Z, axis=1)
            losses, p = -target * log_p, np.exp(log_p)
        error = C * (p - target)
        slope = np.vstack([X.T @ error + W, error.sum(axis=0)])
        return np.square(W).sum() / 2 + C * losses.sum(), slope.ravel()

    start = np.zeros((X.shape[1] + 1) * classes)
    return _parts(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50}).x, classes)


def propagation(graph: Graph) -> Scores | None:
    """The scores of label propagation, the model `lp`, which sees the edges and the training labels; None for
    multi-label, and for graphs on which it takes long."""
    if graph.multilabel or isinstance(graph, StoredGraph) or graph.adjacency.nnz * graph.classes > MOST_LINKS:
        return None
    baseline = load(MODELS["lp"].baseline)()
    baseline.fit(graph, seed=0)
    logits = torch.from_numpy(baseline.predict_proba(graph).clip(np.finfo(float).tiny)).log()
    return _evaluate(graph, lambda rows: logits[rows])


def reference_scores(graph: Graph, preparation: Preparation) -> dict[str, Scores]:
    """The scores of all of them that suit the graph."""
    found = {
        "majority": majority(graph),
        "regression": regression(graph, preparation),
        "propagation": propagation(graph),
    }
    return {name: of for name, of in found.items() if of is not None}


def warning_of(val: dict[str, float], metric: str, references: dict[str, Scores], nodes: int) -> str:
    """What a user must know about a model with the scores ``val`` on so many validation nodes; empty if it beats the
    references. What sees the features or the edges alone must be better by more than a standard error."""
    if not val:
        return ""
    merits = {name: merit(metric, of["val"].get(metric, nan)) for name, of in references.items()}
    ours, shown = merit(metric, val[metric]), score_text(metric, val[metric])
    found = []
    if ours <= merits.get("majority", nan):
        what = f"its {METRICS[metric].lower()} on the validation nodes, {shown}, is that of always predicting one class"
        auc = val.get("roc_auc", 0.0)
        if auc > RANKS_WELL and metric != "roc_auc":
            found.append(
                f"The model hardly predicts more than one class: {what}. But it ranks nodes well (ROC-AUC "
                f"{percent(auc, 1)}): use its probabilities, or train with `metric='roc_auc'` or `balance=True`."
            )
        else:
            found.append(
                f"The model has learned nothing: {what}. Check that features and edges have to do with the labels; "
                "more labels or `balance=True` may help."
            )
    better = {name: merits[name] for name in ALONE if merits.get(name, nan) - ours > 0.5 / nodes**0.5}
    if better:
        best = max(better, key=better.__getitem__)
        what, remedy = ALONE[best]
        theirs = score_text(metric, references[best]["val"][metric])
        found.append(f"{what} does better on the validation nodes: {theirs}, against {shown}. {remedy}")
    alone = references.get("regression", {}).get("val", {})
    correct = min(alone.get("accuracy", 0.0), alone.get("micro_f1", 1.0))  # most labels of multi-label are rare
    if correct > TOO_GOOD and nodes >= ENOUGH:
        found.append(
            f"Logistic regression on the features alone is correct on {percent(correct, 1)} of the validation nodes: "
            "check that no feature was made from the label. Nodes to be predicted would lack it."
        )
    return " ".join(found)


def _parts(values: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    both = values.reshape(-1, classes)
    return both[:-1], both[-1]


def _linear(X: Any, W: np.ndarray, b: np.ndarray, rows: np.ndarray) -> Tensor:
    return torch.from_numpy(X[rows] @ W + b)


def _evaluate(graph: Graph, logits: Callable[[np.ndarray], Tensor]) -> Scores:
    found: Scores = {}
    for split in ("val", "test"):
        rows = getattr(graph, split).nonzero()[0]
        found[split] = scores(logits(rows), torch.from_numpy(graph.labels[rows])) if len(rows) else {}
    return found

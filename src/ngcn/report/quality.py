"""The quality of the predictions: confusion matrix, precision and recall by class, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngcn.graph import Graph

BINS = 10
MATRIX_CLASSES = 20  # a larger confusion matrix is unreadable


def quality(graph: Graph, probabilities: np.ndarray, before: np.ndarray | None = None) -> dict[str, Any] | None:
    """Confusion matrix (single-label, up to 20 classes), scores by class and reliability, on the test nodes, or on the
    validation nodes if there are no test nodes; ``before`` are the probabilities before calibration, if there was one.
    None without either.
    """
    split = "test" if graph.test.any() else "val"
    mask = getattr(graph, split)
    if not mask.any():
        return None
    p, labels = probabilities[mask], graph.labels[mask]
    if graph.multilabel:
        predicted, true, matrix = p > 0.5, labels > 0, None
    else:
        every, named = np.arange(graph.classes), p.argmax(axis=1)
        predicted, true = named[:, None] == every, labels[:, None] == every
        matrix = (true.astype(int).T @ predicted).tolist() if graph.classes <= MATRIX_CLASSES else None
    return {
        "split": split,
        "nodes": int(mask.sum()),
        "confusion": matrix,
        "by_class": _by_class(predicted, true),
        "reliability": _reliability(p, labels),
        "before": None if before is None else _reliability(before[mask], labels),
    }


def _by_class(predicted: np.ndarray, true: np.ndarray) -> list[list[float | int | None]]:
    """For each class: its number of nodes, precision and recall; None instead of 0 / 0."""
    counts = np.stack([predicted & true, predicted, true]).sum(axis=1).T.tolist()
    return [
        [nodes, round(hits / named, 4) if named else None, round(hits / nodes, 4) if nodes else None]
        for hits, named, nodes in counts
    ]


def _reliability(p: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    if labels.ndim == 2:  # multi-label: every class of every node is a prediction by itself
        return reliability(p.ravel(), labels.ravel() > 0)
    return reliability(p.max(axis=1), p.argmax(axis=1) == labels)


def reliability(confidence: np.ndarray, correct: np.ndarray) -> dict[str, Any]:
    """The reliability diagram: for each of ten bins its number, count, mean confidence and accuracy.

    ``gap`` is the expected calibration error, the mean of abs(confidence - accuracy).

    Example:
        >>> reliability(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
        {'bins': [[5, 2, 0.55, 0.5], [9, 2, 0.95, 1.0]], 'gap': 0.05}
    """
    which = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins: list[list[float]] = []
    gap = 0.0
    for b in np.unique(which).tolist():
        inside = which == b
        count, mean, accuracy = int(inside.sum()), float(confidence[inside].mean()), float(correct[inside].mean())
        bins.append([b, count, round(mean, 4), round(accuracy, 4)])
        gap += count / len(confidence) * abs(mean - accuracy)
    return {"bins": bins, "gap": round(gap, 4)}

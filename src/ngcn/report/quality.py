"""How good the predictions are where the truth is known: mistakes by class, and whether confidence can be believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngcn.graph import Graph

BINS = 10
MATRIX_CLASSES = 20  # a larger confusion matrix is unreadable


def quality(graph: Graph, probabilities: np.ndarray) -> dict[str, Any]:
    """Confusion matrix (single-label, up to 20 classes), scores by class and reliability.

    They are those of the test nodes, or of the validation nodes if there are no test nodes.

    Args:
        probabilities: ``(nodes, classes)`` probabilities.
    """
    split = "test" if graph.test.any() else "val"
    mask = getattr(graph, split)
    p, labels = probabilities[mask], graph.labels[mask]
    if graph.multilabel:
        predicted, true = p > 0.5, labels > 0
        matrix = None
        sure, right = p.ravel(), true.ravel()
    else:
        counts = np.zeros((graph.classes, graph.classes), dtype=int)
        np.add.at(counts, (labels, p.argmax(axis=1)), 1)
        matrix = counts.tolist() if graph.classes <= MATRIX_CLASSES else None
        every = np.arange(graph.classes)
        predicted, true = p.argmax(axis=1)[:, None] == every, labels[:, None] == every
        sure, right = p.max(axis=1), p.argmax(axis=1) == labels
    return {
        "split": split,
        "nodes": int(mask.sum()),
        "confusion": matrix,
        "by_class": _by_class(predicted, true),
        "reliability": reliability(sure, right),
    }


def _by_class(predicted: np.ndarray, true: np.ndarray) -> list[list[float | int | None]]:
    """For each class: how many nodes have it, precision, recall; None where there is nothing to divide by."""
    hits = (predicted & true).sum(axis=0)
    return [
        [int(has), round(hit / named, 4) if named else None, round(hit / has, 4) if has else None]
        for hit, named, has in zip(
            hits.tolist(), predicted.sum(axis=0).tolist(), true.sum(axis=0).tolist(), strict=True
        )
    ]


def reliability(sure: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Ten bins of confidence: how many fall in, how sure they are on average, how often they are right.

    ``gap`` is the expected calibration error, the mean distance between the last two.

    Example:
        >>> reliability(np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False]))
        {'bins': [[5, 2, 0.55, 0.5], [9, 2, 0.95, 1.0]], 'gap': 0.05}
    """
    which = np.minimum((sure * BINS).astype(int), BINS - 1)
    bins: list[list[float]] = []
    gap = 0.0
    for b in np.unique(which).tolist():
        inside = which == b
        count, confidence, accuracy = int(inside.sum()), float(sure[inside].mean()), float(right[inside].mean())
        bins.append([b, count, round(confidence, 4), round(accuracy, 4)])
        gap += count / len(sure) * abs(confidence - accuracy)
    return {"bins": bins, "gap": round(gap, 4)}

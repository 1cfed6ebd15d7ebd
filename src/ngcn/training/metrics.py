"""Scores of logits against labels, and the names they go by."""

from __future__ import annotations

from torch import Tensor

from ngcn.graph import Graph


def metric(graph: Graph) -> str:
    """The score that selects the parameters: accuracy, or micro-F1 where a node may have several labels."""
    return "micro_f1" if graph.multilabel else "accuracy"


def scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """All scores by name, the one that selects the parameters first.

    Args:
        logits: ``(nodes, classes)``; softmax, or sigmoid for multi-label, gives the probabilities.
        labels: ``(nodes,)`` class numbers, or ``(nodes, classes)`` zeros and ones for multi-label.

    Example:
        >>> import torch
        >>> scores(torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), torch.tensor([0, 1, 1]))["accuracy"]
        0.6666666666666666
        >>> scores(torch.tensor([[2.0, -1.0], [0.5, -1.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
        {'micro_f1': 0.6666666666666666, 'macro_f1': 0.3333333333333333}
    """
    if labels.ndim == 1:
        return {"accuracy": int((logits.argmax(dim=1) == labels).sum()) / len(labels)}
    predicted, true = logits > 0, labels > 0  # a logit above 0 is a probability above 0.5
    hits = (predicted & true).sum(dim=0).double()
    named = predicted.sum(dim=0) + true.sum(dim=0)  # 2 hits + false alarms + misses
    per_class = 2 * hits / named.clamp(min=1)  # a class that neither has counts 0
    return {"micro_f1": float(2 * hits.sum() / named.sum().clamp(min=1)), "macro_f1": float(per_class.mean())}

"""From logits to probabilities, losses and scores. Labels are class numbers, or a 0/1 matrix for multi-label."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def metric_of(multilabel: bool) -> str:
    """The score that selects the parameters: accuracy, or micro-F1 for multi-label."""
    return "micro_f1" if multilabel else "accuracy"


def probabilities(logits: Tensor, multilabel: bool) -> Tensor:
    """The softmax over the last axis, or the sigmoid for multi-label."""
    return logits.sigmoid() if multilabel else logits.softmax(dim=-1)


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross entropy for ``(nodes,)`` labels, the mean binary cross entropy for ``(nodes, classes)``."""
    if labels.ndim == 1:
        return functional.cross_entropy(logits, labels)
    return functional.binary_cross_entropy_with_logits(logits, labels)


def scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """All scores by name, the one that selects the parameters first.

    Args:
        logits: ``(nodes, classes)``.
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
    named = predicted.sum(dim=0) + true.sum(dim=0)  # 2 true positives + false positives + false negatives
    per_class = 2 * hits / named.clamp(min=1)  # 0 for a class that is neither predicted nor true
    return {"micro_f1": float(2 * hits.sum() / named.sum().clamp(min=1)), "macro_f1": float(per_class.mean())}

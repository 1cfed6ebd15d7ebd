"""From logits to probabilities, losses and scores. Labels are class numbers, or a 0/1 matrix for multi-label."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional


def metric_of(multilabel: bool) -> str:
    """The score that selects the parameters unless another is chosen: accuracy, or micro-F1 for multi-label."""
    return "micro_f1" if multilabel else "accuracy"


def probabilities(logits: Tensor, multilabel: bool) -> Tensor:
    """The softmax over the last axis, or the sigmoid for multi-label."""
    return logits.sigmoid() if multilabel else logits.softmax(dim=-1)


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean cross entropy for ``(nodes,)`` labels, the mean binary cross entropy for ``(nodes, classes)``; with
    ``(nodes,)`` weights, the weighted mean."""
    if weights is not None:
        return weights @ node_losses(logits[:, None], labels)[:, 0] / weights.sum()
    if labels.ndim == 1:
        return functional.cross_entropy(logits, labels)
    return functional.binary_cross_entropy_with_logits(logits, labels)


def node_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropy of each node: ``(nodes, classes)`` to ``(nodes,)``, ``(nodes, towers, classes)`` to ``(nodes,
    towers)``; for multi-label, the mean over classes."""
    if logits.ndim == 2:
        return node_losses(logits[:, None], labels)[:, 0]
    if labels.ndim == 2:
        return -log_likelihoods(logits, labels).unflatten(0, labels.shape).mean(dim=1)
    return -log_likelihoods(logits, labels)


def log_likelihoods(logits: Tensor, labels: Tensor) -> Tensor:
    """The log-probability of what is true, for each tower: ``(nodes, towers, classes)`` to ``(nodes, towers)``. For
    multi-label, every class of a node is an observation by itself: ``(nodes * classes, towers)``."""
    if labels.ndim == 1:
        true = labels[:, None, None].expand(-1, logits.shape[1], 1)
        return logits.log_softmax(dim=2).gather(2, true)[:, :, 0]
    sign = (2 * labels - 1)[:, None]
    return functional.logsigmoid(logits * sign).transpose(1, 2).flatten(0, 1)


def scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """All scores by name, the one that selects the parameters by default first. A score that is not defined is left
    out, such as ROC-AUC with one class.

    Args:
        logits: ``(nodes, classes)``.
        labels: ``(nodes,)`` class numbers, or ``(nodes, classes)`` zeros and ones for multi-label.

    Example:
        >>> import torch
        >>> scores(torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), torch.tensor([0, 1, 1]))["accuracy"]
        0.6666666666666666
        >>> found = scores(torch.tensor([[2.0, -1.0], [0.5, -1.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
        >>> found["micro_f1"], found["macro_f1"]
        (0.6666666666666666, 0.3333333333333333)
    """
    first = metric_of(labels.ndim == 2)
    found = {name: score(name, logits, labels) for name in dict.fromkeys((first, *_SCORES))}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def score(metric: str, logits: Tensor, labels: Tensor) -> float:
    """One of the scores, see :data:`ngcn.text.METRICS`; higher is better, but for the loss."""
    return _SCORES[metric](logits, labels)


def merit(metric: str, value: float) -> float:
    """The score as a number of which more is better."""
    return -value if metric == "loss" else value


def _accuracy(logits: Tensor, labels: Tensor) -> float:
    right = logits.argmax(dim=1) == labels if labels.ndim == 1 else (logits > 0) == (labels > 0)
    return int(right.sum()) / right.numel()


def _balanced_accuracy(logits: Tensor, labels: Tensor) -> float:
    """The mean over classes of the share of their nodes that are found. For multi-label, every label has two classes,
    the nodes that have it and those that do not."""
    predicted, true = _decisions(logits, labels)
    found = (predicted & true).sum(dim=0).double() / true.sum(dim=0)  # NaN for classes without nodes
    if labels.ndim == 2:
        found = (found + (~predicted & ~true).sum(dim=0) / (~true).sum(dim=0)) / 2
    return float(found.nanmean())


def _micro_f1(logits: Tensor, labels: Tensor) -> float:
    predicted, true = _decisions(logits, labels)
    hits = (predicted & true).sum(dim=0).double()
    named = predicted.sum(dim=0) + true.sum(dim=0)  # 2 true positives + false positives + false negatives
    return float(2 * hits.sum() / named.sum().clamp(min=1))


def _macro_f1(logits: Tensor, labels: Tensor) -> float:
    predicted, true = _decisions(logits, labels)
    hits = (predicted & true).sum(dim=0).double()
    named = predicted.sum(dim=0) + true.sum(dim=0)
    per_class = 2 * hits / named.clamp(min=1)  # 0 for a class that is neither predicted nor true
    return float((per_class if labels.ndim == 2 else per_class[named > 0]).mean())


def _roc_auc(logits: Tensor, labels: Tensor) -> float:
    """The mean over classes of the probability that a node of the class is ranked above another."""
    p, true = _ranked(logits, labels)
    yes = true.sum(axis=0)
    no = len(true) - yes
    both = (yes > 0) & (no > 0)
    # Class by class: ranks of all of them at once take a GB for a million nodes
    ranks = [_ranks(p[:, c])[true[:, c]].sum() for c in np.flatnonzero(both)]
    above = np.array(ranks) - (yes * (yes + 1) / 2)[both]
    return float((above / (yes * no)[both]).mean()) if both.any() else float("nan")


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 1 on, ascending; equal values have the mean of theirs. SciPy's takes half a second to import.

    >>> _ranks(np.array([0.5, 0.1, 0.5]))
    array([2.5, 1. , 2.5])
    """
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(times) - (times - 1) / 2)[place]
    return ranks


def _average_precision(logits: Tensor, labels: Tensor) -> float:
    """The mean over classes of the precision at each rank of a node of the class; equal scores share a rank."""
    p, true = _ranked(logits, labels)
    found = []
    for scored, is_class in zip(p.T, true.T, strict=True):
        order = np.argsort(-scored, kind="stable")
        last = np.flatnonzero(np.append(np.diff(scored[order]) != 0, True))
        hits = np.cumsum(is_class[order])[last]
        if is_class.any():
            found.append(np.sum(np.diff(hits, prepend=0) * hits / (last + 1)) / hits[-1])
    return float(np.mean(found)) if found else float("nan")


def _decisions(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of what is predicted and of what is true, ``(nodes, classes)``."""
    if labels.ndim == 2:
        return logits > 0, labels > 0  # a logit above 0 is a probability above 0.5
    classes = torch.arange(logits.shape[1], device=logits.device)
    return logits.argmax(dim=1)[:, None] == classes, labels[:, None] == classes


def _ranked(logits: Tensor, labels: Tensor) -> tuple[np.ndarray, np.ndarray]:
    p = probabilities(logits.detach().double(), labels.ndim == 2)
    return p.cpu().numpy(), _decisions(logits, labels)[1].cpu().numpy()


_SCORES: dict[str, Callable[[Tensor, Tensor], float]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "macro_f1": _macro_f1,
    "micro_f1": _micro_f1,
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
    "loss": lambda logits, labels: cross_entropy(logits, labels).item(),
}

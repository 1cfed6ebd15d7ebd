"""Errors and warnings about data that are to be trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ngcn.data.parts import UNKNOWN, Matrix, Parts, log
from ngcn.errors import DatasetError

FEW = 30  # validation nodes; with fewer, the choice of a step is unreliable
NO_LABEL = ("na", "nan", "null", "none", "unknown", "?", "-1")


def warn_about_constants(features: Matrix, names: Sequence[str] | None, name: str) -> None:
    ends = features.min(axis=0), features.max(axis=0)
    low, high = (np.asarray(end.toarray() if sp.issparse(end) else end).ravel() for end in ends)
    constant = np.flatnonzero(low == high)
    if len(constant) and features.shape[0] > 1:
        named = [repr(names[c]) if names else str(c) for c in constant[:5]]
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        log.warning(f"{name}: {', '.join(named)}{more} has the same value for every node, so it is uninformative.")


def check_classes(parts: Parts) -> None:
    if not parts.labelled.any():
        raise DatasetError(f"{parts.describe_labels()}: no node has a label; training needs some of each class.")
    if parts.labels.ndim == 1 and len(known := np.unique(parts.labels[parts.labelled])) < 2:
        raise DatasetError(
            f"{parts.describe_labels()}: all labels are {_class_name(parts, known[0])!r}; training needs two classes."
        )


def warn_about_class_names(parts: Parts) -> None:
    """Warn about text that may not be meant as the name of a class."""
    if parts.label_at is None:
        return
    at = parts.describe_labels()
    if unknown := [name for name in parts.class_names if name.lower() in NO_LABEL]:
        log.warning(f"{at}: {unknown[0]!r} is read as a class; leave the cell empty if the label is unknown.")
    if parts.labels.ndim == 1 and (several := [name for name in parts.class_names if "|" in name]):
        log.warning(f"{at}: {several[0]!r} is read as one class; `multilabel=True` would read several labels.")


def warn_about_imbalance(parts: Parts) -> None:
    if parts.labels.ndim == 2:
        return
    classes, counts = np.unique(parts.labels[parts.labelled], return_counts=True)
    share = counts.max() / counts.sum()
    if share > 0.8:
        name = _class_name(parts, classes[counts.argmax()])
        log.warning(
            f"{parts.name}: {100 * share:.0f} % of the labels are {name!r}; always predicting it has the same accuracy."
        )


def warn_about_few(val: np.ndarray) -> None:
    if val.sum() < FEW:
        few = "1 validation node is" if val.sum() == 1 else f"{val.sum()} validation nodes are"
        log.warning(f"{few} too few to choose a step reliably; label or use more nodes for validation.")


def check_training_classes(parts: Parts, train: np.ndarray) -> None:
    """Raise an error if no training node has some label."""
    labels = parts.labels
    several = labels.ndim == 2
    used = np.flatnonzero(labels.any(axis=0)) if several else np.unique(labels[labels != UNKNOWN])
    learned = np.flatnonzero(labels[train].any(axis=0)) if several else np.unique(labels[train])
    for c in np.setdiff1d(used, learned):
        node = int((labels[:, c] if several else labels == c).argmax())
        raise DatasetError(
            f"{parts.describe_labels(node)}: no training node has the label {_class_name(parts, c)!r}, so it cannot be "
            "learned; put a node that has it into the training split, or remove the label."
        )


def _class_name(parts: Parts, number: int) -> str:
    return str(number if parts.class_names is None else parts.class_names[number])

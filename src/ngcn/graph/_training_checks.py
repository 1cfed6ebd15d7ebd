"""Errors and warnings about data that are to be trained on."""

from __future__ import annotations

import numpy as np

from ngcn.data.parts import UNKNOWN, Parts, log
from ngcn.errors import DatasetError

FEW = 30  # validation nodes; with fewer, the choice of a step is unreliable
NO_LABEL = ("na", "nan", "null", "none", "unknown", "?", "-1")


def check_labels(parts: Parts) -> None:
    """Raise an error if there are too few labels or classes; warn about those that may not be intended."""
    at = parts.describe_labels()
    if not parts.labelled.any():
        raise DatasetError(f"{at}: no node has a label; training needs some of each class.")
    if parts.labels.ndim == 2:
        _warn_about_class_names(parts, at)
        return
    classes, counts = np.unique(parts.labels[parts.labelled], return_counts=True)
    name, share = _class_name(parts, classes[counts.argmax()]), counts.max() / counts.sum()
    if len(classes) < 2:
        raise DatasetError(f"{at}: all labels are {name!r}; training needs two classes.")
    _warn_about_class_names(parts, at)
    if share > 0.8:
        log.warning(
            f"{parts.name}: {100 * share:.0f} % of the labels are {name!r}; always predicting it has the same accuracy."
        )


def _warn_about_class_names(parts: Parts, at: str) -> None:
    names = parts.class_names if parts.label_at else ()
    if unknown := [name for name in names if name.lower() in NO_LABEL]:
        log.warning(f"{at}: {unknown[0]!r} is read as a class; leave the cell empty if the label is unknown.")
    if parts.labels.ndim == 1 and (several := [name for name in names if "|" in name]):
        log.warning(f"{at}: {several[0]!r} is read as one class; `multilabel=True` would read several labels.")


def warn_about_few(val: np.ndarray) -> None:
    if val.sum() < FEW:
        few = "1 validation node is" if val.sum() == 1 else f"{val.sum()} validation nodes are"
        log.warning(f"{few} too few to choose a step reliably; label or use more nodes for validation.")


def check_training_classes(parts: Parts, train: np.ndarray) -> None:
    """Raise an error if no training node has some label."""
    rows, classes = np.arange(parts.nodes), parts.labels  # of every label of every node
    if parts.labels.ndim == 2:
        rows, classes = np.nonzero(parts.labels)
    for c in np.setdiff1d(classes, np.append(classes[train[rows]], UNKNOWN)):
        node = int(rows[classes == c].min())
        raise DatasetError(
            f"{parts.describe_labels(node)}: no training node has the label {_class_name(parts, c)!r}, so it cannot be "
            "learned; put a node that has it into the training split, or remove the label."
        )


def _class_name(parts: Parts, number: int) -> str:
    return str(number if parts.class_names is None else parts.class_names[number])

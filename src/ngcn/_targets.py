"""Convert a scikit-learn y, in which -1 means unlabelled, to the labels of a `Graph`; hold out validation labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ngcn.errors import GraphError
from ngcn.graph import UNKNOWN
from ngcn.memory import check_memory

Targets = tuple[np.ndarray, np.ndarray, np.ndarray]


def read_targets(y: Any) -> Targets:
    """Class numbers (or a 0/1 matrix), a mask of the labelled nodes, and the label of each class number.

    ``y`` has class names or numbers, and -1 for unlabelled; or it is a 0/1 matrix, with rows of -1. A y of only -1 and
    1 has two classes: with -1 as unlabelled there would be only one.

    Example:
        >>> read_targets(np.array(["cat", -1, "dog"], dtype=object))
        (array([ 0, -1,  1]), array([ True, False,  True]), array(['cat', 'dog'], dtype=object))
    """
    y = dense(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return _read_matrix(y)
    y = column_or_1d(y, warn=True)
    known = np.asarray(y != UNKNOWN, dtype=bool)
    for text in ("-1", "") if y.dtype.kind in "USO" else ():
        if text in y.tolist():
            warnings.warn(
                f"The text {text!r} in y is read as a class. For unlabelled nodes use the number -1 in an object "
                f"array, such as np.where(y == {text!r}, -1, y.astype(object)).",
                stacklevel=3,
            )
    if not known.any():
        raise GraphError("y has no labels, only -1 for unlabelled; label nodes of at least two classes.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # few labels of many classes are usual here
        check_classification_targets(np.array(y[known].tolist()))
    if y.dtype.kind != "O" and (y[known] == 1).all():
        known[:] = True  # -1 is the other class
    classes, numbers = np.unique(y[known], return_inverse=True)
    if len(classes) < 2:
        raise GraphError(
            f"y has labels of one class only, {classes.tolist()[0]!r}; label nodes of at least two classes."
        )
    labels = np.full(len(y), UNKNOWN)
    labels[known] = numbers
    return labels, known, classes


def dense(y: Any) -> np.ndarray:
    """A y as an array; the memory that a sparse one takes is checked first."""
    if not sp.issparse(y):
        try:
            return np.asarray(y)
        except RuntimeError as error:  # a tensor that requires a gradient
            raise TypeError(str(error)) from None
    remedy = "it has a column per class, so check its shape"
    check_memory(y.dtype.itemsize * y.shape[0] * y.shape[1], f"y of shape {y.shape}", remedy, GraphError)
    return np.asarray(y.toarray())


def _read_matrix(y: np.ndarray) -> Targets:
    known = ~(y == UNKNOWN).all(axis=1)
    if not known.any():
        raise GraphError("y has no labels, only rows of -1 for unlabelled; label some nodes.")
    if not np.isin(y[known], (0, 1)).all():
        raise ValueError(
            f"Unknown label type: {type_of_target(y[known])}. A y of several columns must be zeros and ones, one "
            "column per class."
        )
    return np.where(known[:, None], y, 0), known, np.arange(y.shape[1])


def check_not_missing(y: Any) -> None:
    """Raise an error for None and NaN, the missing values of data frames."""
    y = y.tocoo().data if sp.issparse(y) else y
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    if kind in ("O", "f") and any(label is None or label != label for label in np.ravel(y).tolist()):
        raise GraphError("y contains None or nan; use -1 for unlabelled nodes.")


def part_of_each_class(
    labels: np.ndarray, train: np.ndarray, share: float, random: np.random.RandomState
) -> np.ndarray:
    """A mask of training nodes to hold out: this share of every class, rounded down.

    Example:
        >>> labels = np.repeat([0, 1, 2], [10, 5, 1])
        >>> val = part_of_each_class(labels, labels >= 0, 0.2, np.random.RandomState(0))
        >>> np.bincount(labels[val], minlength=3)
        array([2, 1, 0])
    """
    if not 0 <= share < 1:
        raise GraphError(f"validation_fraction must be a number from 0 up to but not including 1, not {share!r}.")
    held_out = np.zeros(len(train), dtype=bool)
    groups = [train] if labels.ndim == 2 else [train & (labels == c) for c in np.unique(labels[train])]
    for group in groups:
        members = random.permutation(np.flatnonzero(group))
        held_out[members[: int(share * len(members))]] = True
    return held_out

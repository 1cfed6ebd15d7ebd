"""Splits into training, validation and test nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ngcn.data.parts import UNKNOWN, Masks
from ngcn.errors import DatasetError


def random_split(
    labels: np.ndarray, per_class: int, val: int = 500, test: int = 1000, seed: int = 0, names: Sequence[str] = ()
) -> Masks:
    """Draw ``per_class`` training nodes of every class, then validation and test nodes from the other labelled nodes.

    The latter are drawn whatever their labels. If too few are left, all of them are used, in the same proportion. The
    error message about a class with too few nodes uses the ``names`` of the classes.

    Example:
        >>> labels = np.repeat([0, 1, -1], 20)
        >>> train, val, test = random_split(labels, per_class=5, val=10, test=10, seed=7)
        >>> np.bincount(labels[train]), val.sum(), test.sum(), (train | val | test)[40:].any()
        (array([5, 5]), np.int64(10), np.int64(10), np.False_)
    """
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise DatasetError("A random split per class needs one label per node, but these labels are multi-label.")
    if min(per_class, val, test) < 1:
        raise DatasetError(f"A split needs 1 node or more of each kind, but got {per_class=}, {val=}, {test=}.")
    known = labels != UNKNOWN
    needed = f"The split needs {per_class} training nodes per class"
    if not known.any():
        raise DatasetError(f"{needed}, but no node is labelled.")
    classes, sizes = np.unique(labels[known], return_counts=True)
    if sizes.min() < per_class:
        rarest = classes[sizes.argmin()]
        name = names[rarest] if names else rarest
        raise DatasetError(f"{needed}, but class {name} has {sizes.min()}; use a smaller number.")

    random = np.random.default_rng(seed)
    masks = np.zeros((3, len(labels)), bool)
    for c in classes:
        masks[0, random.choice(np.flatnonzero(labels == c), per_class, replace=False)] = True
    rest = random.permutation(np.flatnonzero(known & ~masks[0]))
    if len(rest) < val + test:
        val = round(len(rest) * val / (val + test))
        test = len(rest) - val
        if not (val and test):
            left = f"{len(rest)} labelled node(s) are left for validation and test"
            raise DatasetError(f"With {per_class} training nodes per class, {left}; use a smaller number.")
    masks[1, rest[:val]] = masks[2, rest[val : val + test]] = True
    return masks[0], masks[1], masks[2]


def draw_split(labelled: np.ndarray, labels: np.ndarray | None, seed: int = 0) -> Masks:
    """Draw half of the labelled nodes of each class for training, a quarter each for validation and test.

    The first node of a class goes to training, the second to validation. For multi-label nodes (``labels`` is a 0/1
    matrix or None) the draw ignores classes; then one node of each label that training lacks moves to training.
    """
    random = np.random.default_rng(seed)
    masks = np.zeros((3, len(labelled)), bool)
    groups = np.where(labelled, 0 if labels is None or labels.ndim == 2 else labels, UNKNOWN)
    for group in np.unique(groups[groups != UNKNOWN]):
        members = random.permutation(np.flatnonzero(groups == group))
        train = -(-len(members) // 2)  # rounded up
        val = -(-(len(members) - train) // 2)
        for mask, part in zip(masks, np.split(members, [train, train + val]), strict=True):
            mask[part] = True
    _move_missing_labels(masks, labels)
    return masks[0], masks[1], masks[2]


def draw_graphs(graph_of: np.ndarray, labelled: np.ndarray, seed: int = 0) -> Masks:
    """Draw whole graphs in the same proportions, so that validation and test use graphs that training does not see."""
    graphs = np.unique(graph_of[labelled])
    masks = draw_split(np.ones(len(graphs), bool), None, seed)
    train, val, test = (labelled & np.isin(graph_of, graphs[mask]) for mask in masks)
    return train, val, test


def hold_out(train: np.ndarray, labels: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return masks: three quarters of the training nodes (of each class, unless multi-label), and the last quarter."""
    half, quarter, last = draw_split(train, labels if labels.ndim == 1 else None, seed)
    masks = np.stack((half | quarter, last) if last.any() else (half, quarter))
    _move_missing_labels(masks, labels)
    return masks[0], masks[1]


def _move_missing_labels(masks: np.ndarray, labels: np.ndarray | None) -> None:
    """For each label of a 0/1 matrix that the first mask lacks, move the first node that has it to that mask."""
    if labels is None or labels.ndim == 1:
        return
    drawn = masks.any(axis=0)
    for label in labels.T:
        has = np.flatnonzero(drawn & (label != 0))
        if len(has) and not masks[0, has].any():
            masks[:, has[0]] = np.arange(len(masks)) == 0

"""Which nodes to learn from, to choose by, and to be judged on."""

from __future__ import annotations

import numpy as np

from ngcn.data.catalog import DatasetError
from ngcn.graph import UNKNOWN


def random_split(
    labels: np.ndarray, per_class: int, val: int = 500, test: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``per_class`` training nodes of every class, then validation and test nodes from the other labelled nodes.

    Validation and test nodes are drawn without regard to their labels. Where fewer than ``val + test`` labelled nodes
    are left, all of them are used, in that proportion.

    Args:
        labels: ``(nodes,)`` class numbers, -1 where unknown.
        per_class, val, test: how many nodes of each kind.
        seed: the same seed gives the same split.

    Returns:
        The masks of training, validation and test nodes, ``(nodes,)`` each.

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
    classes, sizes = np.unique(labels[labels != UNKNOWN], return_counts=True)
    if (sizes < per_class).any() or not len(sizes):
        scarce = f"class {classes[sizes.argmin()]} has {sizes.min()}" if len(sizes) else "none is labelled"
        raise DatasetError(f"{per_class} training nodes per class were asked for, but {scarce}; ask for fewer.")

    random = np.random.default_rng(seed)
    chosen = [random.choice(np.flatnonzero(labels == c), per_class, replace=False) for c in classes]
    train = np.zeros(len(labels), bool)
    train[np.concatenate(chosen)] = True
    rest = random.permutation(np.flatnonzero((labels != UNKNOWN) & ~train))
    if len(rest) < val + test:
        val = round(len(rest) * val / (val + test))
        test = len(rest) - val
        if not (val and test):
            raise DatasetError(
                f"With {per_class} training nodes per class, {len(rest)} labelled node(s) are left, too few to "
                "validate and test on; ask for fewer."
            )
    masks = np.zeros((2, len(labels)), bool)
    masks[0, rest[:val]] = masks[1, rest[val : val + test]] = True
    return train, masks[0], masks[1]

"""`Parts`: what a file or an object says about a graph. :mod:`ngcn.graph` turns it into a `Graph`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.errors import DatasetError

UNKNOWN = -1  # the label of a node whose class is unknown
Masks = tuple[np.ndarray, np.ndarray, np.ndarray]  # training, validation and test nodes
Matrix = Any  # a numpy array or a scipy sparse array

log = logging.getLogger("ngcn.data")  # for warnings about a user's data; Python prints them on stderr by default


class Block(NamedTuple):
    """Some columns of the feature matrix.

    Attributes:
        matrix: ``(nodes, features)``, dense or sparse.
        names: one name per feature; ``"0", "1", ...`` if not given.
        one_hot: the column that this block encodes, if it is a one-hot encoding.
        sparse: whether the features come from (id, feature, value) rows. A graph may lack some of them.
    """

    matrix: Matrix
    names: Sequence[str] | None = None
    one_hot: str = ""
    sparse: bool = False


class Problem(NamedTuple):
    """An error that is raised when the parts become a graph, or only when that graph is for training."""

    error: DatasetError
    training_only: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """What the data say, before a split is drawn or features are matched to those of a model.

    Args:
        adjacency: ``(nodes, nodes)`` edge weights.
        features: blocks of columns, side by side; empty if there are no features.
        labels: ``(nodes,)`` class numbers with -1 for unknown, a ``(nodes, classes)`` 0/1 matrix, or None.
        masks: the split, if the data have one.
        labelled: ``(nodes,)`` which rows of a 0/1 matrix of labels are known; all if not given.
        graph_of: ``(nodes,)`` the graph that each node belongs to, if there are several.
        class_names: one name per class number; None if the classes have no names.
        node_ids: ``(nodes,)``.
        name: the name of the graph.
        node_columns: how many of the first features are columns of a table of nodes.
        source: the file, for error messages.
        label_at: describes the location of all labels (None) or of the label of one node in messages.
        published: whether these are the files of a benchmark. Their split is used without checks and warnings.
        problems: errors that the reader found and that may not matter, in order of importance.
    """

    adjacency: sp.csr_array
    features: Sequence[Block] = ()
    labels: np.ndarray | None = None
    masks: Masks | None = None
    labelled: np.ndarray | None = None
    graph_of: np.ndarray | None = None
    class_names: Sequence[str] | None = None
    node_ids: np.ndarray | None = None
    name: str = "graph"
    node_columns: int = 0
    source: str = ""
    label_at: Callable[[int | None], str] | None = None
    published: bool = False
    problems: Sequence[Problem] = ()

    @property
    def nodes(self) -> int:
        return self.adjacency.shape[0]

    def describe_labels(self, node: int | None = None) -> str:
        """The location of the labels, or of one node's label, for messages."""
        return self.label_at(node) if self.label_at else self.name


def number_classes(labels: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return class numbers for an array of class names, and the sorted names. None, nan and "" are unknown.

    Example:
        >>> number_classes(np.array(["dog", "", "cat"]))
        (array([ 1, -1,  0]), ['cat', 'dog'])
    """
    labels = labels.astype(str) if labels.dtype.kind == "S" else labels
    texts = ["" if label is None or label != label else str(label) for label in labels.tolist()]
    names = sorted(set(texts) - {""})
    number = {name: number for number, name in enumerate(names)}
    return np.array([number.get(text, UNKNOWN) for text in texts], np.int64), names

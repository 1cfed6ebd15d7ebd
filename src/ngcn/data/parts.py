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
    """Some columns of the feature matrix."""

    matrix: Matrix  # (nodes, features)
    names: Sequence[str] | None = None  # "0", "1", ... if not given
    one_hot: str = ""  # the column whose one-hot encoding this is
    sparse: bool = False  # from rows of (id, feature, value): a graph may lack some of these features


class Problem(NamedTuple):
    """An error that is raised when the parts become a graph, or only when that graph is for training."""

    error: DatasetError
    training_only: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """What the data say, before a split is drawn or features are matched to those of a model."""

    adjacency: sp.csr_array
    features: Sequence[Block] = ()  # side by side
    masks: Masks | None = None  # the split, if the data have one
    graph_of: np.ndarray | None = None  # (nodes,) the graph of each node, if there are several
    # These four may be None; they are typed for the code that runs after labels are checked.
    labels: np.ndarray = None  # type: ignore[assignment]  # (nodes,) class numbers, -1 unknown; or (nodes, classes) 0/1
    labelled: np.ndarray = None  # type: ignore[assignment]  # (nodes,) which rows of a 0/1 matrix are known; None: all
    class_names: Sequence[str] = None  # type: ignore[assignment]
    node_ids: np.ndarray = None  # type: ignore[assignment]
    name: str = "graph"
    node_columns: int = 0  # how many of the first features are columns of a table of nodes
    source: str = ""  # the file, for error messages
    label_at: Callable[[int | None], str] | None = None  # describes the location of the label of a node, or of all
    published: bool = False  # a benchmark: its split is used without checks and warnings
    problems: Sequence[Problem] = ()  # what the reader found, in order of importance

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

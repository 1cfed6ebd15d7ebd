"""`Parts`: what a file or an object says about a graph. :mod:`ngcn.graph` turns it into a `Graph`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.errors import GraphError, NGCNError, Problems

MOST_FEATURES = 10**7  # each has a name
DEFAULTS = {"label": "label", "unknown_nodes": "error"}  # of options for reading tables; those of others are empty
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """What the data say, before a split is drawn or features are matched to those of a model."""

    adjacency: sp.csr_array
    features: Sequence[Block] = ()  # side by side
    masks: Masks | None = None  # the split, if the data have one; the first of several
    splits: Sequence[Masks] = ()  # all of them, where there may be several
    graph_of: np.ndarray | None = None  # (nodes,) the graph of each node, if there are several
    # These four may be None; they are typed for the code that runs after labels are checked.
    labels: np.ndarray = None  # type: ignore[assignment]  # (nodes,) class numbers, -1 unknown; or (nodes, classes) 0/1
    labelled: np.ndarray = None  # type: ignore[assignment]  # (nodes,) which rows of a 0/1 matrix are known; None: all
    class_names: Sequence[str] = None  # type: ignore[assignment]
    node_ids: np.ndarray = None  # type: ignore[assignment]
    name: str = "graph"
    node_columns: int = 0  # how many of the first features are columns of a table of nodes
    columns: Sequence[Any] = ()  # of a table of nodes: the `Column` that each is read as
    column_facts: Callable[[], list[Any]] = list  # describes every column of a table of nodes as `ColumnFacts`
    source: str = ""  # the file, for error messages
    label_at: Callable[[int | None], str] | None = None  # describes the location of the label of a node, or of all
    published: bool = False  # a benchmark: its split is used without checks and warnings
    read_with: Mapping[str, Any] = field(default_factory=dict)  # options that other tables are read with, too
    errors: Sequence[NGCNError] = ()  # raised when the parts become a graph
    training_errors: Sequence[NGCNError] = ()  # raised with them, if that graph is for training

    @property
    def problems(self) -> Problems:
        """All errors."""
        return Problems([*self.errors, *self.training_errors])

    @property
    def nodes(self) -> int:
        return self.adjacency.shape[0]

    def describe_labels(self, node: int | None = None) -> str:
        """The location of the labels, or of one node's label, for messages."""
        return self.label_at(node) if self.label_at else self.name


def without_defaults(**options: Any) -> dict[str, Any]:
    """The options for reading tables that do not have their defaults.

    Example:
        >>> without_defaults(id="number", label="label", ignore=[])
        {'id': 'number'}
    """
    return {option: value for option, value in options.items() if value and value != DEFAULTS.get(option)}


def number_classes(labels: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return class numbers for an array of class names, and the sorted names. None, nan and "" are unknown."""
    labels = labels.astype(str) if labels.dtype.kind == "S" else labels
    texts = ["" if label is None or label != label else str(label) for label in labels.tolist()]
    names = sorted(set(texts) - {""})
    number = {name: number for number, name in enumerate(names)}
    return np.array([number.get(text, UNKNOWN) for text in texts], np.int64), names


def all_masks(parts: Sequence[np.ndarray | None], nodes: int) -> list[Masks]:
    """Return the splits in arrays of training, validation and test masks; none without masks for training.

    Masks are rows, or columns if only columns have an entry per node. A missing mask is empty; a single one is in every
    split.

    Example:
        >>> splits = all_masks([np.eye(3)[:2], np.eye(3)[1:], np.array([1, 0, 0])], nodes=3)
        >>> [[mask.nonzero()[0].tolist() for mask in masks] for masks in splits]
        [[[0], [1], [0]], [[1], [2], [0]]]
    """
    if parts[0] is None:
        return []
    rows = [np.zeros((1, nodes), bool) if part is None else _mask_rows(part, nodes) for part in parts]
    splits = max(map(len, rows))
    if any(len(masks) not in (1, splits) for masks in rows):
        numbers = ", ".join(str(len(masks)) for masks in rows)
        raise GraphError(f"The numbers of training, validation and test masks differ: {numbers}; each split needs one.")
    train, val, test = (np.broadcast_to(masks, (splits, nodes)) for masks in rows)
    return list(zip(train, val, test, strict=True))


def first_masks(parts: Sequence[np.ndarray | None], nodes: int) -> Masks | None:
    """Return the first split of :func:`all_masks`; None without any."""
    return next(iter(all_masks(parts, nodes)), None)


def _mask_rows(part: np.ndarray, nodes: int) -> np.ndarray:
    rows = np.atleast_2d(part)
    rows = rows if rows.shape[1] == nodes else rows.T
    if rows.ndim != 2 or rows.shape[1] != nodes:
        raise GraphError(f"A split has shape {part.shape}; it needs a row with an entry for each of {nodes} nodes.")
    return rows.astype(bool)


def one_way(sources: np.ndarray, targets: np.ndarray, nodes: int, weights: np.ndarray | None = None) -> sp.csr_array:
    """Return the adjacency of directed edges. The weights of repeated edges add up; without weights, each is 1."""
    given = np.ones(len(sources), np.float32) if weights is None else weights
    adjacency = sp.csr_array((given, (sources, targets)), shape=(nodes, nodes))
    adjacency.sum_duplicates()
    if weights is None:
        adjacency.data[:] = 1
    return adjacency


def both_ways(sources: np.ndarray, targets: np.ndarray, nodes: int) -> sp.csr_array:
    """Return the symmetric 0/1 adjacency of undirected edges. Edges may be repeated in either direction."""
    adjacency = one_way(sources, targets, nodes)
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1
    return adjacency


def checked_csr(matrix: Any) -> sp.csr_array:
    """The matrix in CSR form, with numbers that SciPy computes with; a ValueError as for :func:`check_csr`."""
    if hasattr(matrix, "indptr"):
        check_csr(matrix)  # before it is converted
    matrix = sp.csr_array(matrix)
    check_csr(matrix)
    return matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix


def check_csr(matrix: Any) -> None:
    """Raise a ValueError if the arrays of a CSR or CSC matrix do not fit together; using it could crash.

    SciPy's own check takes a matrix with a negative number of entries for one without any.

    Example:
        >>> check_csr(sp.csr_array((np.ones(2), [0, 1], [0, 2, -1]), shape=(2, 2)))
        Traceback (most recent call last):
        ...
        ValueError: its rows do not ascend in indptr
    """
    matrix.check_format(full_check=True)
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its rows do not ascend in indptr")

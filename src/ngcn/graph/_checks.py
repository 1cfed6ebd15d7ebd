"""Validate and convert the fields of a `Graph`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ngcn.data.parts import UNKNOWN
from ngcn.errors import GraphError

if TYPE_CHECKING:
    from ngcn.graph.graph import Graph


def adjacency_matrix(given: Any) -> sp.csr_array:
    if not sp.issparse(given):
        given = np.asarray(given)
    if given.ndim != 2:
        raise GraphError(f"The adjacency must be a matrix, but it has {given.ndim} dimension(s).")
    rows, columns = given.shape
    if rows != columns:
        raise GraphError(f"The adjacency must be square, but it is {rows} x {columns}.")
    if rows == 0:
        raise GraphError("The graph has no nodes.")
    adjacency = _csr(given, "An edge leads to node {bad}, but the nodes are numbered 0 to {last}.")
    _check_finite(adjacency, "edge weight", "edge from node {row} to node {column}")
    if (adjacency.data < 0).any():
        row, column = _where(adjacency, adjacency.data < 0)
        raise GraphError(f"The edge from node {row} to node {column} has a negative weight; weights must be 0 or more.")
    adjacency.sum_duplicates()
    adjacency.eliminate_zeros()
    return adjacency


def feature_matrix(given: Any, nodes: int) -> sp.csr_array | np.ndarray:
    features: sp.csr_array | np.ndarray
    if sp.issparse(given):
        matrix = _csr(given, "The features have an entry in row or column {bad}, but the last one is {last}.")
        matrix.sum_duplicates()
        features = matrix
    else:
        features = np.array(given, dtype=np.float32)
        if features.ndim != 2:
            raise GraphError(f"The features must be a matrix (nodes x features), but have shape {features.shape}.")
    if features.shape[0] != nodes:
        raise GraphError(f"The features have {features.shape[0]} rows, but the graph has {nodes} nodes.")
    if features.shape[1] == 0:
        raise GraphError("There are no features; use the identity instead: scipy.sparse.eye_array(nodes).")
    _check_finite(features, "feature", "node {row}, feature {column}")
    return features


def label_array(given: object, nodes: int) -> np.ndarray:
    labels = np.array(given)
    if labels.ndim not in (1, 2) or labels.shape[0] != nodes:
        raise GraphError(
            f"The labels must have one entry (or one row, for multi-label) for each of the {nodes} nodes, "
            f"but have shape {labels.shape}."
        )
    if labels.ndim == 2:
        if not np.isin(labels, (0, 1)).all():
            raise GraphError("Multi-label labels must be a matrix of zeros and ones.")
        return labels.astype(np.float32)
    numeric = labels.dtype.kind in "biuf" and np.isfinite(labels).all()
    whole = labels.astype(np.int64) if numeric else None
    if whole is None or (whole != labels).any():
        raise GraphError("Labels must be whole class numbers, with -1 where the class is unknown.")
    if (whole < UNKNOWN).any():
        node = int(np.argmax(whole < UNKNOWN))
        raise GraphError(f"Node {node} has label {whole[node]}; use -1 for unknown.")
    return whole


def mask_array(given: object, nodes: int, split: str) -> np.ndarray:
    mask = np.array(given)
    if mask.shape != (nodes,) or mask.dtype != bool:
        raise GraphError(
            f"The {split} mask must be {nodes} booleans, one per node, but is {mask.dtype} with shape {mask.shape}."
        )
    return mask


def id_array(given: object, nodes: int) -> np.ndarray:
    if given is None:
        return np.arange(nodes)
    ids = np.array(given)
    if ids.shape != (nodes,):
        raise GraphError(f"There are {nodes} nodes, but the node ids have shape {ids.shape}.")
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) < nodes:
        raise GraphError(f"The node id {unique[counts > 1].tolist()[0]!r} is used for more than one node.")
    return ids


def class_name_tuple(given: Sequence[str] | None, labels: np.ndarray) -> tuple[str, ...]:
    needed = labels.shape[1] if labels.ndim == 2 else int(labels.max(initial=UNKNOWN)) + 1
    if given is None:
        return tuple(str(c) for c in range(needed))
    if len(given) < needed or (labels.ndim == 2 and len(given) != needed):
        raise GraphError(f"The labels have {needed} classes, but there are {len(given)} class names.")
    return _check_unique(given, "class")


def feature_name_tuple(given: Sequence[str] | None, features: int) -> tuple[str, ...]:
    if given is None:
        return tuple(map(str, range(features)))
    if len(given) != features:
        raise GraphError(f"There are {features} features, but {len(given)} feature names.")
    return _check_unique(given, "feature")


def _check_unique(given: Sequence[str], what: str) -> tuple[str, ...]:
    names = Counter(map(str, given))
    if len(names) < len(given):
        raise GraphError(f"The {what} name {names.most_common(1)[0][0]!r} is used for more than one {what}.")
    return tuple(names)


def check_split(graph: Graph) -> None:
    masks = {"train": graph.train, "val": graph.val, "test": graph.test}
    for first, second in (("train", "val"), ("train", "test"), ("val", "test")):
        both = masks[first] & masks[second]
        if both.any():
            raise GraphError(
                f"{both.sum()} node(s) are in both the {first} and the {second} split, node {int(np.argmax(both))} "
                "the first of them; a node may be in one split only."
            )
    if graph.multilabel:
        return
    for split, mask in masks.items():
        unlabelled = mask & (graph.labels == UNKNOWN)
        if unlabelled.any():
            raise GraphError(
                f"{unlabelled.sum()} {split} node(s) have no label, node {int(np.argmax(unlabelled))} the first of "
                f"them; label them or remove them from the {split} split."
            )


def _csr(given: Any, out_of_range: str) -> sp.csr_array:
    """Return a copy. Check indices first: scipy crashes on those out of range."""
    if getattr(given, "format", None) in ("csr", "csc"):
        last = given.shape[given.format == "csr"] - 1
        bad = given.indices[(given.indices < 0) | (given.indices > last)]
        if len(bad):
            raise GraphError(out_of_range.format(bad=bad[0], last=last))
    return sp.csr_array(given, dtype=np.float32, copy=True)


def _check_finite(matrix: sp.csr_array | np.ndarray, what: str, place: str) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = _where(matrix, bad) if sp.issparse(matrix) else np.argwhere(bad)[0]
        raise GraphError(
            f"{bad.sum()} {what}(s) are NaN or infinite, the first at {place.format(row=row, column=column)}; "
            "replace or remove them."
        )


def _where(matrix: sp.csr_array, entries: np.ndarray) -> tuple[int, int]:
    """Return the (row, column) of the first marked entry of a CSR matrix."""
    entry = int(np.argmax(entries))
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])

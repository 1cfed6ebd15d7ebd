"""Validate and convert the fields of a `Graph`; check data that are to be trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ngcn.data.cells import MISSING, alike_but_for_case, are_fractions
from ngcn.data.parts import MOST_FEATURES, UNKNOWN, Matrix, Parts, check_csr, log
from ngcn.errors import DatasetError, GraphError
from ngcn.text import shown

MOST_CLASSES = 10_000  # or as many as there are nodes
NO_LABEL = (*MISSING[1:], "unknown", "-1")


def adjacency_matrix(given: Any) -> sp.csr_array:
    if not sp.issparse(given):
        given = numbers(given, "adjacency")
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise GraphError(f"The adjacency must be a square matrix, but it has shape {given.shape}.")
    if given.shape[0] == 0:
        raise GraphError("The graph has no nodes.")
    adjacency = _csr(given, "An edge leads to node {bad}, but the nodes are numbered 0 to {last}.")
    _check_finite(adjacency, "edge weight", "edge from node {} to node {}")
    if (adjacency.data < 0).any():
        row, column = _where(adjacency, adjacency.data < 0)
        raise GraphError(f"The edge from node {row} to node {column} has a negative weight; weights must be 0 or more.")
    adjacency.sum_duplicates()
    adjacency.eliminate_zeros()
    return adjacency


def feature_matrix(given: Any, nodes: int) -> Matrix:
    if sp.issparse(given):
        features: Matrix = _csr(given, "The features have an entry in row or column {bad}, but the last one is {last}.")
        features.sum_duplicates()
    else:
        features = numbers(given, "features").astype(np.float32)
        if features.ndim != 2:
            raise GraphError(f"The features must be a matrix (nodes x features), but have shape {features.shape}.")
    if features.shape[0] != nodes:
        raise GraphError(f"The features have {features.shape[0]} rows, but the graph has {nodes} nodes.")
    if features.shape[1] > MOST_FEATURES:
        raise GraphError(f"There are {features.shape[1]:,} features; at most {MOST_FEATURES:,} can be used.")
    if features.shape[1] == 0:
        raise GraphError("There are no features; use the identity instead: scipy.sparse.eye_array(nodes).")
    values = features.data if sp.issparse(features) else features
    unknown = np.isnan(values)
    if unknown.any():
        values[unknown] = np.nan  # whatever its bits and sign: they would change the fingerprint
    _check_finite(features, "feature", "node {}, feature {}", missing=unknown)
    return features


def numbers(given: Any, what: str) -> np.ndarray:
    """Return an array of real numbers."""
    try:
        array = np.asarray(given)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError, OverflowError, RuntimeError):  # RuntimeError: a tensor that requires a gradient
        raise GraphError(f"The {what} must be a matrix of numbers, not {shown(given)}.") from None
    if array.dtype.kind not in "biuf":
        raise GraphError(f"The {what} must be real numbers, not values of type {array.dtype}.")
    return array


def label_array(given: object, nodes: int) -> np.ndarray:
    labels = _array(given, "labels")
    if labels.ndim not in (1, 2) or labels.shape[0] != nodes:
        raise GraphError(f"The labels need an entry or a row for each of {nodes} nodes, but have shape {labels.shape}.")
    if labels.ndim == 2:
        if not np.isin(labels, (0, 1)).all():
            raise GraphError("Multi-label labels must be a matrix of zeros and ones.")
        return labels.astype(np.float32)
    numeric = labels.dtype.kind in "biuf" and np.isfinite(labels).all() and (np.abs(labels) < 2**62).all()
    whole = labels.astype(np.int64) if numeric else None
    if whole is None or (whole != labels).any():
        raise GraphError("Labels must be whole class numbers, with -1 where the class is unknown.")
    if (whole < UNKNOWN).any():
        node = int(np.argmax(whole < UNKNOWN))
        raise GraphError(f"Node {node} has label {whole[node]}; use -1 for unknown.")
    if (largest := whole.max(initial=0)) >= max(MOST_CLASSES, nodes):
        raise GraphError(
            f"Node {int(whole.argmax())} has label {largest}, so there would be {largest + 1:,} classes; number the "
            "classes 0, 1, 2, ..., for instance with np.unique(labels, return_inverse=True)."
        )
    return whole


def mask_array(given: object, nodes: int, split: str) -> np.ndarray:
    mask = _array(given, f"{split} mask")
    if mask.shape != (nodes,) or mask.dtype != bool:
        found = f"{mask.dtype} with shape {mask.shape}"
        raise GraphError(f"The {split} mask must be {nodes} booleans, one per node, but is {found}.")
    return mask


def id_array(given: object, nodes: int) -> np.ndarray:
    if given is None:
        return np.arange(nodes)
    ids = _array(given, "node ids")
    if ids.shape != (nodes,):
        raise GraphError(f"There are {nodes} nodes, but the node ids have shape {ids.shape}.")
    if ids.dtype.kind == "O" and all(isinstance(node, str) for node in ids.tolist()):
        ids = ids.astype(str)
    if ids.dtype.kind not in "iufU":
        raise GraphError("The node ids must be all numbers or all text; convert them with list(map(str, ids)).")
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) < nodes:
        raise GraphError(f"The node id {unique[counts > 1].tolist()[0]!r} is used for more than one node.")
    return ids


def class_name_tuple(given: Sequence[str] | None, labels: np.ndarray) -> tuple[str, ...]:
    """Class numbers may leave out the last classes; the columns of a 0/1 matrix may not."""
    if labels.ndim == 2:
        return name_tuple(given, labels.shape[1], "class", "classes")
    used = int(labels.max(initial=UNKNOWN)) + 1
    if given is not None and not isinstance(given, Sequence | np.ndarray):
        raise GraphError(f"The class names must be a list, not {shown(given)}.")
    return name_tuple(given, used if given is None else max(used, len(given)), "class", "classes")


def name_tuple(given: Sequence[str] | None, number: int, what: str, plural: str) -> tuple[str, ...]:
    if given is None:
        return tuple(map(str, range(number)))
    if isinstance(given, str | memoryview) or not isinstance(given, Sequence | np.ndarray):
        raise GraphError(f"The {what} names must be a list, not {shown(given)}.")
    if len(given) != number:
        raise GraphError(f"There are {number} {plural}, but {len(given)} {what} names.")
    names = Counter(map(str, given))
    if len(names) < len(given):
        raise GraphError(f"The {what} name {names.most_common(1)[0][0]!r} is used for more than one {what}.")
    return tuple(names)


def check_split(masks: Mapping[str, np.ndarray], labels: np.ndarray) -> None:
    for first, second in combinations(masks, 2):
        both = masks[first] & masks[second]
        if both.any():
            raise GraphError(
                f"{both.sum()} node(s) are in both the {first} and the {second} split, node {int(np.argmax(both))} "
                "the first of them; a node may be in one split only."
            )
    for split, mask in masks.items():
        unlabelled = mask & (labels == UNKNOWN) if labels.ndim == 1 else np.array(False)
        if unlabelled.any():
            raise GraphError(
                f"{unlabelled.sum()} {split} node(s) have no label, node {int(np.argmax(unlabelled))} the first of "
                f"them; label them or remove them from the {split} split."
            )


def check_labels(parts: Parts) -> None:
    """Raise an error if there are too few labels or classes; warn about those that may not be intended."""
    at = parts.describe_labels()
    if not parts.labelled.any():
        raise DatasetError(f"{at}: no node has a label; training needs some of each class.")
    most, share = "", 0.0  # the largest class
    if parts.labels.ndim == 1:
        classes, counts = np.unique(parts.labels[parts.labelled], return_counts=True)
        most, share = _class_name(parts, classes[counts.argmax()]), counts.max() / counts.sum()
        if len(classes) < 2:
            raise DatasetError(f"{at}: all labels are {most!r}; training needs two classes.")
        if 2 * (counts == 1).sum() > len(classes) and parts.label_at:
            _check_numbers(parts, classes, counts.sum())
    names = parts.class_names if parts.label_at else ()
    if names and (alike := alike_but_for_case(_nodes_of_classes(parts))):
        log.warning(f"{at}: {alike} differ only in upper and lower case; if they are one class, write them alike.")
    if unknown := [name for name in names if name.lower() in NO_LABEL]:
        log.warning(f"{at}: {unknown[0]!r} is read as a class; leave the cell empty if the label is unknown.")
    if parts.labels.ndim == 1 and (several := [name for name in names if "|" in name]):
        log.warning(f"{at}: {several[0]!r} is read as one class; `multilabel=True` would read several labels.")
    if share > 0.8:
        log.warning(
            f"{parts.name}: {100 * share:.0f} % of the labels are {most!r}; always predicting it has the same accuracy."
        )


def _check_numbers(parts: Parts, classes: np.ndarray, nodes: int) -> None:
    """Raise an error about labels that are measured, not counted: most of them are of a single node."""
    if are_fractions(pa.array([_class_name(parts, c) for c in classes])):
        raise DatasetError(
            f"{parts.describe_labels()}: there are {len(classes):,} different numbers for {nodes:,} nodes, but ngcn "
            "predicts classes, not numbers; divide them into ranges, or use another column of labels with "
            "`label='COLUMN'`."
        )


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


def _nodes_of_classes(parts: Parts) -> dict[str, int]:
    labels = parts.labels[parts.labelled]
    counts = np.bincount(labels) if labels.ndim == 1 else labels.sum(axis=0).astype(int)
    return dict(zip(parts.class_names, counts.tolist(), strict=True))


def _class_name(parts: Parts, number: int) -> str:
    return str(number if parts.class_names is None else parts.class_names[number])


def _csr(given: Any, out_of_range: str) -> sp.csr_array:
    """Return a copy. Check the structure first: scipy crashes on one that is inconsistent."""
    if given.dtype.kind not in "biuf":
        raise GraphError(f"A sparse matrix must have real numbers as entries, not values of type {given.dtype}.")
    if not sp.issparse(given):
        return sp.csr_array(given, dtype=np.float32)
    indices = getattr(given, "indices", None)
    if given.ndim == 2 and given.format in ("csr", "csc") and getattr(indices, "dtype", np.dtype("O")).kind in "iu":
        last = given.shape[given.format == "csr"] - 1
        bad = given.indices[(given.indices < 0) | (given.indices > last)]
        if len(bad):
            raise GraphError(out_of_range.format(bad=bad[0], last=last))
    try:
        if hasattr(given, "check_format"):  # csr, csc, bsr
            if any(getattr(given, part).dtype.kind != "i" for part in ("indptr", "indices")):
                raise ValueError("its indices are not integers")
            check_csr(given)
        elif given.format == "coo":
            given = sp.coo_array((given.data, (given.row, given.col)), shape=given.shape)  # checks them
            if len(given.data) != len(given.row):
                raise ValueError("its arrays differ in length")
        matrix = sp.csr_array(given, dtype=np.float32, copy=True)
        check_csr(matrix)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise GraphError(f"A sparse matrix is inconsistent: {str(error).rstrip('.')}; make it anew.") from None
    return matrix


def _array(given: Any, what: str) -> np.ndarray:
    try:
        return np.array(given)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths; a tensor that requires a gradient
        raise GraphError(f"The {what} must be an array, not {shown(given)}.") from None


def _check_finite(matrix: Matrix, what: str, place: str, missing: np.ndarray | None = None) -> None:
    """Raise an error for infinite entries, and for NaN, unless NaN is for ``missing`` values."""
    bad = ~np.isfinite(matrix.data if sp.issparse(matrix) else matrix)
    if missing is not None:
        bad &= ~missing
    if bad.any():
        first, are = place.format(*_where(matrix, bad)), "infinite" if missing is not None else "NaN or infinite"
        raise GraphError(f"{bad.sum()} {what}(s) are {are}, the first at {first}; replace or remove them.")


def _where(matrix: Matrix, bad: np.ndarray) -> tuple[int, int]:
    """Return the (row, column) of the first marked entry of an array or a sparse matrix."""
    first = int(np.argmax(bad))
    if sp.issparse(matrix):
        return matrix.tocoo().row[first], matrix.indices[first]
    return divmod(first, matrix.shape[1])

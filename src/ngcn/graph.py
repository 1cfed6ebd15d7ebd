"""`Graph`: the one value that every way into the package produces and every model consumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

UNKNOWN = -1  # the label of a node whose class is not known


class GraphError(ValueError):
    """A graph that cannot be right; the message says what is wrong, where, and what to do about it."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with node features, some labels, and the split into training, validation and test nodes.

    A ``Graph`` checks itself once, when it is made, and is read-only from then on: whoever holds one may rely on it.

    Args:
        adjacency: ``(nodes, nodes)`` edge weights, any scipy sparse format; 1 for an unweighted edge. Self-connections
            and symmetry are the business of :func:`ngcn.ops.normalize`, not of the graph.
        features: ``(nodes, features)``, scipy sparse or dense.
        labels: ``(nodes,)`` class numbers with -1 for unknown, or a ``(nodes, classes)`` 0/1 matrix for multi-label.
        train, val, test: ``(nodes,)`` boolean masks; at most one of them holds for a node.
        node_ids: ``(nodes,)`` the names of the nodes in the user's world; numbers from 0 if not given.
        class_names: one name per class; ``"0", "1", ...`` if not given.
        feature_names: one name per feature, all different; ``"0", "1", ...`` if not given.
        name: what to call the graph in tables and messages.

    Example:
        >>> import numpy as np, scipy.sparse as sp
        >>> path = sp.csr_array(np.diag(np.ones(3), 1))
        >>> mask = lambda *nodes: np.isin(np.arange(4), nodes)
        >>> graph = Graph(path, np.eye(4), [0, 0, 1, 1], mask(0, 3), mask(1), mask(2))
        >>> graph
        Graph('graph', nodes=4, edges=3, features=4, classes=2, train=2, val=1, test=1)
    """

    adjacency: sp.csr_array
    features: sp.csr_array | np.ndarray
    labels: np.ndarray
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray
    node_ids: np.ndarray | None = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    name: str = "graph"

    def __post_init__(self) -> None:
        def put(field: str, value: object) -> None:
            object.__setattr__(self, field, value)

        adjacency = _adjacency(self.adjacency)
        nodes = adjacency.shape[0]
        put("adjacency", adjacency)
        put("features", _features(self.features, nodes))
        put("labels", _labels(self.labels, nodes))
        for split in ("train", "val", "test"):
            put(split, _mask(getattr(self, split), nodes, split))
        put("node_ids", _node_ids(self.node_ids, nodes))
        put("class_names", _class_names(self.class_names, self.labels))
        put("feature_names", _feature_names(self.feature_names, self.features.shape[1]))
        _check_split(self)

    @property
    def nodes(self) -> int:
        return self.adjacency.shape[0]

    @property
    def edges(self) -> int:
        """Undirected edges, each counted once; self-connections count too."""
        pattern: Any = self.adjacency != 0
        both_ways = (pattern + pattern.T).tocsr()
        loops = int((both_ways.diagonal() != 0).sum())
        return (both_ways.nnz - loops) // 2 + loops

    @property
    def multilabel(self) -> bool:
        return self.labels.ndim == 2

    @property
    def classes(self) -> int:
        assert self.class_names is not None
        return len(self.class_names)

    def with_split(self, train: np.ndarray, val: np.ndarray, test: np.ndarray) -> Graph:
        """The same graph with other masks."""
        return replace(self, train=train, val=val, test=test)

    def reordered(self, order: np.ndarray) -> Graph:
        """The same graph with its nodes in another order: node ``order[i]`` comes i-th."""
        assert self.node_ids is not None
        per_node = {name: getattr(self, name)[order] for name in ("features", "labels", "train", "val", "test")}
        return replace(self, adjacency=self.adjacency[order][:, order], node_ids=self.node_ids[order], **per_node)

    @classmethod
    def from_tables(
        cls, nodes: str | Path, edges: str | Path, feature_table: str | Path | None = None, **how: Any
    ) -> Graph:
        """Read CSV, TSV or Parquet files, gzipped or not; ``how`` as in :func:`ngcn.data.tables.graph_from_tables`."""
        from ngcn.data.tables import read_tables

        return read_tables(nodes, edges, feature_table, **how)

    @classmethod
    def from_pandas(cls, nodes: Any, edges: Any, feature_table: Any = None, **how: Any) -> Graph:
        """Data frames with the columns that files would have: id, label, ..., and source, target, ...

        Example:
            >>> import pandas as pd
            >>> nodes = pd.DataFrame({"id": list("abcd"), "label": list("xxyy"), "split": ["train", "val"] * 2})
            >>> edges = pd.DataFrame({"source": list("ac"), "target": list("bd"), "weight": [1.0, 2.0]})
            >>> Graph.from_pandas(nodes.assign(age=[20, 30, 40, 50]), edges)
            Graph('graph', nodes=4, edges=2, features=1, classes=2, train=2, val=2, test=0)
        """
        from ngcn.data.adapters import from_pandas

        return from_pandas(nodes, edges, feature_table, **how)

    @classmethod
    def from_networkx(cls, G: Any, **how: Any) -> Graph:
        """A networkx graph: nodes' attributes are label, split, graph and features, edges' are weight."""
        from ngcn.data.adapters import from_networkx

        return from_networkx(G, **how)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any = None, labels: Any = None, **how: Any) -> Graph:
        """Matrices; labels are class numbers with -1 for unknown, names (None for unknown), or a 0/1 matrix.

        ``how`` may have ``masks`` (training, validation and test nodes), ``node_ids``, ``feature_names``,
        ``class_names``, ``name``, ``split`` and ``seed``.
        """
        from ngcn.data.adapters import from_scipy

        return from_scipy(adjacency, features, labels, **how)

    @classmethod
    def from_pyg(cls, data: Any, **how: Any) -> Graph:
        """A ``torch_geometric.data.Data``: x, edge_index, edge_weight, y and the masks, as far as it has them."""
        from ngcn.data.adapters import from_pyg

        return from_pyg(data, **how)

    def to_pyg(self) -> Any:
        """A ``torch_geometric.data.Data`` with x, edge_index, edge_weight, y and the masks."""
        from ngcn.data.adapters import to_pyg

        return to_pyg(self)

    def fingerprint(self) -> str:
        """A short text that changes with anything that training would notice, and with the order of the nodes."""
        assert self.node_ids is not None and self.class_names is not None
        digest = sha256(repr((self.class_names, self.feature_names, self.features.shape)).encode())
        arrays: list[Any] = [self.train, self.val, self.test, self.labels]
        matrices: tuple[Any, ...] = (self.adjacency, self.features)
        for matrix in matrices:
            arrays += (matrix.indptr, matrix.indices, matrix.data) if sp.issparse(matrix) else (matrix,)
        for array in arrays:
            kind = np.int64 if array.dtype.kind == "i" else array.dtype  # scipy picks int32 or int64 as it likes
            digest.update(np.ascontiguousarray(array, kind).data)
        digest.update("\n".join(map(str, self.node_ids.tolist())).encode())
        return digest.hexdigest()[:32]

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}, features={self.features.shape[1]}, "
            f"classes={self.classes}, train={self.train.sum()}, val={self.val.sum()}, test={self.test.sum()})"
        )


def _adjacency(given: Any) -> sp.csr_array:
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
        raise GraphError(
            f"The edge from node {row} to node {column} has a negative weight; random walks need weights of 0 or more."
        )
    adjacency.sum_duplicates()
    adjacency.eliminate_zeros()
    return adjacency


def _features(given: Any, nodes: int) -> sp.csr_array | np.ndarray:
    features: sp.csr_array | np.ndarray
    if sp.issparse(given):
        matrix = _csr(given, "The features have an entry in row or column {bad}, but those end at {last}.")
        matrix.sum_duplicates()
        features = matrix
    else:
        features = np.array(given, dtype=np.float32)
        if features.ndim != 2:
            raise GraphError(f"The features must be a matrix (nodes x features), but have shape {features.shape}.")
    if features.shape[0] != nodes:
        raise GraphError(f"The features have {features.shape[0]} rows, but the graph has {nodes} nodes.")
    if features.shape[1] == 0:
        raise GraphError("There are no features; without any, use the identity: scipy.sparse.eye_array(nodes).")
    _check_finite(features, "feature", "node {row}, feature {column}")
    return features


def _labels(given: object, nodes: int) -> np.ndarray:
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


def _mask(given: object, nodes: int, split: str) -> np.ndarray:
    mask = np.array(given)
    if mask.shape != (nodes,) or mask.dtype != bool:
        raise GraphError(
            f"The {split} mask must be {nodes} booleans, one per node, but is {mask.dtype} with shape {mask.shape}."
        )
    return mask


def _node_ids(given: object, nodes: int) -> np.ndarray:
    if given is None:
        return np.arange(nodes)
    ids = np.asarray(given)
    if ids.shape != (nodes,):
        raise GraphError(f"There are {nodes} nodes, but the node ids have shape {ids.shape}.")
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) < nodes:
        raise GraphError(f"The node id {unique[counts > 1].tolist()[0]!r} stands for more than one node.")
    return ids


def _class_names(given: Sequence[str] | None, labels: np.ndarray) -> tuple[str, ...]:
    needed = labels.shape[1] if labels.ndim == 2 else int(labels.max(initial=UNKNOWN)) + 1
    if given is None:
        return tuple(str(c) for c in range(needed))
    if len(given) < needed or (labels.ndim == 2 and len(given) != needed):
        raise GraphError(f"The labels have {needed} classes, but there are {len(given)} class names.")
    return tuple(str(name) for name in given)


def _feature_names(given: Sequence[str] | None, features: int) -> tuple[str, ...]:
    if given is None:
        return tuple(map(str, range(features)))
    names = tuple(map(str, given))
    if len(names) != features:
        raise GraphError(f"There are {features} features, but {len(names)} feature names.")
    if len(set(names)) < features:
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise GraphError(f"The feature name {twice!r} stands for more than one feature.")
    return names


def _check_split(graph: Graph) -> None:
    masks = {"train": graph.train, "val": graph.val, "test": graph.test}
    for first, second in (("train", "val"), ("train", "test"), ("val", "test")):
        both = masks[first] & masks[second]
        if both.any():
            raise GraphError(
                f"{both.sum()} node(s) are in both the {first} and the {second} split, node {int(np.argmax(both))} "
                "the first of them; a node may be in one only."
            )
    if graph.multilabel:
        return
    for split, mask in masks.items():
        unlabelled = mask & (graph.labels == UNKNOWN)
        if unlabelled.any():
            raise GraphError(
                f"{unlabelled.sum()} {split} node(s) have no label, node {int(np.argmax(unlabelled))} the first of "
                f"them; label them or take them out of the {split} split."
            )


def _csr(given: Any, out_of_range: str) -> sp.csr_array:
    """A copy; scipy crashes on indices out of range when it converts, so they are found before."""
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
    """The (row, column) of the first of the marked entries of a CSR matrix."""
    entry = int(np.argmax(entries))
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])

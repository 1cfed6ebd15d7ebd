"""`Graph`: features, labels, edges and the split. Every model takes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from ngcn.data.columns import Column
from ngcn.data.parts import UNKNOWN
from ngcn.errors import DatasetError, GraphError
from ngcn.graph import _checks as checked
from ngcn.registry import load


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with node features, some labels, and a split into training, validation and test nodes.

    A ``Graph`` copies and validates its arguments once. Its fields are read-only; do not change their entries.

    Args:
        adjacency: ``(nodes, nodes)`` edge weights, any scipy sparse format; 1 for an unweighted edge.
            :func:`ngcn.ops.normalize` adds self-loops and makes it symmetric.
        features: ``(nodes, features)``, scipy sparse or dense; NaN for an unknown value, see `Config.missing`.
        labels: ``(nodes,)`` class numbers with -1 for unknown, or a ``(nodes, classes)`` 0/1 matrix for multi-label.
        train, val, test: ``(nodes,)`` boolean masks; a node is in one of them at most.
        node_ids: ``(nodes,)`` the user's names of the nodes; numbers from 0 if not given.
        class_names: one name per class, all different; ``"0", "1", ...`` if not given.
        feature_names: one name per feature, all different; ``"0", "1", ...`` if not given.
        name: the name of the graph in tables and messages.
        node_columns: how many of the first features are columns of a table of nodes. A trained model needs them in
            every graph; a graph may lack others, such as words.
        source: the path that it was read from; empty for a dataset of the catalog and for a graph made in Python.
        tables: the other tables that a trained model read it from, such as ``{"edges": "edges.csv"}``.
        columns: how the columns of a table of nodes were read; a trained model reads those of other tables alike.
        read_with: the options that name columns of its tables, such as ``{"id": "number"}``, for the same purpose.

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
    node_ids: np.ndarray = None  # type: ignore[assignment]  # these are never None after __init__
    class_names: Sequence[str] = None  # type: ignore[assignment]
    feature_names: Sequence[str] = None  # type: ignore[assignment]
    name: str = "graph"
    node_columns: int = 0
    source: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Column] = ()
    read_with: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        adjacency = checked.adjacency_matrix(self.adjacency)
        nodes = adjacency.shape[0]
        features = checked.feature_matrix(self.features, nodes)
        labels = checked.label_array(self.labels, nodes)
        masks = {split: checked.mask_array(getattr(self, split), nodes, split) for split in ("train", "val", "test")}
        node_ids = checked.id_array(self.node_ids, nodes)
        class_names = checked.class_name_tuple(self.class_names, labels)
        feature_names = checked.name_tuple(self.feature_names, features.shape[1], "feature", "features")
        checked.check_split(masks, labels)
        vars(self).update(adjacency=adjacency, features=features, labels=labels, node_ids=node_ids, **masks)
        vars(self).update(class_names=class_names, feature_names=feature_names)

    @property
    def nodes(self) -> int:
        return self.adjacency.shape[0]

    @cached_property
    def edges(self) -> int:
        """The number of undirected edges, each counted once, including self-loops."""
        pattern: Any = self.adjacency != 0
        return sp.triu(pattern + pattern.T).nnz

    @property
    def multilabel(self) -> bool:
        return self.labels.ndim == 2

    @property
    def classes(self) -> int:
        return len(self.class_names)

    @property
    def unlabelled(self) -> np.ndarray:
        """``(nodes,)`` mask of unknown labels; for multi-label, of nodes without any label that are in no split."""
        if self.multilabel:
            return ~(self.labels.any(axis=1) | self.train | self.val | self.test)
        return self.labels == UNKNOWN

    def with_split(self, train: np.ndarray, val: np.ndarray, test: np.ndarray) -> Graph:
        """Return the same graph with other masks."""
        return replace(self, train=train, val=val, test=test)

    def reordered(self, order: np.ndarray) -> Graph:
        """Return the same graph with node ``order[i]`` at position i."""
        per_node = {name: getattr(self, name)[order] for name in ("features", "labels", "train", "val", "test")}
        return replace(self, adjacency=self.adjacency[order][:, order], node_ids=self.node_ids[order], **per_node)

    @classmethod
    def from_tables(
        cls, nodes: str | Path, edges: str | Path, feature_table: str | Path | None = None, **how: Any
    ) -> Graph:
        """Read CSV, TSV or Parquet files.

        ``how`` are the arguments of :func:`~ngcn.data.node_edge_tables.parts_of_tables` and, here and in the methods
        that follow, ``split`` and ``seed`` of :func:`~ngcn.graph.load_dataset`.
        """
        return _read("node_edge_tables:read_tables", nodes, edges, feature_table, **how)

    @classmethod
    def from_pandas(cls, nodes: Any, edges: Any, feature_table: Any = None, **how: Any) -> Graph:
        """Read data frames with the columns of the files: id, label, ..., and source, target, ...

        Example:
            >>> import pandas as pd
            >>> nodes = pd.DataFrame({"id": list("abcd"), "label": list("xxyy"), "split": ["train", "val"] * 2})
            >>> edges = pd.DataFrame({"source": list("ac"), "target": list("bd"), "weight": [1.0, 2.0]})
            >>> Graph.from_pandas(nodes.assign(age=[20, 30, 40, 50]), edges)
            Graph('graph', nodes=4, edges=2, features=1, classes=2, train=2, val=2, test=0)
        """
        return _read("adapters:from_pandas", nodes, edges, feature_table, **how)

    @classmethod
    def from_networkx(cls, G: Any, **how: Any) -> Graph:
        """Read a networkx graph. Nodes have the attributes label, split, graph and features, edges have weight."""
        return _read("adapters:from_networkx", G, **how)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any = None, labels: Any = None, **how: Any) -> Graph:
        """Read matrices. Labels are class numbers with -1 for unknown, names (None for unknown), or a 0/1 matrix.

        ``how`` may have ``masks`` (training, validation and test nodes), ``node_ids``, ``feature_names``,
        ``class_names``, ``name``, ``split`` and ``seed``.
        """
        return _read("adapters:from_scipy", adjacency, features, labels, **how)

    @classmethod
    def from_pyg(cls, data: Any, **how: Any) -> Graph:
        """Read x, edge_index, edge_weight, y and the masks of a ``torch_geometric.data.Data``, if present."""
        return _read("adapters:from_pyg", data, **how)

    def to_pyg(self) -> Any:
        """Return a ``torch_geometric.data.Data`` with x, edge_index (both directions), edge_weight, y and the masks."""
        from torch import from_numpy

        try:
            from torch_geometric.data import Data
        except ModuleNotFoundError:
            raise DatasetError("to_pyg needs PyTorch Geometric: pip install 'ngcn[pyg]'") from None
        edges = self.adjacency.maximum(self.adjacency.T).tocoo()
        X: Any = self.features
        return Data(
            x=from_numpy(X.toarray() if sp.issparse(X) else X.copy()),
            edge_index=from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)),
            edge_weight=from_numpy(edges.data),
            y=from_numpy(self.labels.copy()),
            **{f"{part}_mask": from_numpy(getattr(self, part).copy()) for part in ("train", "val", "test")},
        )

    def fingerprint(self) -> str:
        """Return a hash of everything that affects training, including the order of the nodes."""
        digest = sha256(repr((self.class_names, self.feature_names, self.features.shape)).encode())
        A, X = self.adjacency, cast(Any, self.features)
        arrays = [self.train, self.val, self.test, self.labels, A.indptr, A.indices, A.data]
        arrays += [X.indptr, X.indices, X.data] if sp.issparse(X) else [X]
        for array in arrays:
            kind = np.int64 if array.dtype.kind == "i" else array.dtype  # scipy chooses int32 or int64
            digest.update(np.ascontiguousarray(array, kind).data)
        digest.update("\n".join(map(str, self.node_ids.tolist())).encode())
        return digest.hexdigest()[:32]

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Raise an error that says what to use in place of scikit-learn's searches, which ask for an array."""
        raise GraphError(
            "A Graph is not an array, so scikit-learn cannot divide it into folds; use "
            "ngcn.cross_validate(graph, config), and ngcn.tune(graph) for a search."
        )

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}, features={self.features.shape[1]}, "
            f"classes={self.classes}, train={self.train.sum()}, val={self.val.sum()}, test={self.test.sum()})"
        )


def need_graph(value: Any) -> Graph:
    """Raise an error for anything that is not a graph."""
    if isinstance(value, Graph):
        return value
    raise GraphError(
        f"A Graph is needed, not a {type(value).__name__}; make one with load_dataset, Graph.from_pandas or another of "
        "its from_ methods."
    )


def _read(reader: str, *given: Any, split: str = "given", seed: int = 0, **how: Any) -> Graph:
    from ngcn.graph.assemble import for_training  # here: it imports this module

    return for_training(load(f"ngcn.data.{reader}")(*given, **how), split, seed)

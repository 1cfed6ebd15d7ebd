"""Graphs from and to other libraries; `Graph` has a thin method for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ngcn.data.assemble import assemble, numbered
from ngcn.data.catalog import DatasetError
from ngcn.data.npz import first_masks
from ngcn.data.table import Table, refuse_twice
from ngcn.data.table_features import bag_or_not
from ngcn.data.tables import graph_from_tables
from ngcn.graph import Graph


def from_pandas(nodes: Any, edges: Any, feature_table: Any = None, **how: Any) -> Graph:
    """Data frames with the columns that files would have; the index is not looked at."""
    tables = [
        None if frame is None else Table(_from_frame(frame, name), name)
        for frame, name in ((nodes, "the nodes"), (edges, "the edges"), (feature_table, "the features"))
    ]
    return graph_from_tables(*tables, **how)  # type: ignore[arg-type]


def from_networkx(G: Any, *, name: str | None = None, **how: Any) -> Graph:
    """Attributes of nodes are the columns of the table of nodes: label, split, graph, and features."""
    attributes = list(dict.fromkeys(key for _, values in G.nodes(data=True) for key in values))
    if "id" in attributes:  # GraphML has one sometimes; the name that edges use is the id
        attributes.remove("id")
    columns: dict[str, Any] = {"id": [str(node) for node in G]}
    for key in attributes:
        columns[str(key)] = [values.get(key) for _, values in G.nodes(data=True)]
    ends = [(str(source), str(target), values.get("weight")) for source, target, values in G.edges(data=True)]
    edges: dict[str, Any] = {"source": [e[0] for e in ends], "target": [e[1] for e in ends]}
    if any(e[2] is not None for e in ends):
        edges["weight"] = [1.0 if e[2] is None else e[2] for e in ends]
    title = name or (str(G.name) if G.name else "graph")
    nodes = Table(_from_columns(columns), f"the nodes of {title}", first_row=1)
    return graph_from_tables(nodes, Table(_from_columns(edges), f"the edges of {title}"), name=title, **how)


def from_scipy(adjacency: Any, features: Any = None, labels: Any = None, **how: Any) -> Graph:
    """Matrices: labels are class numbers with -1 for unknown, names of classes, or a 0/1 matrix."""
    class_names = how.pop("class_names", None)
    labels = labels.toarray() if sp.issparse(labels) else None if labels is None else np.asarray(labels)
    if labels is not None and labels.dtype.kind in "OUS":
        labels, class_names = numbered(labels)
    if not sp.issparse(features) and features is not None:
        features = bag_or_not(np.asarray(features, np.float32))
    adjacency = sp.csr_array(adjacency)
    features = sp.csr_array(features) if sp.issparse(features) else features
    for matrix in (adjacency, features):
        try:
            if sp.issparse(matrix):
                matrix.check_format(full_check=True)
        except ValueError as trouble:
            raise DatasetError(f"This is not a proper sparse matrix: {trouble}.") from None
    return assemble(adjacency, features, labels, class_names=class_names, **how)


def from_pyg(data: Any, *, name: str = "graph", **how: Any) -> Graph:
    """A `torch_geometric.data.Data`; of several masks (columns), the first is taken."""
    if data.edge_index is None:
        raise DatasetError("The PyG data have no edge_index, so there are no edges; graphs need some.")
    nodes = int(data.num_nodes)
    ends = data.edge_index.cpu().numpy()
    weight = data.get("edge_weight")
    weights = np.ones(ends.shape[1], np.float32) if weight is None else weight.cpu().numpy().reshape(-1)
    try:
        adjacency = sp.csr_array((weights, (ends[0], ends[1])), shape=(nodes, nodes))
    except ValueError as trouble:
        raise DatasetError(f"The edge_index of the PyG data does not fit its {nodes} nodes: {trouble}.") from None
    adjacency.sum_duplicates()
    if weight is None:
        adjacency.data[:] = 1
    masks = [data.get(f"{part}_mask") for part in ("train", "val", "test")]
    given = None
    if masks[0] is not None:
        given = first_masks([None if mask is None else mask.cpu().numpy().T for mask in masks], nodes)
    labels = None if data.y is None else data.y.cpu().numpy()
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    features = None if data.x is None else bag_or_not(data.x.to_dense().cpu().numpy().astype(np.float32))
    return assemble(adjacency, features, labels, given, name=name, **how)


def to_pyg(graph: Graph) -> Any:
    """A `torch_geometric.data.Data` with x, edge_index, edge_weight, y and the masks; edges go both ways."""
    import torch

    try:
        from torch_geometric.data import Data
    except ModuleNotFoundError:
        raise DatasetError("to_pyg needs PyTorch Geometric, which is not installed: pip install 'ngcn[pyg]'") from None

    edges = graph.adjacency.maximum(graph.adjacency.T).tocoo()  # the directions that count
    features: Any = graph.features
    return Data(
        x=torch.from_numpy(features.toarray() if sp.issparse(features) else features.copy()),
        edge_index=torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)),
        edge_weight=torch.from_numpy(edges.data),
        y=torch.from_numpy(graph.labels.copy()),
        **{f"{part}_mask": torch.from_numpy(getattr(graph, part).copy()) for part in ("train", "val", "test")},
    )


def _from_frame(frame: Any, name: str) -> pa.Table:
    if not hasattr(frame, "columns"):
        raise DatasetError(f"{name.capitalize()} must be a data frame, not a {type(frame).__name__}.")
    refuse_twice([str(column) for column in frame.columns], name)
    return _from_columns(
        {
            str(column): frame[column].tolist() if frame[column].dtype == object else frame[column]
            for column in frame.columns
        }
    )


def _from_columns(columns: dict[str, Iterable[Any]]) -> pa.Table:
    """Columns of Python values; where one holds several kinds, they become text."""
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            arrays[name] = pa.array([None if v is None or v != v else str(v) for v in values], pa.string())
    return pa.table({name: a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for name, a in arrays.items()})

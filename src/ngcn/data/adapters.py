"""Graphs from pandas, networkx, scipy and PyTorch Geometric. `Graph` has a method for each function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ngcn.data._edges import one_way
from ngcn.data.feature_columns import sparse_if_bag
from ngcn.data.node_edge_tables import parts_of_tables
from ngcn.data.npz import first_masks
from ngcn.data.parts import Block, Parts, number_classes
from ngcn.data.table import Table, check_unique
from ngcn.errors import DatasetError


def from_pandas(nodes: Any, edges: Any, feature_table: Any = None, **how: Any) -> Parts:
    """Read data frames with the columns of :func:`~ngcn.data.node_edge_tables.parts_of_tables`; ignore the index."""
    tables = [
        None if frame is None else Table(_from_frame(frame, name), name)
        for frame, name in ((nodes, "the nodes"), (edges, "the edges"), (feature_table, "the features"))
    ]
    return parts_of_tables(*tables, **how)  # type: ignore[arg-type]


def from_networkx(G: Any, *, name: str | None = None, **how: Any) -> Parts:
    """Read a networkx graph; attributes of nodes are the columns of a table of nodes."""
    keys = dict.fromkeys(key for values in G.nodes.values() for key in values if key != "id")  # edges do not use "id"
    columns: dict[str, Any] = {"id": [str(node) for node in G]}
    columns |= {str(key): [values.get(key) for values in G.nodes.values()] for key in keys}
    ends = list(G.edges(data="weight"))
    edges: dict[str, Any] = {"source": [str(end[0]) for end in ends], "target": [str(end[1]) for end in ends]}
    if any(weight is not None for *_, weight in ends):
        edges["weight"] = [1.0 if weight is None else weight for *_, weight in ends]
    title = name or (str(G.name) if G.name else "graph")
    nodes = Table(_from_columns(columns), f"the nodes of {title}", first_row=1)
    return parts_of_tables(nodes, Table(_from_columns(edges), f"the edges of {title}"), name=title, **how)


def from_scipy(adjacency: Any, features: Any = None, labels: Any = None, **how: Any) -> Parts:
    """Read matrices; ``how`` has ``feature_names`` and fields of :class:`Parts`.

    Labels are class numbers with -1 for unknown, class names, or a 0/1 matrix.
    """
    labels = labels.toarray() if sp.issparse(labels) else None if labels is None else np.asarray(labels)
    if labels is not None and labels.dtype.kind in "OUS":
        labels, how["class_names"] = number_classes(labels)
    names, blocks = how.pop("feature_names", None), []
    if features is not None:
        sparse = sp.issparse(features)
        blocks.append(Block(_checked(features) if sparse else sparse_if_bag(np.asarray(features, np.float32)), names))
    return Parts(adjacency=_checked(adjacency), features=blocks, labels=labels, **how)


def from_pyg(data: Any, *, name: str = "graph") -> Parts:
    """Read a ``torch_geometric.data.Data``. If masks have several columns, the first is used."""
    if data.edge_index is None:
        raise DatasetError("The PyG data have no edge_index; a graph needs edges.")
    nodes = int(data.num_nodes)
    source, target = data.edge_index.cpu().numpy()
    weight = data.get("edge_weight")
    try:
        adjacency = one_way(source, target, nodes, None if weight is None else weight.cpu().numpy().reshape(-1))
    except ValueError as error:
        raise DatasetError(f"The edge_index of the PyG data does not fit its {nodes} nodes: {error}.") from None
    given = [data.get(f"{part}_mask") for part in ("train", "val", "test")]
    masks = None
    if given[0] is not None:
        masks = first_masks([None if mask is None else mask.cpu().numpy().T for mask in given], nodes)
    labels: Any = None if data.y is None else data.y.cpu().numpy()
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    blocks = []
    if data.x is not None:
        blocks.append(Block(sparse_if_bag(data.x.to_dense().cpu().numpy().astype(np.float32))))
    return Parts(adjacency=adjacency, features=blocks, labels=labels, masks=masks, name=name)


def _checked(matrix: Any) -> sp.csr_array:
    matrix = sp.csr_array(matrix)
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise DatasetError(f"This is not a valid sparse matrix: {error}.") from None
    return matrix


def _from_frame(frame: Any, name: str) -> pa.Table:
    if not hasattr(frame, "columns"):
        raise DatasetError(f"{name.capitalize()} must be a data frame, not a {type(frame).__name__}.")
    check_unique([str(column) for column in frame.columns], name)
    columns = {str(column): frame[column] for column in frame.columns}
    return _from_columns({name: c.tolist() if c.dtype == object else c for name, c in columns.items()})


def _from_columns(columns: dict[str, Iterable[Any]]) -> pa.Table:
    """Return a table of Python values; a column with values of several types becomes text."""
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            arrays[name] = pa.array([None if v is None or v != v else str(v) for v in values], pa.string())
    return pa.table({name: a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for name, a in arrays.items()})

"""Graphs from pandas, networkx (and its files), scipy and PyTorch Geometric. `Graph` has a method for each."""

from __future__ import annotations

import io
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ngcn.data.feature_columns import dense_features
from ngcn.data.node_edge_tables import parts_of_tables
from ngcn.data.parts import Block, Parts, checked_csr, first_masks, number_classes, one_way
from ngcn.data.table import Table, check_unique
from ngcn.errors import DatasetError
from ngcn.files import gunzip, read_bytes


def from_pandas(nodes: Any, edges: Any, feature_table: Any = None, **how: Any) -> Parts:
    """Read data frames with the columns of :func:`~ngcn.data.node_edge_tables.parts_of_tables`; ignore the index."""
    features = None if feature_table is None else _from_frame(feature_table, "the features")
    return parts_of_tables(_from_frame(nodes, "the nodes"), _from_frame(edges, "the edges"), features, **how)


def from_objects(nodes: Any, *, edges: Any = None, feature_table: Any = None, **how: Any) -> Parts:
    """Read data frames, or a networkx graph."""
    if hasattr(nodes, "columns"):
        return from_pandas(nodes, edges, feature_table, **how)
    if edges is not None or feature_table is not None:
        raise DatasetError("`edges` and `feature_table` go with a data frame of nodes.")
    return from_networkx(nodes, **how)


def from_networkx(G: Any, *, name: str | None = None, **how: Any) -> Parts:
    """Read a networkx graph; attributes of nodes are the columns of a table of nodes."""
    if not (hasattr(G, "nodes") and hasattr(G, "edges")):
        raise DatasetError(f"A networkx graph is needed, not a {type(G).__name__}.")
    title = name or str(getattr(G, "name", "") or "graph")
    attributes = list(G.nodes.values())
    keys = dict.fromkeys(key for values in attributes for key in values if key != "id")  # edges do not use "id"
    nodes: dict[str, Any] = {"id": list(map(str, G))}
    nodes |= {str(key): [values.get(key) for values in attributes] for key in keys}
    links = list(G.edges(data=True))
    used = dict.fromkeys(key for link in links for key in link[2] if key != "id")  # GEXF has ids of edges
    edges: dict[str, Any] = {str(key): [link[2].get(key) for link in links] for key in used}
    if "weight" in edges:
        edges["weight"] = [1.0 if weight is None else weight for weight in edges["weight"]]
    edges |= {"source": [str(link[0]) for link in links], "target": [str(link[1]) for link in links]}
    tables = _from_columns(nodes, f"the nodes of {title}"), _from_columns(edges, f"the edges of {title}")
    return parts_of_tables(*tables, name=title, **how)


def read_graphml(path: Path, name: str, **how: Any) -> Parts:
    """Read a .graphml or .gexf file, gzipped or not, as :func:`from_networkx` reads its graph."""
    import networkx

    gzipped = path.name.lower().endswith(".gz")
    read = networkx.read_gexf if ".gexf" in path.name.lower() else networkx.read_graphml
    try:
        content = read_bytes(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            G = read(io.BytesIO(gunzip(content) if gzipped else content))
    except (OSError, EOFError, zlib.error, ParseError) as error:
        raise DatasetError(f"{path} is damaged or truncated: {error}.") from None
    except Exception as error:  # networkx has no error class for invalid files
        raise DatasetError(f"{path} cannot be read by networkx: {error}.") from None
    if not len(G):
        raise DatasetError(f"{path} holds a graph without nodes.")
    if all(values.get("label") == node for node, values in G.nodes(data=True)):
        for values in G.nodes.values():  # GEXF's name of the node: neither a class nor a feature
            del values["label"]
    return from_networkx(G, name=name, **how)


def from_scipy(adjacency: Any, features: Any = None, labels: Any = None, **how: Any) -> Parts:
    """Read matrices, with the labels of `Graph.from_scipy`; ``how`` has ``feature_names`` and fields of `Parts`."""
    names, masks = how.pop("feature_names", None), how.get("masks")
    if masks is not None:
        if not isinstance(masks, Sequence | np.ndarray) or len(masks) != 3:
            raise DatasetError("`masks` are three: of the training, validation and test nodes.")
        how["masks"] = tuple(masks)
    try:
        blocks = [Block(_checked(features), names)] if sp.issparse(features) else dense_features(features, names)
        labels = labels.toarray() if sp.issparse(labels) else None if labels is None else np.asarray(labels)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RuntimeError,
    ) as error:  # RuntimeError: of a tensor that requires a gradient
        raise DatasetError(f"The features and labels must be matrices of numbers: {error}.") from None
    if labels is not None and labels.dtype.kind in "OUS":
        labels, how["class_names"] = number_classes(labels)
    return Parts(adjacency=_checked(adjacency), features=blocks, labels=labels, **how)


def from_pyg(data: Any, *, name: str = "graph") -> Parts:
    """Read a ``torch_geometric.data.Data``. If masks have several columns, the first is used."""
    if not hasattr(data, "edge_index"):
        raise DatasetError(f"A torch_geometric.data.Data is needed, not a {type(data).__name__}.")
    if data.edge_index is None:
        raise DatasetError("The PyG data have no edge_index; a graph needs edges.")

    def array(tensor: Any) -> Any:
        return None if tensor is None else tensor.cpu().numpy()

    nodes = int(data.num_nodes)
    weights, labels = array(data.get("edge_weight")), array(data.y)
    sources, targets = array(data.edge_index)
    try:
        adjacency = one_way(sources, targets, nodes, None if weights is None else weights.reshape(-1))
    except (ValueError, OverflowError) as error:
        raise DatasetError(f"The edge_index of the PyG data does not fit its {nodes} nodes: {error}.") from None
    if labels is not None and labels.shape[1:] == (1,):
        labels = labels[:, 0]
    masks = [array(data.get(f"{part}_mask")) for part in ("train", "val", "test")]
    return Parts(
        adjacency=adjacency,
        features=dense_features(array(None if data.x is None else data.x.to_dense())),
        labels=labels,
        masks=first_masks([None if mask is None else mask.T for mask in masks], nodes),
        name=name,
    )


def _checked(matrix: Any) -> sp.csr_array:
    try:
        return checked_csr(matrix)
    except (TypeError, ValueError, OverflowError) as error:
        raise DatasetError(f"This is not a valid sparse matrix: {error}.") from None


def _from_frame(frame: Any, name: str) -> Table:
    if not hasattr(frame, "columns"):
        raise DatasetError(f"{name.capitalize()} must be a data frame, not a {type(frame).__name__}.")
    check_unique([str(column) for column in frame.columns], name)
    columns = {str(column): frame[column] for column in frame.columns}
    return _from_columns({key: c.tolist() if c.dtype == object else c for key, c in columns.items()}, name)


def _from_columns(columns: dict[str, Iterable[Any]], name: str) -> Table:
    """Return a table of Python values; a column with values of several types becomes text."""
    arrays = {}
    for column, values in columns.items():
        try:
            arrays[column] = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            arrays[column] = pa.array([None if v is None or v != v else str(v) for v in values], pa.string())
    return Table(pa.table(arrays), name, plural=True)

"""Graphs for PyTorch Geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from ngcn.errors import DatasetError

if TYPE_CHECKING:
    from ngcn.graph.graph import Graph


def to_pyg(graph: Graph) -> Any:
    """See :meth:`Graph.to_pyg`."""
    try:
        from torch_geometric.data import Data
    except ModuleNotFoundError:
        raise DatasetError("to_pyg needs PyTorch Geometric, which is not installed: pip install 'ngcn[pyg]'") from None

    edges = graph.adjacency.maximum(graph.adjacency.T).tocoo()
    features: Any = graph.features
    return Data(
        x=torch.from_numpy(features.toarray() if sp.issparse(features) else features.copy()),
        edge_index=torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)),
        edge_weight=torch.from_numpy(edges.data),
        y=torch.from_numpy(graph.labels.copy()),
        **{f"{part}_mask": torch.from_numpy(getattr(graph, part).copy()) for part in ("train", "val", "test")},
    )

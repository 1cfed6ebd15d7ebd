"""Cora inside the package, so that the first run needs no download. ``tools/build_cora.py`` makes the file."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ngcn.data.catalog import EMBEDDED_CORA, find
from ngcn.graph import Graph


def load_cora() -> Graph:
    """Cora with Planetoid's order of the nodes and split; the same graph as Planetoid's files give.

    ``cora.npz`` holds where the ones of two 0/1 matrices are: the features (row by row) and the upper half of the
    adjacency. Positions in the flattened matrix ascend, so that their steps are small and compress well.
    """
    cora = find("cora")
    with np.load(EMBEDDED_CORA, allow_pickle=False) as file:
        features = _matrix(file["feature_steps"], (cora.nodes, cora.features))
        upper = _matrix(file["edge_steps"], (cora.nodes, cora.nodes))
        labels, split = file["labels"], file["split"]
    return Graph(
        upper + upper.T,
        features,
        labels,
        train=split == 1,
        val=split == 2,
        test=split == 3,
        class_names=cora.class_names,
        name=cora.name,
    )


def steps(matrix: sp.csr_array) -> np.ndarray:
    """The steps from each one to the next in a flattened 0/1 matrix, as kept in ``cora.npz``."""
    places = matrix.tocoo()
    positions = np.sort(places.row.astype(np.int64) * matrix.shape[1] + places.col)
    apart = np.diff(positions, prepend=0)
    assert apart.max() <= np.iinfo(np.uint16).max
    return apart.astype(np.uint16)


def _matrix(apart: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """The inverse of :func:`steps`."""
    rows, columns = np.divmod(np.cumsum(apart, dtype=np.int64), shape[1])
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)

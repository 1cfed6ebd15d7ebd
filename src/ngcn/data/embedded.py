"""Cora, included in the package so that the first run needs no download. ``tools/build_cora.py`` builds the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ngcn.data.catalog import EMBEDDED_CORA, find
from ngcn.data.parts import Block, Parts


def read_cora(folder: str | Path = EMBEDDED_CORA.parent, name: str = "cora") -> Parts:
    """Read Cora with Planetoid's order of the nodes and split. The result equals that of Planetoid's files.

    ``cora.npz`` stores the positions of the ones of two 0/1 matrices: the features (row by row) and the upper triangle
    of the adjacency. It stores differences of successive positions, which are small and compress well.
    """
    cora = find("cora")
    with np.load(Path(folder) / "cora.npz", allow_pickle=False) as file:
        features = _matrix(file["feature_steps"], (cora.nodes, cora.features))
        upper = _matrix(file["edge_steps"], (cora.nodes, cora.nodes))
        labels, split = file["labels"], file["split"]
    return Parts(
        adjacency=upper + upper.T,
        features=[Block(features)],
        labels=labels,
        masks=(split == 1, split == 2, split == 3),
        name=name,
        published=True,
    )


def _matrix(apart: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Return a 0/1 matrix, given the differences of successive positions of its ones."""
    rows, columns = np.divmod(np.cumsum(apart, dtype=np.int64), shape[1])
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)

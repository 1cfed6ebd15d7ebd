"""`Links`: the edges of a graph as the products and the walks on large graphs take them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.errors import ConfigError
from ngcn.graph import Graph, StoredGraph, open_graph
from ngcn.large import _kernels
from ngcn.large.rows import chunks
from ngcn.ops import undirected

NORMALIZATIONS = ("symmetric", "row", "walk")  # that need no direction of edges, and no eigenvalues
EVERYTHING = np.ones(1, np.uint8)  # `wanted` of all rows


@dataclass(frozen=True, eq=False)
class Links:
    """The symmetric adjacency without self-loops, in CSR form.

    Args:
        indptr: ``(nodes + 1,)`` int64.
        indices: ``(entries,)`` int32, ascending in each row.
        weights: ``(entries,)`` float32; a single 1 if the graph is unweighted.
        degrees: ``(nodes,)`` the sum of the weights of each row; a self-loop, where there is one, comes on top.
        folder: of the stored graph that these are the files of. Links to it are pickled as its path.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    degrees: np.ndarray
    folder: Path | None = None
    _scales: dict[str, Any] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        return len(self.degrees)

    @property
    def weighted(self) -> bool:
        return len(self.weights) > 1

    def scales(self, normalization: str) -> tuple[np.ndarray | None, np.ndarray]:
        r"""What Â multiplies by before and after its sum over neighbours: :math:`\hat{A} = D_2 (A + I) D_1`; None for
        an inner factor of one."""
        if normalization not in self._scales:
            if normalization not in NORMALIZATIONS:
                raise ConfigError(
                    f"Large graphs have the operators {', '.join(NORMALIZATIONS)}, not {normalization}: they are "
                    "undirected, and their eigenvalues are not known."
                )
            outer = np.empty(self.nodes, np.float32)
            for start, stop in chunks(self.nodes, 4):
                degrees = np.asarray(self.degrees[start:stop])
                if normalization == "walk":
                    scale = np.divide(1.0, degrees, out=np.zeros(len(degrees)), where=degrees > 0)
                else:
                    scale = (degrees + 1.0) ** (-0.5 if normalization == "symmetric" else -1.0)
                outer[start:stop] = scale
            self._scales[normalization] = (outer if normalization == "symmetric" else None), outer
        scales: tuple[np.ndarray | None, np.ndarray] = self._scales[normalization]
        return scales

    def multiply(
        self,
        normalization: str,
        source: np.ndarray,
        start: int = 0,
        stop: int | None = None,
        *,
        wanted: np.ndarray = EVERYTHING,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Rows ``start`` to ``stop`` of Â Z.

        Args:
            source: ``(nodes, columns)`` float32, :math:`D_1 Z`: Z multiplied by the inner scale, if there is one.
            wanted: ``(nodes,)`` uint8; rows with a 0 become zero.
            out: where to put the result.

        Example:
            >>> links = links_of(sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))
            >>> links.multiply("row", np.array([[1.0], [2.0]], np.float32))
            array([[1.5],
                   [1.5]], dtype=float32)
        """
        stop = self.nodes if stop is None else stop
        out = np.empty((stop - start, source.shape[1]), np.float32) if out is None else out
        arrays = self.indptr, self.indices, self.weights, self.scales(normalization)[1], wanted, source, out
        _kernels.multiply_rows(-(-len(out) // _kernels.ROWS), arrays, start, int(normalization != "walk"))
        return out

    def __reduce__(self) -> tuple[Callable[..., Links], tuple[Any, ...]]:
        if self.folder is not None:
            return _open, (self.folder,)
        return Links, (self.indptr, self.indices, self.weights, self.degrees)


def links_of(graph: Graph | sp.csr_array) -> Links:
    """The links of a graph, or of an adjacency. Those of a stored graph are its memory maps."""
    if isinstance(graph, StoredGraph):
        A = graph.adjacency
        weights = A.data if graph.weighted else np.ones(1, np.float32)
        return Links(A.indptr, A.indices, weights, graph.degrees, graph.folder)
    A = undirected(graph.adjacency if isinstance(graph, Graph) else graph)
    A.sort_indices()
    weights = A.data.astype(np.float32) if (A.data != 1).any() else np.ones(1, np.float32)
    return Links(A.indptr.astype(np.int64), A.indices.astype(np.int32), weights, np.asarray(A.sum(axis=1)))


def _open(folder: Path) -> Links:
    return links_of(open_graph(folder))

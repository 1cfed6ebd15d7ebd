"""Nearest-neighbour graphs: link nodes with similar features."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from ngcn.data.parts import MOST_FEATURES, Matrix
from ngcn.errors import GraphError
from ngcn.text import shown

Metric = str | Callable[..., float]


def knn_graph(X: Matrix, neighbours: int = 10, metric: Metric = "euclidean") -> sp.csr_array:
    """Return the adjacency of the symmetric graph that links every row of X to its nearest neighbours.

    Two rows are linked if one is among the nearest neighbours of the other, so a row has at least ``neighbours``
    links. X is not scaled: bring columns of different units to one scale first.

    Args:
        X: ``(nodes, features)``, scipy sparse or dense.
        neighbours: the number of neighbours; all other rows if there are fewer.
        metric: a distance of ``sklearn.neighbors``, such as euclidean, manhattan or cosine, or a function of two rows.

    Example:
        >>> knn_graph(np.array([[0.0], [1.0], [5.0]]), neighbours=1).toarray()
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    return Neighbours(X, neighbours, metric).graph()


class Neighbours:
    """An index of the rows of X. Arguments as for :func:`knn_graph`."""

    def __init__(self, X: Matrix, neighbours: int, metric: Metric = "euclidean") -> None:
        given: Any = neighbours
        if not isinstance(given, Integral) or int(given) < 1:
            raise GraphError(f"A neighbour graph needs 1 neighbour or more for every node, not {shown(neighbours)}.")
        if getattr(X, "ndim", 0) != 2:
            raise GraphError(f"X must be a matrix (nodes x features), not {shown(X)}.")
        if X.shape[1] > MOST_FEATURES:
            raise GraphError(f"X has {X.shape[1]:,} features; at most {MOST_FEATURES:,} can be used.")
        if X.shape[0] < 2:
            raise GraphError(f"A neighbour graph needs 2 nodes or more, but there is {X.shape[0]}.")
        self.nodes, self.neighbours = int(X.shape[0]), int(given)
        try:
            self.index = NearestNeighbors(metric=metric).fit(X)
        except (TypeError, ValueError, OverflowError) as error:  # an unknown metric, NaN, complex numbers
            raise GraphError(f"The nearest neighbours cannot be found: {error}") from None

    def graph(self) -> sp.csr_array:
        """Return the symmetric links among the rows, without self-loops."""
        links = self.index.kneighbors_graph(n_neighbors=min(self.neighbours, self.nodes - 1))
        return sp.csr_array(links.maximum(links.T), dtype=np.float32)

    def links(self, X: Matrix) -> sp.csr_array:
        """Return ``(new, nodes)``: the nearest rows of the index for each row of another X."""
        return sp.csr_array(self.index.kneighbors_graph(X, min(self.neighbours, self.nodes)), dtype=np.float32)

"""From the adjacency of a graph to the Â of the paper, and row normalisation of features."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from ngcn.ops.operator import Operator

Normalization = Literal["symmetric", "row"]


def normalize(adjacency: sp.csr_array, how: Normalization = "symmetric", *, directed: bool = False) -> Operator:
    r"""The normalised adjacency with self-connections (the paper's footnote: :math:`A_{ii} = 1`).

    .. math::
        \hat{A} = D^{-1/2} A D^{-1/2} \;(\text{symmetric}), \qquad \hat{A} = D^{-1} A \;(\text{row}),
        \qquad D = \mathrm{diag}(A \mathbf{1})

    Args:
        adjacency: ``(nodes, nodes)`` edge weights of 0 or more.
        how: ``"symmetric"`` for GCN and N-GCN, ``"row"`` (the transition matrix of a random walk) for SAGE and DCNN.
        directed: keep the direction of edges; by default an edge counts both ways, with the larger of the two weights.

    Example:
        >>> edge = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
        >>> normalize(edge, "row").matrix.toarray()
        array([[0.5, 0.5],
               [0.5, 0.5]], dtype=float32)
    """
    A = sp.csr_array(adjacency, dtype=np.float64)
    if not directed:
        A = A.maximum(A.T).tocsr()
    A = A - sp.diags_array(A.diagonal()) + sp.eye_array(A.shape[0])
    degree = A.sum(axis=1)  # at least 1, by the self-connection
    if how == "symmetric":
        scale = sp.diags_array(degree**-0.5)
        A = scale @ A @ scale
    elif how == "row":
        A = sp.diags_array(1 / degree) @ A
    else:
        raise ValueError(f"The adjacency can be normalised symmetric or row, not {how!r}.")
    return Operator(sp.csr_array(A, dtype=np.float32), symmetric=how == "symmetric" and not directed)


def undirected(adjacency: sp.csr_array) -> sp.csr_array:
    """The edge weights W, the same both ways and without self-connections, in float64.

    Example:
        >>> undirected(sp.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))).toarray()
        array([[0., 2.],
               [2., 0.]])
    """
    W = sp.csr_array(adjacency, dtype=np.float64)
    W = sp.csr_array(W.maximum(W.T))
    W.setdiag(0)
    W.eliminate_zeros()
    return W


def bag_of_words(matrix: sp.csr_array | np.ndarray) -> sp.csr_array | np.ndarray:
    """Which features a node has, whatever their values, each row summing to 1: the paper's binary bag of words.

    Example:
        >>> bag_of_words(np.array([[0.0, 3.0, 0.2], [0.0, 0.0, 0.0]]))
        array([[0. , 0.5, 0.5],
               [0. , 0. , 0. ]], dtype=float32)
    """
    present = (matrix != 0).astype(np.float32)
    return normalize_rows(sp.csr_array(present) if sp.issparse(present) else present)


def normalize_rows(matrix: sp.csr_array | np.ndarray) -> sp.csr_array | np.ndarray:
    """Each row divided by the sum of its magnitudes; a row of zeros stays as it is.

    Example:
        >>> normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
        array([[0.25, 0.75],
               [0.  , 0.  ]])
    """
    total = np.asarray(abs(matrix).sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0).astype(matrix.dtype)
    if sp.issparse(matrix):
        return sp.csr_array(sp.diags_array(scale) @ matrix)
    return matrix * scale[:, None]

"""Normalise the adjacency of a graph to the Â of the paper, and the rows of features."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from ngcn.errors import ConfigError, GraphError
from ngcn.ops.operator import Operator
from ngcn.text import shown

Normalization = Literal["symmetric", "row", "laplacian", "walk", "in", "out"]
SYMBOLS = {"symmetric": "Â", "row": "Â_row", "laplacian": "L", "walk": "P", "in": "P_in", "out": "P_out"}


def normalize(adjacency: sp.csr_array, how: Normalization = "symmetric", *, directed: bool = False) -> Operator:
    r"""Return the normalised adjacency matrix with self-loops (the paper's footnote: :math:`A_{ii} = 1`).

    .. math::
        \hat{A} = D^{-1/2} A D^{-1/2} \;(\text{symmetric}), \qquad \hat{A} = D^{-1} A \;(\text{row}),
        \qquad D = \mathrm{diag}(A \mathbf{1})

    Args:
        adjacency: ``(nodes, nodes)`` edge weights, 0 or more.
        how: ``"symmetric"`` for GCN and N-GCN; ``"row"``, the transition matrix of a random walk, for SAGE and DCNN;
            ``"laplacian"`` for Chebyshev filters, see :func:`rescaled_laplacian`. Without self-loops: ``"walk"``, the
            mean over neighbours; ``"in"`` and ``"out"``, the mean over the sources of the edges into a node and over
            the targets of those out of it.
        directed: keep the direction of edges. By default an edge counts both ways, with the larger of the two weights.

    Example:
        >>> edge = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
        >>> normalize(edge, "row").matrix.toarray()
        array([[0.5, 0.5],
               [0.5, 0.5]], dtype=float32)
    """
    given = sp.issparse(adjacency) or isinstance(adjacency, np.ndarray)
    if not given or adjacency.ndim != 2 or len(set(adjacency.shape)) > 1 or adjacency.dtype.kind not in "biuf":
        raise GraphError(f"The adjacency must be a square matrix of real numbers, not {shown(adjacency)}.")
    if how not in SYMBOLS:
        raise ConfigError(f"The adjacency can be normalised {', '.join(SYMBOLS)}, not {how!r}.")
    if how == "laplacian":
        if directed:
            raise ConfigError("The laplacian normalisation needs undirected edges; leave `directed` out.")
        return rescaled_laplacian(adjacency)
    A = sp.csr_array(adjacency, dtype=np.float64)
    if how in ("walk", "in", "out"):
        return _mean_over_neighbours(A.T.tocsr() if how == "in" else A if directed or how == "out" else A.maximum(A.T))
    if not directed:
        A = A.maximum(A.T).tocsr()
    A = A - sp.diags_array(A.diagonal()) + sp.eye_array(A.shape[0])
    degree = A.sum(axis=1)  # at least 1, by the self-loop
    if how == "symmetric":
        scale = sp.diags_array(degree**-0.5)
        A = scale @ A @ scale
    else:
        A = sp.diags_array(1 / degree) @ A
    return Operator(sp.csr_array(A, dtype=np.float32), symmetric=how == "symmetric" and not directed)


def _mean_over_neighbours(A: sp.csr_array) -> Operator:
    """:math:`D^{-1} A` without self-loops; the row of a node without neighbours is 0."""
    A = sp.csr_array(A - sp.diags_array(A.diagonal()))
    A.eliminate_zeros()
    degree = A.sum(axis=1)
    scale = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
    return Operator(sp.csr_array(sp.diags_array(scale) @ A, dtype=np.float32))


class Operators(dict[str, Operator]):
    """The operators of a graph by the name of their normalisation, each made when it is first asked for.

    Example:
        >>> A = Operators(sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))
        >>> A["walk"].matrix.toarray(), A["in"].matrix.toarray()
        (array([[0., 1.],
               [1., 0.]], dtype=float32), array([[0., 0.],
               [1., 0.]], dtype=float32))
    """

    def __init__(self, adjacency: sp.csr_array, *, directed: bool = False) -> None:
        super().__init__()
        self.adjacency, self.directed = adjacency, directed

    def __missing__(self, how: str) -> Operator:
        self[how] = normalize(self.adjacency, cast(Normalization, how), directed=self.directed)
        return self[how]

    @property
    def matrix(self) -> sp.csr_array:
        """All links, whatever their direction."""
        return self["symmetric"].matrix


def rescaled_laplacian(adjacency: sp.csr_array) -> Operator:
    r"""The normalised Laplacian, scaled to eigenvalues from -1 to 1.

    .. math:: \tilde{L} = 2 L / \lambda_{\max} - I, \qquad L = I - D^{-1/2} A D^{-1/2}

    A has no self-loops, and an edge counts both ways.

    Example:
        >>> rescaled_laplacian(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))).matrix.toarray()
        array([[ 0., -1.],
               [-1.,  0.]], dtype=float32)
    """
    A = undirected(adjacency)
    degree = A.sum(axis=1)
    scale = sp.diags_array(np.where(degree > 0, np.maximum(degree, 1e-12) ** -0.5, 0))
    nodes = A.shape[0]
    L = sp.csr_array(sp.eye_array(nodes) - scale @ A @ scale)
    if nodes > 100:
        start = np.random.default_rng(0).random(nodes)
        largest = eigsh(L, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0]
    else:  # too few nodes for an iterative solver
        largest = np.linalg.eigvalsh(L.toarray())[-1]
    rescaled = sp.csr_array(2 / largest * L - sp.eye_array(nodes), dtype=np.float32)
    rescaled.eliminate_zeros()
    return Operator(rescaled, symmetric=True)


def undirected(adjacency: sp.csr_array) -> sp.csr_array:
    """The edge weights in float64, symmetric and without self-loops.

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
    """The binary bag of words of the paper: which features a node has, each row divided by its sum.

    Example:
        >>> bag_of_words(np.array([[0.0, 3.0, 0.2], [0.0, 0.0, 0.0]]))
        array([[0. , 0.5, 0.5],
               [0. , 0. , 0. ]], dtype=float32)
    """
    present = (matrix != 0).astype(np.float32)
    return normalize_rows(sp.csr_array(present) if sp.issparse(present) else present)


def normalize_rows(matrix: sp.csr_array | np.ndarray) -> sp.csr_array | np.ndarray:
    """Divide each row by the sum of its absolute values; a row of zeros stays zero.

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

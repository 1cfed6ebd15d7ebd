"""Fill missing feature values: along the edges, or with the mean of the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.ops import normalize

STEPS, CLOSE = 40, 1e-3  # iterations at most, and the change, in standard deviations of a column, that ends them
COLUMNS = 256  # filled at a time, so that little memory is needed

Matrix = Any  # (nodes, features), scipy sparse or dense; NaN where a value is unknown


def has_missing(X: Matrix) -> bool:
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def column_means(X: Matrix) -> np.ndarray:
    """The mean of the known values of each column; 0 where there is none."""
    if not sp.issparse(X):
        known = ~np.isnan(X)
        total, number = np.where(known, X, 0).sum(axis=0, dtype=np.float64), known.sum(axis=0)
    else:
        X, known = X.tocoo(), ~np.isnan(X.data)
        total = np.bincount(X.col[known], X.data[known], X.shape[1])
        number = X.shape[0] - np.bincount(X.col[~known], minlength=X.shape[1])
    return np.divide(total, number, out=np.zeros(len(total)), where=number > 0).astype(np.float32)


def fill_missing(X: Matrix, means: np.ndarray, adjacency: Any = None, *, directed: bool = False) -> Matrix:
    r"""Return X with its missing values filled in, by feature propagation (Rossi et al., 2022).

    A missing value begins at the mean of its column. Then, up to 40 times,

    .. math:: x \leftarrow T x, \qquad x_v \leftarrow \text{its known value, where it is known}, \qquad T = D^{-1} A

    which converges to the values with the least differences along edges. A node that no known value reaches keeps the
    mean.

    Args:
        X: ``(nodes, features)``, scipy sparse or dense, NaN where a value is missing.
        means: ``(features,)`` the value to begin with, and to keep without edges.
        adjacency: ``(nodes, nodes)`` edge weights; None to fill in the means.
        directed: values flow into row v from the columns of row v only.

    Example:
        >>> path = sp.csr_array(np.diag(np.ones(3), 1))
        >>> X = np.array([[0.0], [np.nan], [np.nan], [3.0]], dtype=np.float32)
        >>> fill_missing(X, column_means(X), path).round(1).ravel()
        array([0., 1., 2., 3.], dtype=float32)
        >>> fill_missing(X, column_means(X)).ravel()
        array([0. , 1.5, 1.5, 3. ], dtype=float32)
    """
    filled, T = X.copy(), None if adjacency is None else normalize(adjacency, "walk", directed=directed).matrix
    if not sp.issparse(X):
        missing = np.isnan(X)
        columns = np.flatnonzero(missing.any(axis=0))
        for some in (columns[i : i + COLUMNS] for i in range(0, len(columns), COLUMNS)):
            filled[:, some] = _fill(X[:, some], missing[:, some], means[some], T)
        return filled
    entries = X.tocoo()
    missing = np.isnan(entries.data)
    columns, by_column = np.unique(entries.col[missing]), sp.csc_array(X)
    for some in (columns[i : i + COLUMNS] for i in range(0, len(columns), COLUMNS)):
        dense = by_column[:, some].toarray()
        dense = _fill(dense, np.isnan(dense), means[some], T)
        here = missing & np.isin(entries.col, some)
        filled.data[here] = dense[entries.row[here], np.searchsorted(some, entries.col[here])]
    return filled


def _fill(X: np.ndarray, missing: np.ndarray, means: np.ndarray, T: sp.csr_array | None) -> np.ndarray:
    X = np.where(missing, means.astype(X.dtype), X)
    if T is None:
        return X
    rows = np.flatnonzero(missing.any(axis=1) & (np.diff(T.indptr) > 0))  # a node without neighbours keeps the mean
    T, missing, close = T[rows].astype(X.dtype), missing[rows], CLOSE * X.std(axis=0)
    for _ in range(STEPS):
        before = X[rows]
        after = np.where(missing, T @ X, before)
        X[rows] = after
        if (np.abs(after - before) <= close).all():
            break
    return X

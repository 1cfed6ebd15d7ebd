"""Features from the structure of a graph, if it has no others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

IDENTITY_NODES = 50_000  # larger graphs do not get one-hot features
HOPS = 4


def structural_features(
    adjacency: sp.csr_array, identity: bool | None = None
) -> tuple[sp.csr_array | np.ndarray, list[str] | None]:
    r"""Return the identity for small graphs, and statistics of degrees and random walks for larger ones.

    The latter are :math:`T^k [\log(1 + d), \; \mathrm{diag}(T^2)]` for k = 0 to 4, with d the degrees and
    :math:`T = D^{-1} A`: the expected log-degree and return probability of the
    node where a k-step walk ends. Unlike the identity, they have the same meaning on every graph.

    Args:
        adjacency: ``(nodes, nodes)``.
        identity: whether to return the identity; depends on the number of nodes if not given.

    Returns:
        The features and their names; the identity has no names.

    Example:
        >>> triangle = sp.csr_array(1 - np.eye(3))
        >>> structural_features(triangle)[0].toarray()[1]
        array([0., 1., 0.], dtype=float32)
        >>> features, names = structural_features(triangle, identity=False)
        >>> features.shape, names[:3]
        ((3, 10), ['degree', 'return', 'degree 1 away'])
    """
    nodes = adjacency.shape[0]
    if nodes <= IDENTITY_NODES if identity is None else identity:
        return sp.eye_array(nodes, dtype=np.float32, format="csr"), None
    A = adjacency.maximum(adjacency.T)
    degree = np.asarray(A.sum(axis=1), np.float64)
    T = sp.csr_array(sp.diags_array(1 / np.maximum(degree, 1e-12)) @ A)
    seen = np.stack([np.log1p(degree), T.multiply(T.T).sum(axis=1)], axis=1)
    columns, names = [seen], ["degree", "return"]
    for hop in range(1, HOPS + 1):
        seen = T @ seen
        columns.append(seen)
        names += [f"degree {hop} away", f"return {hop} away"]
    return np.hstack(columns).astype(np.float32), names

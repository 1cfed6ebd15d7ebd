r"""Manifold regularisation: a linear classifier of the features, with a penalty on differences along edges.

Laplacian regularised least squares, one class against the rest. (M. Belkin, P. Niyogi and V. Sindhwani, *Manifold
regularization: a geometric framework for learning from labeled and unlabeled examples*, JMLR 2006.)

.. math:: \min_{w} \; \frac{1}{l} \sum_{i \in \mathrm{train}} (y_i - x_i^\top w)^2 + \gamma_A \|w\|^2
    + \frac{\gamma_I}{m} \, (X w)^\top L \, (X w), \qquad L = D - W

with l training nodes, edges of total weight m, and y = 1 or -1; the last term is the mean squared difference along an
edge. Conjugate gradients find the minimum with sparse products. Rows of X are divided by their length, and a column of
ones is the intercept. The probabilities are the softmax of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from scipy.special import softmax

from ngcn.baselines.protocol import Baseline, one_hot, solve
from ngcn.graph import Graph
from ngcn.ops import undirected


@dataclass(kw_only=True)
class ManifoldRegularization(Baseline):
    """Laplacian regularised least squares on the features."""

    ambient: float = 1e-4  # gamma_A
    intrinsic: float = 10.0  # gamma_I

    def fit(self, graph: Graph, seed: int) -> None:
        X, W = inputs(graph), undirected(graph.adjacency)
        train = X[graph.train]
        Y = 2 * one_hot(graph)[graph.train] - 1
        along_edges = self.intrinsic / max(W.sum() / 2, 1)
        L = along_edges * (sp.diags_array(W.sum(axis=1)) - W)

        def times(w: np.ndarray) -> np.ndarray:
            return train.T @ (train @ w) / train.shape[0] + self.ambient * w + X.T @ (L @ (X @ w))

        diagonal = train.power(2).sum(axis=0) / train.shape[0] + self.ambient + X.multiply(L @ X).sum(axis=0)
        H = LinearOperator((X.shape[1],) * 2, matvec=times, dtype=np.float64)
        self.coefficients_ = solve(H, train.T @ Y / train.shape[0], np.asarray(diagonal).ravel())

    def predict_proba(self, graph: Graph) -> np.ndarray:
        return softmax(inputs(graph) @ self.coefficients_, axis=1)


def inputs(graph: Graph) -> sp.csr_array:
    """The features in rows of length 1, and a column of ones."""
    from sklearn.preprocessing import normalize

    X = normalize(sp.csr_array(graph.features, dtype=np.float64))
    return sp.csr_array(sp.hstack([X, np.ones((graph.nodes, 1))]))

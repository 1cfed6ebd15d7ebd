r"""Label propagation: every unlabelled node takes the mean of its neighbours' labels, until convergence.

Training labels are fixed; the fixed point is the harmonic function of the graph. (X. Zhu, Z. Ghahramani and J.
Lafferty, *Semi-supervised learning using Gaussian fields and harmonic functions*, ICML 2003.)

.. math:: F_u = D_{uu}^{-1} (W_{uu} F_u + W_{ul} Y_l)

Label spreading lets training labels change and gives nodes of high degree less influence. (D. Zhou et al., *Learning
with local and global consistency*, NIPS 2003.)

.. math:: F = \alpha D^{-1/2} W D^{-1/2} F + (1 - \alpha) Y

Conjugate gradients find both fixed points with far fewer products than the iteration. Settings: class mass
normalisation (Zhu) and alpha = 0.98, chosen on validation accuracy (docs/results/baselines.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ngcn.baselines.protocol import Transductive, one_hot, solve
from ngcn.graph import Graph
from ngcn.ops import undirected


@dataclass(kw_only=True)
class LabelPropagation(Transductive):
    """The harmonic function. A node without a path to a training node gets the class shares of the training nodes."""

    reads_features = False

    class_mass: bool = True  # scale the classes to their shares among the training nodes

    def infer(self, graph: Graph, seed: int) -> np.ndarray:
        W, Y = undirected(graph.adjacency), one_hot(graph)
        degree, u = np.maximum(W.sum(axis=1), 1e-12), ~graph.train  # isolated nodes get 0
        F = Y.copy()
        F[u] = solve(sp.diags_array(degree[u]) - W[u][:, u], W[u] @ Y, degree[u]).clip(min=0)
        if self.class_mass:
            F[u] *= Y.sum(axis=0) / np.maximum(F[u].sum(axis=0), 1e-12)
        return _shares(F, prior=Y.sum(axis=0))


@dataclass(kw_only=True)
class LabelSpreading(Transductive):
    """Label spreading; training labels have weight ``1 - alpha``."""

    reads_features = False

    alpha: float = 0.98

    def infer(self, graph: Graph, seed: int) -> np.ndarray:
        W, Y = undirected(graph.adjacency), one_hot(graph)
        scale = sp.diags_array(np.maximum(W.sum(axis=1), 1e-12) ** -0.5)
        A = sp.eye_array(graph.nodes) - self.alpha * (scale @ W @ scale)
        F = solve(A, (1 - self.alpha) * Y, A.diagonal())
        return _shares(F.clip(min=0), prior=Y.sum(axis=0))


def _shares(F: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows divided by their sum; the prior in place of a row of zeros."""
    F = np.where(F.sum(axis=1, keepdims=True) > 0, F, prior)
    return F / F.sum(axis=1, keepdims=True)

r"""Iterative classification: a classifier of the features of a node and the current labels of its neighbours.

The initial labels come from a classifier of the features alone. Then the unlabelled nodes are classified again, one by
one in random order, for several iterations. (Q. Lu and L. Getoor, *Link-based classification*, ICML 2003; bootstrap,
order and iterations as in T. Kipf and M. Welling, ICLR 2017.)

.. math:: y_i \leftarrow \arg\max_c \; p_c\big(x_i, \mathrm{stat}\{y_j : j \in N(i)\}\big), \qquad
    p = \mathrm{softmax}\big(W_x x_i + W_s \, \mathrm{stat} + b\big)

``stat`` is the count or the proportion of the neighbours with each class. With ``soft``, :math:`y_i` is p itself
instead of its arg max. Both classifiers are scikit-learn's logistic regression; rows of X are divided by their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from ngcn.baselines.protocol import Transductive, one_hot
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.ops import undirected


@dataclass(kw_only=True)
class ICA(Transductive):
    """Iterative classification with logistic regression."""

    C: float = 30.0  # inverse strength of the L2 penalty
    statistic: str = "proportion"  # or count
    soft: bool = True  # use the probabilities of neighbours instead of their most probable class
    iterations: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.statistic not in ("count", "proportion"):
            raise ConfigError(f"statistic must be count or proportion, not {self.statistic!r}.")

    def infer(self, graph: Graph, seed: int) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import normalize

        X, train, labels = normalize(sp.csr_array(graph.features, dtype=np.float64)), graph.train, graph.labels
        S = sp.csr_array(undirected(graph.adjacency) != 0, dtype=np.float64)  # S @ (one-hot labels) are the statistics
        if self.statistic == "proportion":
            S = normalize(S, norm="l1")

        classes = np.unique(labels[train])

        def decide(logits: np.ndarray) -> np.ndarray:
            return softmax(logits, axis=-1) if self.soft else np.eye(len(classes))[logits.argmax(axis=-1)]

        Y = one_hot(graph)[:, classes]
        classifier = LogisticRegression(C=self.C, max_iter=1000).fit(X[train], labels[train])
        W, bias = _weights(classifier)
        Y[~train] = decide(X[~train] @ W + bias)
        classifier.fit(sp.hstack([X, S @ Y], format="csr")[train], labels[train])

        W, bias = _weights(classifier)
        by_features, W_s = X @ W[: X.shape[1]] + bias, W[X.shape[1] :]
        random = np.random.default_rng(seed)
        for _ in range(self.iterations):
            for i in random.permutation(np.flatnonzero(~train)):
                of_i = slice(S.indptr[i], S.indptr[i + 1])
                Y[i] = decide(by_features[i] + S.data[of_i] @ Y[S.indices[of_i]] @ W_s)
        p = np.zeros((graph.nodes, graph.classes))
        p[:, classes] = softmax(by_features + S @ Y @ W_s, axis=1)
        return p


def _weights(classifier: Any) -> tuple[np.ndarray, np.ndarray]:
    """The weights ``(features, classes)`` and intercepts; for two classes, scikit-learn stores those of the second."""
    W, bias = classifier.coef_.T, classifier.intercept_
    return (np.hstack([-W / 2, W / 2]), np.hstack([-bias / 2, bias / 2])) if len(bias) == 1 else (W, bias)

r"""Iterative classification: a classifier sees a node's features and the labels that its neighbours have at the moment.

Labels start from a classifier of the features alone; then all unlabelled nodes are classified again, one after the
other in random order, so often that labels settle. (Q. Lu and L. Getoor, *Link-based classification*, ICML 2003; with
the bootstrap, order and iterations that T. Kipf and M. Welling describe, ICLR 2017.)

.. math:: y_i \leftarrow \arg\max_c \; p_c\big(x_i, \mathrm{stat}\{y_j : j \in N(i)\}\big), \qquad
    p = \mathrm{softmax}\big(W_x x_i + W_s \, \mathrm{stat} + b\big)

``stat`` is how many (count) or which share (proportion) of the neighbours have each class; with ``soft``, a node's
:math:`y_i` is p itself and not its largest entry alone. Both classifiers are scikit-learn's logistic regression; rows
of X are divided by their length.

Settings, chosen on validation accuracy (docs/baselines.md): the same for all datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from ngcn.baselines.protocol import Baseline, one_hot
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.ops import undirected

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


@dataclass(kw_only=True)
class ICA(Baseline):
    """Iterative classification with logistic regression."""

    C: float = 30.0  # scikit-learn's: the smaller, the more regularisation
    statistic: str = "proportion"  # or count
    soft: bool = True  # neighbours count by their probabilities, not by their likeliest class
    iterations: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.statistic not in ("count", "proportion"):
            raise ConfigError(f"statistic must be count or proportion, not {self.statistic!r}.")

    def fit(self, graph: Graph, seed: int) -> None:
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
        self.probabilities_ = np.zeros((graph.nodes, graph.classes))
        self.probabilities_[:, classes] = softmax(by_features + S @ Y @ W_s, axis=1)

    def predict_proba(self, graph: Graph) -> np.ndarray:
        return self.probabilities_


def _weights(classifier: LogisticRegression) -> tuple[np.ndarray, np.ndarray]:
    """A column of weights per class, and the intercepts; for two classes, scikit-learn has those of the second only."""
    W, bias = classifier.coef_.T, classifier.intercept_
    return (np.hstack([-W / 2, W / 2]), np.hstack([-bias / 2, bias / 2])) if len(bias) == 1 else (W, bias)

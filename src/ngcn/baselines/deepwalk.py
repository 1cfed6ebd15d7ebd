r"""DeepWalk: skip-gram embeddings of the nodes in random walks, classified by logistic regression.

(B. Perozzi, R. Al-Rfou and S. Skiena, *DeepWalk: online learning of social representations*, KDD 2014.) The embeddings
:math:`\Phi` maximise the probability of the nodes within a window of each other on a walk,

.. math:: \max_\Phi \sum_{\text{walks } v_1 \dots v_t} \; \sum_i \; \sum_{0 < |j| \le w} \log P(v_{i+j} \mid \Phi(v_i))

with P a hierarchical softmax, by gensim. With p or q other than 1 the walks are those of node2vec (A. Grover and J.
Leskovec, KDD 2016). The embeddings use neither features nor labels.

Settings: length, window and dimensions are those of the DeepWalk paper, which has 80 walks per node instead of 10. C
was chosen on validation accuracy (docs/results/baselines.md). gensim runs on one thread, since its results are not
reproducible on several; the walks run in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ngcn.baselines._walks import random_walks
from ngcn.baselines.protocol import Transductive
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.ops import undirected


@dataclass(kw_only=True)
class DeepWalk(Transductive):
    """Skip-gram on random walks, then logistic regression on the embeddings of the training nodes."""

    reads_features = False
    multilabel = True

    dimensions: int = 128
    walks: int = 10  # from each node
    length: int = 40  # nodes in a walk
    window: int = 10
    p: float = 1.0  # return parameter of node2vec
    q: float = 1.0  # in-out parameter of node2vec
    C: float = 0.1  # of the logistic regression: inverse strength of its L2 penalty

    def infer(self, graph: Graph, seed: int) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier

        vectors = self.embed(graph, seed)
        regression = LogisticRegression(C=self.C, max_iter=1000)
        classifier = OneVsRestClassifier(regression) if graph.multilabel else regression
        classifier.fit(vectors[graph.train], graph.labels[graph.train])
        p = np.zeros((graph.nodes, graph.classes))  # 0 for a class without training nodes
        p[:, classifier.classes_] = classifier.predict_proba(vectors)
        return p

    def embed(self, graph: Graph, seed: int) -> np.ndarray:
        """The embeddings, ``(nodes, dimensions)``; that of a node without edges is random."""
        try:
            from gensim.models import Word2Vec
        except ImportError:
            raise ConfigError("DeepWalk needs gensim, which is not installed: pip install gensim") from None
        random = np.random.default_rng(seed)
        starts = np.concatenate([random.permutation(graph.nodes) for _ in range(self.walks)])
        walks = random_walks(undirected(graph.adjacency), starts, self.length, seed, p=self.p, q=self.q)
        words = np.array([str(node) for node in range(graph.nodes)], dtype=object)
        skip_gram = {"sg": 1, "hs": 1, "negative": 0, "min_count": 0, "sample": 0, "epochs": 1, "workers": 1}
        model = Word2Vec(words[walks].tolist(), vector_size=self.dimensions, window=self.window, seed=seed, **skip_gram)
        return model.wv[words.tolist()]

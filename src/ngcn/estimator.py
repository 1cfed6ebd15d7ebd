"""`NGCNClassifier`: the scikit-learn face. Graph or no graph, a few labels, and `fit`, `predict`, `score`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ngcn._targets import Targets, part_of_each_class, refuse_missing
from ngcn.data.knn import Neighbours
from ngcn.graph import UNKNOWN, Graph, GraphError
from ngcn.nn import MODELS
from ngcn.ops import Features, Operator, normalize
from ngcn.training.config import Config, ConfigError
from ngcn.training.loop import fit
from ngcn.training.setup import Preparation, build_inputs, ignores_values, prepare

ONE_UNIT = 10  # times the median deviation: columns up to here are taken to have the same unit
ESTIMATORS = ("ngcn", "nsage", "gcn", "sage", "dcnn")  # what new nodes can join; not all that `Config` knows is
Data = Any  # an array, a scipy sparse matrix or a DataFrame, as scikit-learn takes them, or a `Graph`


class NGCNClassifier(ClassifierMixin, BaseEstimator):
    """N-GCN as a semi-supervised classifier: the labels that are there teach, the graph carries them on.

    Without a graph, one is made of X: every row is linked to its nearest neighbours. Numbers need no scaling before:
    the network takes standardised columns, unless ``features`` says otherwise, and so does the graph if their units
    seem to differ (one column deviates more than 10 times as much as the median column).

    Args:
        model: ngcn, nsage, gcn, sage or dcnn.
        powers, replicas, classifier, layers: the model's own if None; for ngcn and nsage these are 6, 4, attention
            and 2. See :class:`ngcn.Network`.
        hidden: columns of a tower's hidden layers.
        steps, lr, dropout, l2, patience: of training; see :class:`ngcn.Config`.
        features: what is made of X first: bag (which features a row has, summing to 1), unit (the same, of length 1),
            row (each row summing to 1), standard (each column with mean 0 and deviation 1, not counting what is held
            out) or none; auto is bag, or unit for long rows, for sparse X with more zeros than not (none if a number is
            negative) and for zeros and ones, else standard.
        n_neighbors, metric: of the graph that is made of X; see :func:`ngcn.data.knn_graph`.
        validation_fraction: share of the labelled nodes of every class, rounded down, that do not teach but choose the
            best step. If that is none, all teach and the last step is kept.
        random_state: initialisation, dropout and the nodes held out; a number gives the same bits again.

    Attributes:
        classes_: the labels in y without -1; for multi-label and after ``fit(graph)`` the numbers of the classes.
        transduction_: ``(nodes,)`` the label of every node: the given one, where there is none the predicted.
        label_distributions_: ``(nodes, classes)`` what the network says of every node, the labelled ones included.
        scale_weights_: how much each power of Â counts, by power; None for the classifiers fc and fc2.
        history_: the loss of every step and, with nodes held out, their loss and score.
        best_step_: the step whose parameters are kept.
        n_features_in_, feature_names_in_: as everywhere in scikit-learn.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 10 == 0, y, -1)  # 18 labels
        >>> model = NGCNClassifier(steps=50, random_state=0).fit(X, few)
        >>> (model.transduction_ == y).mean() > 0.9, model.predict(X[:2])
        (np.True_, array([0, 0]))
    """

    def __init__(
        self,
        model: str = "ngcn",
        *,
        powers: int | Sequence[int] | None = None,
        replicas: int | None = None,
        classifier: str | None = None,
        hidden: int = 16,
        layers: int | None = None,
        steps: int = 100,
        lr: float = 0.01,
        dropout: float = 0.5,
        l2: float = 1e-5,
        patience: int | None = None,
        features: str = "auto",
        n_neighbors: int = 10,
        metric: str | Callable[..., float] = "euclidean",
        validation_fraction: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.powers = powers
        self.replicas = replicas
        self.classifier = classifier
        self.hidden = hidden
        self.layers = layers
        self.steps = steps
        self.lr = lr
        self.dropout = dropout
        self.l2 = l2
        self.patience = patience
        self.features = features
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Data, y: Any = None, adjacency: Any = None) -> NGCNClassifier:
        """Learn from the labelled nodes.

        Args:
            X: ``(nodes, features)``; or a :class:`~ngcn.Graph`, whose training nodes teach, whose validation nodes, if
                it has any, choose the best step, and whose other labels are not looked at.
            y: ``(nodes,)`` labels with -1 for unlabelled (among text too, in an object array); or a 0/1 matrix
                ``(nodes, classes)`` with rows of -1, for nodes with several labels. -1 and 1 alone are two classes.
            adjacency: ``(nodes, nodes)`` edge weights, sparse or dense; nearest neighbours in X are linked if None.
        """
        random = check_random_state(self.random_state)
        self._config = self._settings()
        self._neighbours: Neighbours | None = None
        graph = self._given_graph(X, y, adjacency) if isinstance(X, Graph) else self._made_graph(X, y, adjacency)
        given, val = graph.train | graph.val, graph.val
        if not val.any():
            val = part_of_each_class(graph.labels, graph.train, self.validation_fraction, random)
        graph = graph.with_split(given & ~val, val, np.zeros(graph.nodes, dtype=bool))

        if ignores_values(graph, self._config):
            warnings.warn(
                "X is sparse, and with features='auto' what counts is which features a row has, not their values; "
                "features='standard', 'row' or 'none' makes them count, 'bag' is this without a warning.",
                stacklevel=2,
            )
        result = fit(graph, self._config, seed=int(random.randint(2**31)))
        self._network, self._preparation = result.network, prepare(graph, self._config)
        self._graph = graph if self._neighbours else None  # for new nodes to join
        self._multilabel = graph.multilabel
        self.scale_weights_ = result.network.scale_weights()
        self.best_step_ = result.best_step
        self.history_ = {name: values for name, values in result.history.items() if name == "loss" or val.any()}
        self.label_distributions_ = self._distributions(*self._inputs(graph))
        predicted = self._decide(self.label_distributions_)
        known = graph.labels.astype(predicted.dtype) if self._multilabel else self.classes_[graph.labels]
        self.transduction_ = np.where(given[:, None] if self._multilabel else given, known, predicted)
        return self

    def predict_proba(self, X: Data, adjacency: Any = None) -> np.ndarray:
        """The probability of every class, ``(nodes, classes)``, for nodes that training need not have seen.

        Args:
            X: the features of the nodes, or a :class:`~ngcn.Graph`.
            adjacency: their edges, as for :meth:`fit`. Without it, each row of X joins the nearest-neighbour graph of
                the training nodes for itself: it hears from the nearest of them and they do not hear from it, so that
                it does not matter which other rows are asked about at the same time.
        """
        check_is_fitted(self)
        if isinstance(X, Graph):
            _nothing_else(adjacency)
            if X.features.shape[1] != self.n_features_in_:
                raise GraphError(
                    f"The graph {X.name!r} has {X.features.shape[1]} features, but the model was fitted on "
                    f"{self.n_features_in_}; they must be the same, in the same order."
                )
            return self._distributions(*self._inputs(X))
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        if adjacency is not None:
            return self._distributions(*self._inputs(_unlabelled(adjacency, X)))
        if self._neighbours is None:
            raise GraphError(
                "The model was fitted on a graph of yours, so new nodes need their edges: pass adjacency, or a Graph; "
                "the labels of the nodes that it was fitted on are in transduction_."
            )
        return self._distributions(*self._joined(X))

    def predict(self, X: Data, adjacency: Any = None) -> np.ndarray:
        """The most probable class of every node; for multi-label the classes more probable than not, as 0/1 matrix.

        Arguments are those of :meth:`predict_proba`.
        """
        return self._decide(self.predict_proba(X, adjacency))

    def score(self, X: Data, y: Any = None, sample_weight: Any = None, adjacency: Any = None) -> float:
        """Accuracy, for multi-label that of whole rows. Nodes that are -1 in y do not count.

        Of a :class:`~ngcn.Graph` the test nodes count or, if it has none, all labelled nodes.
        """
        predicted = self.predict(X, adjacency)
        counts = np.ones(len(predicted), dtype=bool)
        if isinstance(X, Graph):
            _nothing_else(y)
            y = X.labels
        y = y.toarray() if sp.issparse(y) else np.asarray(y)
        if isinstance(X, Graph) and X.test.any():
            counts = X.test
        elif UNKNOWN not in self.classes_.tolist():
            counts = (y != UNKNOWN).reshape(len(y), -1).any(axis=1)
        weight = None if sample_weight is None else np.asarray(sample_weight)[counts]
        return float(accuracy_score(y[counts], predicted[counts], sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def _settings(self) -> Config:
        if self.model not in ESTIMATORS:
            raise ConfigError(f"model must be one of {', '.join(ESTIMATORS)}, not {self.model!r}.")
        values = {f.name: getattr(self, f.name) for f in fields(Config) if hasattr(self, f.name)}
        # A search hands over numbers of numpy's kinds
        return Config(**{k: v.tolist() if isinstance(v, np.generic | np.ndarray) else v for k, v in values.items()})

    def _given_graph(self, graph: Graph, y: Any, adjacency: Any) -> Graph:
        _nothing_else(y, adjacency)
        if not graph.train.any() or graph.classes < 2:
            raise GraphError(f"The graph {graph.name!r} needs training nodes and two classes or more to learn from.")
        validate_data(self, graph.features, accept_sparse="csr")  # sets n_features_in_, forgets older names
        if graph.feature_names != tuple(map(str, range(self.n_features_in_))):
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)
        self.classes_ = np.arange(graph.classes)
        return graph

    def _made_graph(self, X: Any, y: Any, adjacency: Any) -> Graph:
        refuse_missing(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, ensure_min_samples=2)
        targets = Targets.of(y)
        self.classes_ = targets.classes
        none = np.zeros(len(targets.known), dtype=bool)
        edges = sp.csr_array((len(none), len(none))) if adjacency is None else adjacency
        graph = Graph(edges, X, targets.labels, targets.known, none, none)
        if adjacency is None:
            as_they_are = self.features == "auto" and _one_unit(graph.features)
            self._places = Preparation("none") if as_they_are else prepare(graph, self._config)
            self._neighbours = Neighbours(self._places(graph.features), self.n_neighbors, self.metric)
            graph = replace(graph, adjacency=self._neighbours.graph())
        return graph

    def _inputs(self, graph: Graph) -> tuple[Operator, Features]:
        return build_inputs(graph, self._config, self._preparation)

    def _joined(self, X: Any) -> tuple[Operator, Features, torch.Tensor]:
        """The training nodes, new nodes that hear from them, and which rows the new nodes are."""
        assert self._neighbours is not None and self._graph is not None
        X = X.astype(np.float32)  # as in a Graph
        old, new = self._preparation(self._graph.features), self._preparation(X)
        links = self._neighbours.links(self._places(X))
        edges = [[self._graph.adjacency, None], [links, sp.csr_array((X.shape[0], X.shape[0]))]]
        how = MODELS[self._config.model].normalization
        A_hat = normalize(sp.block_array(edges, format="csr"), how, directed=True)
        features = sp.vstack([sp.csr_array(old), sp.csr_array(new)], format="csr")
        return A_hat, Features(features), torch.arange(old.shape[0], features.shape[0])

    def _distributions(self, A_hat: Operator, X: Features, rows: torch.Tensor | None = None) -> np.ndarray:
        with torch.no_grad():
            logits = self._network(A_hat, X, rows).double()
        return (logits.sigmoid() if self._multilabel else logits.softmax(dim=1)).numpy()

    def _decide(self, distributions: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return (distributions > 0.5).astype(int)
        return self.classes_[distributions.argmax(axis=1)]


def _nothing_else(*given: Any) -> None:
    if any(value is not None for value in given):
        raise GraphError("A Graph brings its own labels and edges; pass it alone, without y and adjacency.")


def _one_unit(features: Any) -> bool:
    """Whether dense columns deviate so alike that they seem to have the same unit."""
    if sp.issparse(features):
        return False
    deviation = features.std(axis=0, dtype=np.float64)
    varying = deviation[deviation > 0]
    return bool(len(varying) and varying.max() <= ONE_UNIT * np.median(varying))


def _unlabelled(adjacency: Any, X: Any) -> Graph:
    none = np.zeros(X.shape[0], dtype=bool)
    return Graph(adjacency, X, np.full(X.shape[0], UNKNOWN), none, none, none)

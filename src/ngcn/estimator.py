"""`NGCNClassifier`: the scikit-learn interface, with or without a graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from ngcn._targets import check_not_missing, dense, part_of_each_class, read_targets
from ngcn.checks import choice
from ngcn.config import Config
from ngcn.data.knn import Neighbours
from ngcn.errors import GraphError
from ngcn.graph import UNKNOWN, Graph
from ngcn.model import ignores_values, prepare
from ngcn.registry import MODELS
from ngcn.scoring import probabilities
from ngcn.training import fit

A_FIFTH, FEW = 0.2, 30  # of the labels are held out for validation, if that makes so many nodes
WITHOUT_VALIDATION = 100  # steps, where nothing tells when to stop
ONE_UNIT = 10  # columns whose standard deviation is within this factor of the median are taken to have the same unit
Data = Any  # an array, a scipy sparse matrix or a DataFrame, as scikit-learn takes them, or a `Graph`


class NGCNClassifier(ClassifierMixin, BaseEstimator):
    """N-GCN as a semi-supervised classifier.

    Without a graph, every row of X is linked to its nearest neighbours. Dense features are standardised for the
    network, unless ``features`` sets another preparation; for the neighbour graph they are standardised if their units
    seem to differ (the standard deviation of a column is more than 10 times the median).

    Args:
        model: a network by name, such as mixed, ngcn, nsage, gcn, sage or dcnn.
        powers, replicas, classifier, hidden, layers, lr, dropout, l2, patience: the defaults of the model if None, see
            :class:`ngcn.Config`.
        steps: at most this many; if None, 600 with validation nodes, which end training earlier, and 100 without.
        features: how X is prepared: auto, bag, unit, row, standard or none, see :class:`ngcn.Config`.
        missing: how NaN in X is filled: propagate (along the edges), mean (of the column) or error. Without a graph,
            the neighbours are found with the means.
        n_neighbors, metric: of the neighbour graph, see :func:`ngcn.knn_graph`.
        validation_fraction: the share of the labelled nodes of every class, rounded down, that are held out to select
            the best step, to weight the towers and to calibrate the probabilities. "auto" is a fifth if that makes 30
            nodes or more, else 0: then all labelled nodes train, the last step is kept, and towers have equal weights.
        class_weight: how much the labelled nodes of each class count: a dict by class, "balanced" (all classes the
            same), or None (all nodes the same).
        random_state: draws the initial parameters, dropout and the validation nodes; an int makes fits reproducible.

    Attributes:
        model_: the trained :class:`ngcn.Model`.
        classes_: the labels in y without -1; for multi-label and after ``fit(graph)`` the numbers of the classes.
        transduction_: ``(nodes,)`` the label of every node: the given one, or else the predicted one.
        label_distributions_: ``(nodes, classes)`` the predicted probabilities of every node, labelled or not.
        scale_weights_: the weight of each power of Â, by power; None for the classifiers fc and fc2.
        history_: the loss of every step and, with validation nodes, their loss and score.
        best_step_: the step whose parameters are kept.
        n_features_in_, feature_names_in_: as in all scikit-learn estimators.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) % 10 == 0, y, -1)  # 18 labels
        >>> model = NGCNClassifier(steps=50, random_state=0).fit(X, few)
        >>> (model.transduction_ == y).mean() > 0.9, model.predict(X[:2])
        (np.True_, array([0, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {  # the other parameters are checked by `Config`
        "model": [str],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "validation_fraction": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        model: str = "mixed",
        *,
        powers: int | Sequence[int] | None = None,
        replicas: int | None = None,
        classifier: str | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        steps: int | None = None,
        lr: float | None = None,
        dropout: float | None = None,
        l2: float | None = None,
        patience: int | None = None,
        features: str = "auto",
        missing: str = "propagate",
        n_neighbors: int = 10,
        metric: str | Callable[..., float] = "euclidean",
        validation_fraction: float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
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
        self.missing = missing
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Data, y: Any = None, adjacency: Any = None, sample_weight: Any = None) -> NGCNClassifier:
        """Fit the model to the labelled nodes.

        Args:
            X: ``(nodes, features)``; or a :class:`~ngcn.Graph`. Its training nodes are fitted, its validation nodes, if
                any, select the best step, and its other labels are not used.
            y: ``(nodes,)`` labels with -1 for unlabelled (for text labels, in an object array); or for multi-label a
                0/1 matrix ``(nodes, classes)``, with rows of -1. A y of only -1 and 1 has two classes.
            adjacency: ``(nodes, nodes)`` edge weights, sparse or dense; if None, nearest neighbours are linked.
            sample_weight: ``(nodes,)`` how much each labelled node counts; all the same if None.
        """
        self._validate_params()
        random = check_random_state(self.random_state)
        config = self._config()
        self._neighbours: Neighbours | None = None
        if isinstance(X, Graph):
            _check_alone(y, adjacency)
            graph = self._check_graph(X)
        else:
            graph = self._make_graph(X, y, adjacency, config)
        labelled, val = graph.train | graph.val, graph.val
        if not val.any():
            auto = self.validation_fraction == "auto"
            share: Any = A_FIFTH if auto else self.validation_fraction
            val = part_of_each_class(graph.labels, graph.train, share, random)
            val &= not auto or val.sum() >= FEW
        graph = graph.with_split(labelled & ~val, val, np.zeros(graph.nodes, dtype=bool))
        weights = self._weights(graph, labelled, sample_weight)
        if self.steps is None and not val.any():
            config = replace(config, steps=WITHOUT_VALIDATION)

        if ignores_values(graph, config):
            warnings.warn(
                "X is sparse, and features='auto' uses which features a node has, not their values. "
                "features='standard', 'row' or 'none' keeps the values; 'bag' silences this warning.",
                stacklevel=2,
            )
        result = fit(graph, config, seed=int(random.randint(2**31)), weights=weights)
        self.model_ = result.model
        self._graph = graph if self._neighbours else None  # new nodes are linked to it
        self.scale_weights_ = self.model_.scale_weights()
        self.best_step_ = result.best_step
        self.history_ = {name: values for name, values in result.history.items() if name == "loss" or val.any()}
        self.label_distributions_ = self._distributions(graph)
        predicted = self._decide(self.label_distributions_)
        if graph.multilabel:
            self.transduction_ = np.where(labelled[:, None], graph.labels.astype(predicted.dtype), predicted)
        else:
            self.transduction_ = np.where(labelled, self.classes_[graph.labels], predicted)
        return self

    def predict_proba(self, X: Data, adjacency: Any = None) -> np.ndarray:
        """The class probabilities, ``(nodes, classes)``, also of new nodes.

        Args:
            X: the features of the nodes, or a :class:`~ngcn.Graph`.
            adjacency: their edges, as for :meth:`fit`. If None, each row of X is linked to its nearest neighbours among
                the nodes of :meth:`fit`. These links are directed towards the new node, so that its prediction does not
                depend on the other rows of X.
        """
        check_is_fitted(self)
        if isinstance(X, Graph):
            _check_alone(adjacency)
            return self._distributions(X)
        X = self._features(X)
        if adjacency is not None:
            return self._distributions(_unlabelled(adjacency, X))
        if self._neighbours is None:
            raise GraphError(
                "The model was fitted on a given graph, so new nodes need edges: pass adjacency, or a Graph. The "
                "labels of the nodes of that graph are in transduction_."
            )
        joined = self._join(X)
        return self._distributions(joined, np.arange(joined.nodes - X.shape[0], joined.nodes), directed=True)

    def predict(self, X: Data, adjacency: Any = None) -> np.ndarray:
        """The most probable class of every node; for multi-label, a 0/1 matrix of the classes above 0.5.

        Arguments are those of :meth:`predict_proba`.
        """
        return self._decide(self.predict_proba(X, adjacency))

    def score(self, X: Data, y: Any = None, sample_weight: Any = None, adjacency: Any = None) -> float:
        """The accuracy; for multi-label, the share of rows without error. Nodes with -1 in y are ignored.

        For a :class:`~ngcn.Graph`, the accuracy on its test nodes or, if it has none, on all labelled nodes.
        """
        predicted = self.predict(X, adjacency)
        scored = np.ones(len(predicted), dtype=bool)
        if isinstance(X, Graph):
            _check_alone(y)
            y = X.labels
        y = dense(y)
        check_consistent_length(predicted, np.atleast_1d(y))
        if isinstance(X, Graph) and X.test.any():
            scored = X.test
        elif UNKNOWN not in self.classes_.tolist():
            scored = (y != UNKNOWN).reshape(len(y), -1).any(axis=1)
        weight = None if sample_weight is None else _weights_of(sample_weight, predicted)[scored]
        with np.errstate(invalid="ignore"):  # an infinite y is an error
            return float(accuracy_score(y[scored], predicted[scored], sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def _config(self) -> Config:
        choice([name for name, spec in MODELS.items() if spec.takes_new_nodes])("model", self.model)
        names = [f.name for f in fields(Config) if f.name in self.get_params() and f.name != "metric"]
        values = {name: getattr(self, name) for name in names}
        # A parameter search passes numpy's numbers
        return Config(**{k: v.tolist() if isinstance(v, np.generic | np.ndarray) else v for k, v in values.items()})

    def _weights(self, graph: Graph, labelled: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """How much each node counts in training; None if all count the same."""
        if self.class_weight is None and sample_weight is None:
            return None
        weights = _weights_of(np.ones(graph.nodes) if sample_weight is None else sample_weight, graph.features)
        if self.class_weight is not None:
            known = graph.labels[labelled]
            known = known if graph.multilabel else self.classes_[known]
            weights[labelled] *= compute_sample_weight(self.class_weight, known)
        return weights

    def _features(self, X: Any, **how: Any) -> Any:
        """X, and y if there is one, as scikit-learn checks them."""
        try:
            found = validate_data(self, X, accept_sparse="csr", reset="y" in how, ensure_all_finite="allow-nan", **how)
        except RuntimeError as error:  # a tensor that requires a gradient
            raise TypeError(str(error)) from None
        if (found[0] if "y" in how else found).dtype.kind == "c":
            raise ValueError(
                "Complex data not supported\n"
            )  # the words of scikit-learn, which checks dense arrays only
        return found

    def _check_graph(self, graph: Graph) -> Graph:
        if not graph.train.any() or graph.classes < 2:
            raise GraphError(f"The graph {graph.name!r} must have training nodes and at least two classes.")
        # Sets n_features_in_, and removes the names of an earlier fit
        validate_data(self, graph.features, accept_sparse="csr", ensure_all_finite="allow-nan")
        if graph.feature_names != tuple(map(str, range(self.n_features_in_))):
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)
        self.classes_ = np.arange(graph.classes)
        return graph

    def _make_graph(self, X: Any, y: Any, adjacency: Any, config: Config) -> Graph:
        check_not_missing(y)
        X, y = self._features(X, y=y, multi_output=True, ensure_min_samples=2)
        labels, known, self.classes_ = read_targets(y)
        none = np.zeros(len(known), dtype=bool)
        edges = sp.csr_array((len(none), len(none))) if adjacency is None else adjacency
        if hasattr(edges, "nodes"):
            raise GraphError(
                "The adjacency must be a matrix, not a networkx graph: use networkx.to_scipy_sparse_array, with "
                "`nodelist` in the order of X."
            )
        if np.shape(edges) != (len(none), len(none)) and np.shape(edges)[:1] == (len(none),):
            raise GraphError(
                f"The adjacency of {len(none)} nodes has shape {np.shape(edges)}. If a search or a cross-validation of "
                "scikit-learn has taken some of its rows: ngcn.cross_validate(graph, config) and ngcn.tune(graph) keep "
                "all edges."
            )
        graph = Graph(edges, X, labels, known, none, none)
        if adjacency is None:
            unchanged = self.features == "auto" and _one_unit(graph.features)
            self._place = prepare(graph, replace(config, features="none") if unchanged else config)
            self._neighbours = Neighbours(self._place(graph.features), self.n_neighbors, self.metric)
            graph = replace(graph, adjacency=self._neighbours.graph())
        return graph

    def _join(self, X: Any) -> Graph:
        """The graph of :meth:`fit` with the rows of X appended, linked from their nearest neighbours."""
        assert self._neighbours is not None and self._graph is not None
        new = X.astype(np.float32)  # as in a Graph
        links = self._neighbours.links(self._place(new))
        adjacency = sp.block_array([[self._graph.adjacency, None], [links, sp.csr_array((X.shape[0],) * 2)]])
        old = self._graph.features
        features = sp.vstack([old, new]) if sp.issparse(old) or sp.issparse(new) else np.vstack([old, new])
        return _unlabelled(adjacency, features)

    def _distributions(self, graph: Graph, rows: np.ndarray | None = None, *, directed: bool = False) -> np.ndarray:
        logits = self.model_.logits(graph, rows, directed=directed).double()  # rows sum to 1 more exactly
        return probabilities(logits, self.model_.multilabel).numpy()

    def _decide(self, distributions: np.ndarray) -> np.ndarray:
        if self.model_.multilabel:
            return (distributions > 0.5).astype(int)
        return self.classes_[distributions.argmax(axis=1)]


def _check_alone(*given: Any) -> None:
    if any(value is not None for value in given):
        raise GraphError("A Graph has its own labels and edges; pass it without y and adjacency.")


def _weights_of(sample_weight: Any, rows: Any) -> np.ndarray:
    """The weights of the rows, as new floats; any error is a ValueError or a TypeError."""
    try:
        return np.array(_check_sample_weight(dense(sample_weight), rows))
    except OverflowError:
        raise ValueError("sample_weight has a number that is too large; divide all weights by it.") from None


def _one_unit(features: Any) -> bool:
    """Whether the columns are dense and their standard deviations similar, as with a common unit."""
    if sp.issparse(features):
        return False
    deviation = np.ma.masked_invalid(features).std(axis=0, dtype=np.float64).filled(0)
    varying = deviation[deviation > 0]
    return bool(len(varying) and varying.max() <= ONE_UNIT * np.median(varying))


def _unlabelled(adjacency: Any, X: Any) -> Graph:
    none = np.zeros(X.shape[0], dtype=bool)
    return Graph(adjacency, X, np.full(X.shape[0], UNKNOWN), none, none, none)

"""What a model must beat, and the warnings about one that does not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.preprocessing import scale

from ngcn import Config, train
from ngcn.graph import Graph
from ngcn.model import Preparation
from ngcn.training import majority, references, warning_of
from ngcn.training.references import fit_logistic, propagation, reference_scores, regression

ALWAYS = {"majority": {"val": {"accuracy": 0.8, "loss": 0.5}, "test": {}}}
REGRESSION = {"regression": {"val": {"accuracy": 0.9, "loss": 0.3}, "test": {}}}
PROPAGATION = {"propagation": {"val": {"accuracy": 0.92, "loss": 0.9}, "test": {}}}


def test_majority_is_that_of_scikit_learn(graph: Graph) -> None:
    dummy = DummyClassifier(strategy="prior").fit(graph.features[graph.train], graph.labels[graph.train])
    found, y = majority(graph)["test"], graph.labels[graph.test]
    assert found["accuracy"] == accuracy_score(y, dummy.predict(graph.features[graph.test]))
    assert found["loss"] == pytest.approx(log_loss(y, dummy.predict_proba(graph.features[graph.test])), rel=1e-5)


def test_regression_learns_from_the_features_alone(graph: Graph) -> None:
    informative = graph.labels[:, None] + 0.01 * np.arange(graph.nodes)[:, None]
    easy = Graph(graph.adjacency, informative, graph.labels, graph.train, graph.val, graph.test)
    found = regression(easy, Preparation("none"))
    assert found is not None and found["test"]["accuracy"] > 0.9
    one_class = easy.with_split(graph.train & (graph.labels == 0), graph.val, graph.test)
    assert regression(one_class, Preparation("none")) is None


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_logistic_regression_is_that_of_scikit_learn(C: float, sparse: bool) -> None:
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    theirs = LogisticRegression(C=C, max_iter=1000, tol=1e-8).fit(X, y)
    W, b = fit_logistic(sp.csr_array(X) if sparse else X, np.eye(3)[y], C)
    p = softmax(X @ W + b, axis=1)
    np.testing.assert_allclose(p, theirs.predict_proba(X), atol=5e-3)


def test_multilabel_is_a_regression_for_each_label(multilabel_graph: Graph) -> None:
    X = scale(load_iris().data)
    target = np.stack([X[:, 0] + X[:, 1] > 0, X[:, 2] > 1], axis=1).astype(float)
    W, b = fit_logistic(X, target, 1.0, multilabel=True)
    for label, y in enumerate(target.T):
        theirs = LogisticRegression(max_iter=1000, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(expit(X @ W + b)[:, label], theirs.predict_proba(X)[:, 1], atol=5e-3)
    found = regression(multilabel_graph, Preparation("none"))
    assert found is not None and 0 < found["test"]["micro_f1"] <= 1


@pytest.mark.parametrize(
    ("val", "metric", "expected"),
    [
        (
            {"accuracy": 0.8, "roc_auc": 0.5},
            "accuracy",
            "has learned nothing: its accuracy on the validation nodes, 80",
        ),
        ({"accuracy": 0.8, "roc_auc": 0.88}, "accuracy", "ranks nodes well (ROC-AUC 88.0 %)"),
        ({"accuracy": 0.7, "loss": 0.51, "roc_auc": 0.4}, "loss", "has learned nothing"),
        ({"accuracy": 0.81, "roc_auc": 0.7}, "accuracy", "Logistic regression on the features alone does better"),
        ({"accuracy": 0.89, "roc_auc": 0.7}, "accuracy", ""),  # within the standard error of 100 nodes
        ({"accuracy": 0.95, "loss": 0.1, "roc_auc": 0.7}, "loss", ""),
        ({}, "accuracy", ""),
    ],
)
def test_warnings(val: dict[str, float], metric: str, expected: str) -> None:
    warning = warning_of(val, metric, ALWAYS | REGRESSION, nodes=100)
    assert expected in warning and bool(warning) == bool(expected)


def test_the_better_of_features_and_edges_is_named() -> None:
    edges = warning_of({"accuracy": 0.81}, "accuracy", ALWAYS | REGRESSION | PROPAGATION, nodes=100)
    assert "sees the edges alone, does better on the validation nodes: 92.0 %, against 81.0 %" in edges
    assert "`model='lp'`" in edges and "regression" not in edges
    features = warning_of({"accuracy": 0.81}, "accuracy", ALWAYS | PROPAGATION | REGRESSION, nodes=100)
    assert features == edges
    lost = warning_of({"accuracy": 0.8}, "accuracy", ALWAYS | PROPAGATION, nodes=100)
    assert "has learned nothing" in lost and lost.endswith(edges.replace("against 81.0", "against 80.0"))
    assert not warning_of({"loss": 0.85}, "loss", PROPAGATION, nodes=100)  # of losses, the lower one is better


def test_features_that_tell_the_label_are_named() -> None:
    perfect = {"regression": {"val": {"accuracy": 1.0, "loss": 0.0}, "test": {}}}
    assert "no feature was made from the label" in warning_of({"accuracy": 1.0}, "accuracy", perfect, nodes=100)
    assert not warning_of({"accuracy": 1.0}, "accuracy", perfect, nodes=10)
    assert not warning_of({"accuracy": 1.0}, "accuracy", REGRESSION, nodes=100)


def test_propagation_is_the_model_lp_and_learns_from_training_labels_alone(graph: Graph) -> None:
    found = propagation(graph)
    assert found is not None
    result = train(graph, Config(model="lp"))
    assert found["val"] == pytest.approx(result.val_scores) and found["test"] == pytest.approx(result.test_scores)
    swapped = np.where(graph.train, graph.labels, (graph.labels + 1) % graph.classes)
    wrong = propagation(Graph(graph.adjacency, graph.features, swapped, graph.train, graph.val, graph.test))
    assert wrong is not None and wrong["val"]["accuracy"] < found["val"]["accuracy"] > 0.5


def test_propagation_is_left_out_where_it_takes_long(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(reference_scores(graph, Preparation("none"))) == ["majority", "regression", "propagation"]
    monkeypatch.setattr(references, "MOST_LINKS", graph.adjacency.nnz)
    assert list(reference_scores(graph, Preparation("none"))) == ["majority", "regression"]

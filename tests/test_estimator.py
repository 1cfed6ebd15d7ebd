import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ngcn import (
    MODELS,
    Config,
    ConfigError,
    EachTower,
    Graph,
    GraphError,
    Model,
    ModelSpec,
    NGCNClassifier,
    explain_node,
    train,
)
from ngcn.data.knn import knn_graph
from ngcn.ops import normalize

SMALL = NGCNClassifier(hidden=8, steps=60, lr=0.03, random_state=0)
NGCN = NGCNClassifier("ngcn", powers=3, replicas=2, hidden=8, steps=60, lr=0.03, random_state=0)
both = pytest.mark.parametrize("estimator", [SMALL, NGCN], ids=["mixed", "ngcn"])


WEIGHTS = "a node of weight 0 is still a neighbour of others, and one of weight 2 is not two nodes"


@pytest.mark.filterwarnings("ignore:X is sparse")
@parametrize_with_checks(
    [
        NGCNClassifier(steps=25, lr=0.1, n_neighbors=5),
        NGCNClassifier("ngcn", powers=3, replicas=1, steps=25, lr=0.1, n_neighbors=5),
    ],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTS for kind in ("dense", "sparse")
    },
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def crowds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, and y with 5 labels per class: three overlapping clusters."""
    X, y = make_blobs(150, 4, centers=[[0] * 4, [3] * 4, [6, 0, 6, 0]], random_state=0)
    order = np.argsort(y, kind="stable")
    return X[order], y[order], np.where(np.arange(150) % 10 == 0, y[order], -1)


@pytest.fixture(scope="module")
def fitted(crowds) -> NGCNClassifier:
    return clone(SMALL).fit(crowds[0], crowds[2])


def test_few_labels_and_the_fitted_names(crowds, fitted) -> None:
    X, y, few = crowds
    assert (fitted.transduction_ == y).mean() > 0.9
    assert (fitted.transduction_ == few)[few >= 0].all()
    assert fitted.classes_.tolist() == [0, 1, 2] and fitted.n_features_in_ == 4
    assert fitted.label_distributions_.shape == (150, 3)
    assert [*fitted.scale_weights_][:2] == ["features", "GCN Â^1"]
    assert sum(fitted.scale_weights_.values()) == pytest.approx(1)
    assert list(fitted.history_) == ["loss"] and len(fitted.history_["loss"]) == 60 == fitted.best_step_
    assert fitted.score(X, y) > 0.9
    assert fitted.score(X, few) == (fitted.predict(X[few >= 0]) == y[few >= 0]).mean()


@both
def test_a_fifth_of_many_labels_is_held_out(crowds, estimator) -> None:
    """At least 30 nodes; with fewer labels all of them train."""
    X, y, few = crowds
    many, fewer = clone(estimator).fit(X, y), clone(estimator).fit(X[:149], y[:149])
    assert list(many.history_) == ["loss", "val_loss", "val"] and list(fewer.history_) == ["loss"]
    assert len(many.model_.network.calibration.conformal) == 30
    default = clone(estimator).set_params(steps=None).fit(X, few)
    assert len(default.history_["loss"]) == 100 == default.best_step_
    equal = list(clone(SMALL).fit(X, few).scale_weights_.values())
    assert equal == pytest.approx([1 / 7] * 7)
    assert list(clone(NGCN).fit(X, few).scale_weights_) == [0, 1, 2]


def test_random_state_makes_fits_reproducible(crowds, fitted) -> None:
    again, other = (
        clone(SMALL).fit(crowds[0], crowds[2]),
        clone(SMALL).set_params(random_state=1).fit(crowds[0], crowds[2]),
    )
    assert (again.label_distributions_ == fitted.label_distributions_).all()
    assert (other.label_distributions_ != fitted.label_distributions_).any()


def test_text_labels_with_and_without_unlabelled(crowds) -> None:
    X, y, few = crowds
    names = np.array(["amber", "blue", "coral"])[y]
    all_known = clone(SMALL).fit(X, names)
    assert all_known.predict(X[:1]).tolist() == ["amber"] and all_known.score(X, names) > 0.9
    some_known = clone(SMALL).fit(X, np.where(few >= 0, names.astype(object), -1))
    assert some_known.classes_.tolist() == ["amber", "blue", "coral"]
    assert (some_known.transduction_ == names).mean() > 0.9
    for kind in (str, object):
        with pytest.warns(UserWarning, match="The text '-1' in y is read as a class"):
            assert "-1" in clone(SMALL).fit(X, np.where(few >= 0, names, "-1").astype(kind)).classes_
    with pytest.warns(UserWarning, match="The text '' in y is read as a class"):
        clone(SMALL).fit(X, np.where(few >= 0, names, ""))


def test_minus_one_and_one_alone_are_two_classes(crowds) -> None:
    X, y, _ = crowds
    model = clone(SMALL).fit(X[:100], np.where(y[:100] == 1, 1, -1))
    assert model.classes_.tolist() == [-1, 1] and model.score(X[:100], np.where(y[:100] == 1, 1, -1)) > 0.9


def test_links_are_directed_towards_new_rows(crowds) -> None:
    X, y, _ = crowds
    old, new = np.arange(150) % 3 > 0, np.arange(150) % 3 == 0
    model = clone(SMALL).fit(X[old], np.where(np.arange(100) % 5 == 0, y[old], -1))
    assert model.score(X[new], y[new]) > 0.9
    alone = np.concatenate([model.predict_proba(row[None]) for row in X[new][:5]])
    np.testing.assert_array_equal(model.predict_proba(X[new])[:5], alone)

    A_hat = model.model_.inputs(model._join(X[new][:1]), directed=True)[0].matrix.toarray()
    trained_on = normalize(knn_graph(X[old].astype(np.float32), model.n_neighbors)).matrix.toarray()
    np.testing.assert_array_equal(A_hat[:100, :100], trained_on)
    assert (A_hat[:100, 100] == 0).all() and (A_hat[100] > 0).sum() == 10 + 1


def test_edges_carry_labels_that_features_do_not() -> None:
    random = np.random.default_rng(0)
    crowd = np.arange(60) // 30
    edges = np.triu(random.random((60, 60)) < np.where(crowd[:, None] == crowd, 0.3, 0.01), 1).astype(float)
    noise = random.normal(size=(60, 5))
    few = np.where(np.arange(60) % 6 == 0, crowd, -1)
    model = clone(SMALL).fit(noise, few, adjacency=sp.csr_array(edges))
    assert (model.transduction_ == crowd).mean() > 0.9 > (clone(SMALL).fit(noise, few).transduction_ == crowd).mean()
    # The same nodes and edges again; and those of another graph
    np.testing.assert_allclose(model.predict_proba(noise, adjacency=edges), model.label_distributions_, atol=1e-6)
    assert model.predict(noise[:30], adjacency=edges[:30, :30]).shape == (30,)
    assert model.score(noise, crowd, adjacency=edges) > 0.9
    with pytest.raises(GraphError, match="new nodes need edges"):
        model.predict(noise)


def blobs(**more) -> Graph:
    X, y = make_blobs(60, 4, centers=2, random_state=0)
    third = np.arange(60) % 3
    return Graph(knn_graph(X, 5), X, y, third == 0, third == 1, third == 2, **more)


def test_fit_of_a_graph_does_not_use_test_labels() -> None:
    graph = blobs(feature_names=list("abcd"))
    model = clone(SMALL).fit(graph)
    assert model.score(graph) > 0.9 and list(model.feature_names_in_) == list("abcd")
    assert list(model.history_) == ["loss", "val_loss", "val"] and 0 < model.best_step_ <= 60
    wrong = np.where(graph.test, 1 - graph.labels, graph.labels)
    again = clone(SMALL).fit(replace(graph, labels=wrong))
    assert (again.label_distributions_ == model.label_distributions_).all()
    np.testing.assert_allclose(model.predict_proba(graph), model.label_distributions_, atol=1e-6)


def test_a_graph_is_passed_without_labels_and_with_the_features_of_training() -> None:
    graph = blobs()
    model = clone(SMALL).fit(graph)
    with pytest.raises(GraphError, match="pass it without y and adjacency"):
        model.fit(graph, graph.labels)
    with pytest.raises(GraphError, match="has 3 features, but the model was trained with 4"):
        model.predict(replace(graph, features=graph.features[:, :3], feature_names=None))
    with pytest.raises(GraphError, match="must have training nodes"):
        model.fit(graph.with_split(graph.val & False, graph.val, graph.test))
    with pytest.raises(NotFittedError):
        clone(SMALL).predict(graph)


def test_held_out_nodes_select_the_step(crowds) -> None:
    X, _, few = crowds
    model = clone(NGCN).set_params(validation_fraction=0.4, patience=5, lr=0.3).fit(X, few)
    val, loss = model.history_["val"], model.history_["val_loss"]
    assert model.best_step_ == min(range(len(val)), key=lambda i: (-val[i], loss[i])) + 1 < len(val) < 60
    mixed = clone(SMALL).set_params(validation_fraction=0.4, patience=5, lr=0.3).fit(X, few)
    assert mixed.best_step_ <= len(mixed.history_["val"]) < 60
    for estimator in (SMALL, NGCN):
        none = clone(estimator).set_params(validation_fraction=0.1, patience=10).fit(X, few)  # 10 % of 5 is less than 1
        assert none.best_step_ == 60 and "val" not in none.history_


def test_multilabel() -> None:
    X, y = make_multilabel_classification(80, 6, n_classes=3, random_state=0)
    few = np.where(np.arange(80)[:, None] % 2 == 0, y, -1)
    model = clone(SMALL).fit(X, few)
    assert model.predict(X).shape == model.predict_proba(X).shape == (80, 3)
    assert (model.transduction_[::2] == y[::2]).all()
    unknown = np.arange(80) % 2 == 1
    yes = y[unknown].mean(axis=0)
    assert (model.transduction_[unknown] == y[unknown]).mean() > np.maximum(yes, 1 - yes).mean() + 0.1
    assert 0 < model.score(X, few) <= 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(20, -1), "no labels, only -1"),
        (np.where(np.arange(20) < 5, 3, -1), "one class only, 3"),
        (np.full((20, 2), -1), "only rows of -1"),
        (np.arange(40).reshape(20, 2), "zeros and ones"),
        (np.linspace(0, 1, 20), "Unknown label type"),
        (np.array(["a", None, "b", float("nan")] * 5, dtype=object), "use -1 for unlabelled nodes"),
        (np.array([0.0, 1.0, float("nan"), 0.0] * 5), "use -1 for unlabelled nodes"),
    ],
)
def test_invalid_labels_raise_an_error(y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(SMALL).fit(np.random.default_rng(0).normal(size=(20, 3)), y)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"model": "gnc"},
            "model must be one of mixed, ngcn, nsage, gcn, sage, dcnn, mlp, nmlp, walk-coefficients, not 'gnc'",
        ),
        ({"model": "lp"}, "not 'lp'"),
        ({"steps": 0}, "steps must be"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"n_neighbors": "a"}, "'n_neighbors' parameter"),
        ({"class_weight": 3}, "'class_weight' parameter"),
        ({"validation_fraction": "a"}, "'validation_fraction' parameter"),
        ({"metric": "eucledian"}, "metric"),
        ({"validation_fraction": 1}, "'validation_fraction' parameter"),
    ],
)
def test_invalid_parameters_raise_an_error(crowds, setting: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(SMALL).set_params(**setting).fit(crowds[0], crowds[2])


def test_a_model_by_name_is_that_model(crowds) -> None:
    gcn = clone(SMALL).set_params(model="gcn")
    assert gcn.fit(crowds[0], crowds[2]).scale_weights_ == {1: 1}
    with pytest.raises(ConfigError, match="powers must be"):
        clone(NGCN).set_params(powers=[]).fit(crowds[0], crowds[2])
    with pytest.raises(ConfigError, match="powers of a mixed network are those of its parts"):
        clone(SMALL).set_params(powers=3).fit(crowds[0], crowds[2])


def test_sparse_counts_and_frames_with_names(crowds) -> None:
    X, y, few = crowds
    counts = sp.csr_array(np.maximum(np.round(X), 0))
    model = clone(SMALL).set_params(metric="cosine", features="row").fit(counts, few)
    some = counts.sum(axis=1) > 0  # a row of zeros has no cosine neighbours
    assert (model.transduction_ == y).mean() > 0.8 and model.score(counts[some], y[some]) > 0.8
    with pytest.warns(UserWarning, match="not their values"):
        clone(SMALL).fit(sp.hstack([counts, 0 * counts]), few)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    assert list(clone(SMALL).fit(frame, pd.Series(few)).feature_names_in_) == ["a", "b", "c", "d"]


def test_in_a_pipeline_a_cross_validation_and_a_search(crowds) -> None:
    X, _, few = crowds
    labelled = np.where(np.arange(150) % 3 == 0, crowds[1], -1)
    pipeline = make_pipeline(StandardScaler(), clone(SMALL))
    assert cross_val_score(pipeline, X, labelled, cv=3).mean() > 0.8
    search = GridSearchCV(pipeline, {"ngcnclassifier__hidden": np.array([4, 6]), "ngcnclassifier__lr": [0.1]}, cv=2)
    assert search.fit(X, few).best_estimator_.predict(X[:2]).shape == (2,)
    ngcn = GridSearchCV(clone(NGCN), {"powers": np.array([1, 2]), "hidden": [4]}, cv=2)
    assert ngcn.fit(X, few).best_params_["powers"] in (1, 2)


def test_folds_of_a_graph_are_an_error_that_names_what_keeps_its_edges(crowds, graph) -> None:
    search = GridSearchCV(clone(NGCN), {"hidden": [4]}, cv=2, error_score="raise")
    folds = {"cross_val_score": lambda: cross_val_score(clone(NGCN), graph), "GridSearchCV": lambda: search.fit(graph)}
    X, y, _ = crowds
    folds["rows of an adjacency"] = lambda: search.fit(X, y, adjacency=np.ones((150, 150)))
    for name, fold in folds.items():
        with pytest.raises(GraphError, match=r"ngcn\.cross_validate\(graph, config\)") as error:
            fold()
        assert "ngcn.tune(graph)" in str(error.value), name


def test_units_do_not_matter_if_they_differ(crowds) -> None:
    X, _, few = crowds
    one, other = X * [1, 1000, 1, 1], X * [1, 1, 1e-3, 50] + [0, 5, 0, -3]
    models = [clone(SMALL).fit(units, few) for units in (one, other)]
    np.testing.assert_allclose(*(model.label_distributions_ for model in models), atol=1e-2)
    np.testing.assert_allclose(models[0].predict_proba(one), models[1].predict_proba(other), atol=1e-2)


def test_a_pickle_predicts_the_same_in_another_process(crowds, fitted, tmp_path) -> None:
    X = crowds[0]
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((fitted, X)))
    code = "import pickle, sys; model, X = pickle.load(open('model.pkl', 'rb')); print(model.predict(X).tolist())"
    out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(fitted.predict(X).tolist())


def test_model_is_a_model_that_predicts_the_same(crowds, tmp_path) -> None:
    graph = blobs(feature_names=list("abcd"), class_names=("left", "right"))
    fitted = clone(SMALL).fit(graph)
    assert isinstance(fitted.model_, Model) and fitted.model_.class_names == ("left", "right")
    np.testing.assert_allclose(fitted.model_.predict_proba(graph), fitted.predict_proba(graph), atol=1e-6)
    assert (fitted.model_.predict(graph) == np.array(["left", "right"])[fitted.predict(graph)]).all()
    fitted.model_.save(tmp_path / "model")
    stored = Model.load(tmp_path / "model")
    np.testing.assert_array_equal(stored.predict_proba(graph), fitted.model_.predict_proba(graph))
    why = explain_node(fitted.model_, 3, graph=graph)
    assert why.probability == pytest.approx(fitted.predict_proba(graph)[3].max(), abs=1e-6)


class Mean(torch.nn.Module):
    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.W = torch.nn.Linear(width_in, width_out)

    def forward(self, P, Z):
        return P @ self.W(Z)


def test_a_model_registered_with_one_line_works_everywhere(crowds, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(MODELS, "mean", ModelSpec("Mean", graph_model=EachTower(Mean), defaults={"powers": 2}))
    config = Config(model="mean", steps=30, lr=0.05, hidden=4)
    assert config.powers == (0, 1) and config.towers == 8 and not config.is_baseline
    graph = blobs()
    result = train(graph, config, folder=tmp_path / "run")
    assert result.test > 0.9 and set(result.model.scale_weights()) == {0, 1}
    why = explain_node(tmp_path / "run", 3, graph=graph)
    assert why.probability == pytest.approx(result.model.predict_proba(graph)[3].max(), abs=1e-6)
    X, y, few = crowds
    fitted = clone(SMALL).set_params(model="mean", powers=None).fit(X, few)
    assert fitted.score(X, y) > 0.8 and list(fitted.scale_weights_) == [0, 1]


@pytest.fixture(scope="module")
def rare() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y of two overlapping classes, one of them 15 % of all, and as many of fresh nodes."""
    random = np.random.default_rng(0)
    y = (random.random(800) < 0.15).astype(int)
    X = random.normal(size=(800, 4)) + y[:, None] * np.array([1, 1, 0, 0])
    return X[::2], y[::2], X[1::2], y[1::2]


WEIGHTED = [
    NGCNClassifier(steps=50, lr=0.05, random_state=0),
    NGCNClassifier(steps=50, lr=0.05, random_state=0, validation_fraction=0),
    NGCNClassifier("ngcn", powers=3, replicas=1, steps=50, lr=0.05, random_state=0),
]
weighted = pytest.mark.parametrize("estimator", WEIGHTED, ids=["mixed", "mixed, no validation", "ngcn"])


@weighted
def test_balanced_classes_find_more_of_the_rare_one(rare, estimator) -> None:
    X, y, fresh, true = rare
    plain = clone(estimator).fit(X, y).predict(fresh)
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X, y).predict(fresh)
    assert plain.mean() < 0.15 < 0.2 < balanced.mean() < 0.5
    assert balanced_accuracy_score(true, balanced) > balanced_accuracy_score(true, plain) + 0.05
    assert balanced_accuracy_score(true, balanced) > 0.7


@weighted
def test_a_class_without_weight_is_never_predicted(rare, estimator) -> None:
    X, y, fresh, _ = rare
    for chosen in (0, 1):
        fitted = clone(estimator).set_params(class_weight={chosen: 1.0, 1 - chosen: 1e-6}).fit(X, y)
        assert (fitted.predict(fresh) == chosen).mean() > 0.98


@weighted
def test_ways_to_write_the_same_weights(rare, estimator) -> None:
    X, y = rare[:2]
    n, sizes = len(y), np.bincount(y)
    balanced = dict(enumerate(n / (2 * sizes)))
    first = clone(estimator).set_params(class_weight="balanced").fit(X, y).label_distributions_
    by_dict = clone(estimator).set_params(class_weight=balanced).fit(X, y).label_distributions_
    by_node = clone(estimator).fit(X, y, sample_weight=(n / (2 * sizes))[y]).label_distributions_
    by_both = clone(estimator).set_params(class_weight={1: balanced[1]})
    by_both = by_both.fit(X, y, sample_weight=np.where(y == 0, balanced[0], 1)).label_distributions_
    for other in (by_dict, by_node, by_both):
        np.testing.assert_array_equal(other, first)
    names = np.array(["common", "rare"])[y]
    by_name = clone(estimator).set_params(class_weight={"common": balanced[0], "rare": balanced[1]}).fit(X, names)
    np.testing.assert_array_equal(by_name.label_distributions_, first)


@weighted
def test_equal_weights_change_nothing(rare, estimator) -> None:
    X, y = rare[:2]
    plain = clone(estimator).set_params(steps=20).fit(X, y).label_distributions_
    equal = clone(estimator).set_params(steps=20).fit(X, y, sample_weight=np.full(len(y), 3.0)).label_distributions_
    np.testing.assert_allclose(equal, plain, atol=0.05)  # sums in another order, over 20 steps


@both
def test_the_label_of_a_training_node_without_weight_does_not_matter(estimator) -> None:
    graph = blobs()
    ignored = np.flatnonzero(graph.train)[::4]
    weight = np.ones(60)
    weight[ignored] = 0
    wrong = graph.labels.copy()
    wrong[ignored] = 1 - wrong[ignored]
    first = clone(estimator).fit(graph, sample_weight=weight)
    again = clone(estimator).fit(replace(graph, labels=wrong), sample_weight=weight)
    np.testing.assert_array_equal(again.label_distributions_, first.label_distributions_)
    counted = clone(estimator).fit(replace(graph, labels=wrong))
    assert np.abs(counted.label_distributions_ - first.label_distributions_).max() > 0.01


def test_weights_of_the_caller_are_left_as_they_are(rare) -> None:
    X, y = rare[:2]
    weight = np.ones(len(y))
    clone(SMALL).set_params(class_weight={0: 1, 1: 5}, steps=2).fit(X, y, sample_weight=weight)
    assert (weight == 1).all()


def test_weights_for_several_labels() -> None:
    X, y = make_multilabel_classification(80, 6, n_classes=3, random_state=0)
    weight = np.where(y[:, 0] == 1, 5.0, 0.1)
    heavy, plain = clone(SMALL).fit(X, y, sample_weight=weight), clone(SMALL).fit(X, y)
    assert heavy.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1


def test_invalid_weights_raise_an_error(rare) -> None:
    X, y = rare[:2]
    with pytest.raises(ValueError, match=r"sample_weight\.shape"):
        clone(SMALL).fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight has a number that is too large"):
        clone(SMALL).fit(X, y).score(X, y, sample_weight=[10**400] * len(y))
    learning = torch.ones(len(y), requires_grad=True)
    with pytest.raises(TypeError, match="requires grad"):
        clone(SMALL).fit(X, y, sample_weight=learning)
    with pytest.raises(TypeError, match="requires grad"):
        clone(SMALL).set_params(steps=1).fit(X, y).score(X, y, learning)
    with pytest.raises(ValueError, match="class_weight"):
        clone(SMALL).set_params(class_weight="equal").fit(X, y)


@pytest.mark.parametrize("missing", ["propagate", "mean"])
@pytest.mark.parametrize("given", [False, True])
def test_nan_is_a_missing_value(missing: str, given: bool) -> None:
    X, y = make_blobs(90, 3, centers=3, cluster_std=0.5, random_state=0)
    links = knn_graph(X, 5)
    X[np.random.default_rng(0).random(X.shape) < 0.25] = np.nan
    few = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    estimator = clone(SMALL).set_params(missing=missing)
    assert estimator.__sklearn_tags__().input_tags.allow_nan
    estimator.fit(X, few, adjacency=links if given else None)
    assert (estimator.transduction_ == y).mean() > 0.8
    if not given:
        p = estimator.predict_proba(X[:4])
        np.testing.assert_allclose(p[:1], estimator.predict_proba(X[:1]), atol=1e-6)  # others have no part in it
        whole = NGCNClassifier(steps=5, random_state=0, missing=missing).fit(np.nan_to_num(X), few)
        assert np.isfinite(whole.predict_proba(X[:4])).all()
    with pytest.raises(GraphError, match="lacks feature values"):
        clone(SMALL).set_params(missing="error").fit(X, few)
    with pytest.raises(ConfigError, match="missing must be one of propagate, mean, error"):
        clone(SMALL).set_params(missing="zero").fit(X, few)


def test_an_infinite_y_is_an_error_without_warnings(crowds, fitted) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="infinity"):
            fitted.score(crowds[0], np.full((len(crowds[1]), 3), np.inf))


def test_a_tensor_with_a_gradient_is_no_y(crowds, fitted) -> None:
    X, _, _ = crowds
    for call in (fitted.score, clone(SMALL).fit):
        with pytest.raises(TypeError, match="requires grad"):
            call(X, torch.ones(len(X), requires_grad=True))


def test_a_huge_sparse_y_is_an_error_before_memory_is_asked_for(crowds, fitted) -> None:
    X, _, _ = crowds
    huge = sp.csr_array((len(X), 10**9))
    for call in (fitted.score, clone(SMALL).fit):
        with pytest.raises(GraphError, match=r"y of shape .* needs at least [\d,.]+ GB"):
            call(X, huge)


def test_few_labels_of_many_classes_are_no_regression_problem(crowds) -> None:
    X, y, _ = crowds
    many = np.where(np.arange(len(y)) < 30, np.arange(len(y)) % 20, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(SMALL).fit(X, many)


def test_weights_of_a_score_are_a_number_per_node(crowds, fitted) -> None:
    X, y, _ = crowds
    assert fitted.score(X, y, sample_weight=np.arange(len(y))) == fitted.score(
        X, y, sample_weight=2.0 * np.arange(len(y))
    )
    with pytest.raises(ValueError, match="1D"):
        fitted.score(X, y, sample_weight=sp.eye_array(len(y)))

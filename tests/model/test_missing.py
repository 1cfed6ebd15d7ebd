"""Missing feature values: how they are filled, in training and on other graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import Config, GraphError, Model, train
from ngcn.graph import Graph
from ngcn.model import prepare
from ngcn.model.missing import column_means, fill_missing

NODES = 24
RANDOM = np.random.default_rng(0)
EDGES = np.triu(RANDOM.random((NODES, NODES)) < 0.15, 1) * RANDOM.uniform(0.5, 2, (NODES, NODES))
EDGES[:, -3:] = 0  # two nodes that are linked to each other alone, and one to none
EDGES[-3, -2] = 1
QUICK = Config(model="gcn", steps=3)


def gaps(share: float, columns: int = 3, nodes: int = NODES) -> np.ndarray:
    X = (RANDOM.normal(size=(nodes, columns)) * [1, 100, 0.01][:columns] + [0, 1e4, 5][:columns]).astype(np.float32)
    X[RANDOM.random(X.shape) < share] = np.nan
    return X


def harmonic(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The exact solution: the values with the least squared differences along edges, by dense algebra in float64."""
    W = np.maximum(A, A.T).astype(np.float64)
    L, filled = np.diag(W.sum(axis=1)) - W, X.astype(np.float64)
    for column in filled.T:
        unknown = np.isnan(column)
        reached = unknown & ((np.linalg.matrix_power(W + np.eye(len(W)), len(W)) * ~unknown).sum(axis=1) > 0)
        column[unknown & ~reached] = np.nanmean(column)
        known = ~reached
        column[reached] = np.linalg.solve(L[np.ix_(reached, reached)], -L[np.ix_(reached, known)] @ column[known])
    return filled


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_propagation_finds_the_smoothest_values(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    monkeypatch.setattr("ngcn.model.missing.STEPS", 5000)
    monkeypatch.setattr("ngcn.model.missing.CLOSE", 1e-9)
    monkeypatch.setattr("ngcn.model.missing.COLUMNS", 2)  # more than one block
    X = gaps(0.5).astype(np.float64)
    X[-3:, 0] = X[5, 0] = np.nan
    filled = fill_missing(kind(X), column_means(kind(X)).astype(np.float64), sp.csr_array(EDGES))
    filled = filled.toarray() if sp.issparse(filled) else filled
    np.testing.assert_allclose(filled, harmonic(X, EDGES), rtol=1e-6)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_forty_steps_are_close_to_it() -> None:
    X = gaps(0.5)
    exact, deviation = harmonic(X, EDGES), np.nanstd(X, axis=0)
    assert (np.abs(fill_missing(X, column_means(X), sp.csr_array(EDGES)) - exact) < 0.1 * deviation).all()


def test_the_unit_of_a_column_does_not_matter() -> None:
    X, A = gaps(0.5).astype(np.float64), sp.csr_array(EDGES)
    filled = fill_missing(X, np.nanmean(X, axis=0), A)
    other = fill_missing(X * 7 + 3, np.nanmean(X * 7 + 3, axis=0), A)
    np.testing.assert_allclose(other, filled * 7 + 3, rtol=1e-6)  # T is in single precision


def test_means_are_of_the_known_values() -> None:
    X = gaps(0.4)
    X[:, 1] = np.nan
    expected = np.nan_to_num([np.nanmean(X[:, 0]), 0, np.nanmean(X[:, 2])])
    np.testing.assert_allclose(column_means(X), expected, rtol=1e-6)
    np.testing.assert_allclose(column_means(sp.csr_array(X)), expected, rtol=1e-5)


def with_gaps(graph: Graph, share: float = 0.4) -> Graph:
    return replace(graph, features=gaps(share, nodes=graph.nodes), feature_names=None)


def test_standardisation_skips_what_is_missing(graph: Graph) -> None:
    graph = with_gaps(graph)
    preparation = prepare(graph, Config())
    seen = graph.features[~(graph.val | graph.test)]
    assert preparation.how == "standard"
    np.testing.assert_allclose(preparation.mean, np.nanmean(seen, axis=0), rtol=1e-5)
    np.testing.assert_allclose(preparation.deviation, np.nanstd(seen, axis=0), rtol=1e-3)
    X = preparation(graph.features, graph.adjacency)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(
        np.where(np.isnan(graph.features), 0, prepare(graph, Config(missing="mean"))(graph.features)),
        np.nan_to_num((graph.features - preparation.mean) / preparation.deviation),
        rtol=1e-4,
        atol=1e-4,
    )
    by_mean = prepare(graph, Config(missing="mean"))(graph.features, graph.adjacency)
    assert np.abs(by_mean[np.isnan(graph.features)]).max() < 1e-3  # the mean is 0


def test_words_that_may_or_may_not_be_there_count_in_part(graph: Graph) -> None:
    X = graph.features.toarray() * 3
    X[0, :4] = np.nan
    for features in (X, sp.csr_array(X)):
        preparation = prepare(replace(graph, features=features), Config(missing="mean", features="unit"))
        row = preparation(features)
        row = (row.toarray() if sp.issparse(row) else row)[0]
        share = np.nanmean(np.where(np.isnan(X), np.nan, X != 0)[~(graph.val | graph.test)], axis=0)
        expected = np.append(share[:4], X[0, 4:] != 0)
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), rtol=1e-5)


def test_missing_values_can_be_an_error(graph: Graph) -> None:
    error = Config(model="gcn", steps=1, missing="error")
    X = graph.features.toarray()
    assert train(replace(graph, features=X), error).val >= 0
    X[:3, 2] = np.nan
    with pytest.raises(GraphError, match=r"lacks feature values: 3 of .* \(5 %\); fill them in, or use `missing="):
        train(replace(graph, features=X), error)


@pytest.mark.parametrize("missing", ["propagate", "mean"])
def test_a_model_fills_new_nodes_as_in_training(tmp_path: Path, graph: Graph, missing: str) -> None:
    graph = with_gaps(graph)
    model = train(graph, replace(QUICK, missing=missing)).model
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba(graph))
    assert again.card.preparation.missing == missing
    alone = Graph(sp.csr_array((1, 1)), np.full((1, 3), np.nan), [-1], *[np.zeros(1, bool)] * 3)
    filled = Graph(sp.csr_array((1, 1)), model.card.preparation.fill[None], [-1], *[np.zeros(1, bool)] * 3)
    np.testing.assert_allclose(again.predict_proba(alone), model.predict_proba(filled), rtol=1e-5)


def test_a_model_that_never_saw_a_gap_fills_one(graph: Graph) -> None:
    whole = with_gaps(graph, share=0)
    model = train(whole, QUICK).model
    X = whole.features.copy()
    X[7] = np.nan
    assert np.isfinite(model.predict_proba(replace(whole, features=X))).all()


def test_the_bits_of_nan_do_not_change_the_fingerprint(graph: Graph) -> None:
    X = graph.features.toarray()
    X[3, 3] = np.nan
    Y = X.copy()
    Y[3, 3] = np.array(0xFFC00123, np.uint32).view(np.float32)
    assert replace(graph, features=X).fingerprint() == replace(graph, features=Y).fingerprint()

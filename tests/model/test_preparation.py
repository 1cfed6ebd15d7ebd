from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.config import Config
from ngcn.graph import Graph
from ngcn.model import ignores_values, prepare
from ngcn.ops import Features

PAPER = Config(model="ngcn", recipe="paper")


def features(graph: Graph, how: str, recipe: str | None = None) -> np.ndarray:
    config = Config(model="ngcn", recipe=recipe, features=how)
    return Features(prepare(graph, config)(graph.features)).dense().numpy()


def test_counts_become_a_binary_bag_of_words_in_the_paper(graph: Graph) -> None:
    graph = replace(graph, features=graph.features * 3)
    given = graph.features.toarray()
    present = (given > 0).astype(np.float32)
    bag = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(features(graph, "bag"), bag, rtol=1e-6)
    np.testing.assert_array_equal(features(graph, "auto", "paper"), features(graph, "bag"))
    np.testing.assert_array_equal(features(graph, "none"), given)


@pytest.mark.parametrize("recipe", [None, "standard", "independent"])
def test_counts_become_rows_of_length_1_in_other_recipes(graph: Graph, recipe: str | None) -> None:
    given = graph.features.toarray() * np.arange(1, 13)
    given[5] = 0
    counts = replace(graph, features=sp.csr_array(given.astype(np.float32)))
    present = (given > 0).astype(np.float32)
    expected = present / np.maximum(np.sqrt(present.sum(axis=1, keepdims=True)), 1)
    np.testing.assert_allclose(features(counts, "auto", recipe), expected, rtol=1e-6)
    np.testing.assert_array_equal(features(counts, "auto", recipe), features(counts, "unit", recipe))


@pytest.mark.parametrize(("config", "words"), [(Config(), "unit"), (Config(model="gcn"), "unit"), (PAPER, "bag")])
def test_what_is_no_bag_of_words(graph: Graph, config: Config, words: str) -> None:
    zero_one = graph.features.toarray()
    assert prepare(graph, config).how == prepare(replace(graph, features=zero_one), config).how == words
    assert prepare(replace(graph, features=-graph.features), config).how == "none"  # would fill up if standardised
    assert prepare(replace(graph, features=zero_one * 2), config).how == "standard"
    full = sp.csr_array(zero_one + 1)  # sparse by its type alone, as some tools pass on their columns
    assert prepare(replace(graph, features=full), config).how == "standard"


def test_values_that_do_not_count(graph: Graph) -> None:
    counts = replace(graph, features=graph.features * 3)
    for config in (Config(), Config(model="ngcn"), PAPER):
        assert ignores_values(counts, config) and not ignores_values(graph, config)
        assert not ignores_values(counts, replace(config, features="bag"))  # as it was asked to be
        assert not ignores_values(replace(counts, features=counts.features.toarray()), config)
    assert not ignores_values(counts, Config(model="lp"))  # nor do features


def test_rows_of_many_features_have_length_1_in_the_paper(graph: Graph) -> None:
    random = np.random.default_rng(0)
    counts = sp.csr_array(random.poisson(0.25, (60, 400)).astype(np.float32))  # some 88 of 400 are there
    long = replace(graph, features=counts, feature_names=None)
    X = features(long, "auto", "paper")
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(X != 0, counts.toarray() != 0)
    assert np.ptp(X[0][X[0] > 0]) == 0  # whatever the counts
    zero_one = (counts.toarray() != 0).astype(np.float32)
    dense = replace(long, features=zero_one)
    np.testing.assert_allclose(features(dense, "auto", "paper"), X, rtol=1e-6)
    assert prepare(replace(graph, features=counts[:, :60], feature_names=None), PAPER).how == "bag"


def test_columns_on_any_scale_count_alike(graph: Graph) -> None:
    random = np.random.default_rng(0)
    numbers = random.standard_normal((60, 4)) * [1e-6, 1, 1e9, 1e3] + [0, 1, -1e12, 1.7e9]  # the last: times of a day
    constant = np.full((60, 1), 1234.567)
    X = features(replace(graph, features=np.hstack([numbers, constant]), feature_names=None), "auto")
    np.testing.assert_allclose(X[graph.train, :2].std(axis=0), 1, rtol=1e-4)
    assert not np.allclose(X[:, :2].std(axis=0), 1, rtol=1e-4)  # validation and test nodes have no part in it
    np.testing.assert_allclose(X[graph.train, 2:4].std(axis=0), 1, rtol=1e-2)  # float32 rounds them
    np.testing.assert_allclose(X[:, 4], 0, atol=1e-3)
    assert np.isfinite(X).all() and np.abs(X).max() < 10

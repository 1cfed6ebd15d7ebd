import numpy as np
import pytest

from ngcn.errors import ConfigError, DatasetError
from ngcn.graph import Graph, load_dataset


def test_random_split_of_cora() -> None:
    graph = load_dataset("cora", split="random:20", seed=1)
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * 7
    assert (graph.val.sum(), graph.test.sum()) == (500, 1000)
    again, other = (load_dataset("cora", split="random:20", seed=seed) for seed in (1, 2))
    assert (again.train == graph.train).all() and (again.test == graph.test).all()
    assert (other.train != graph.train).any() and (other.test != graph.test).any()


def test_uses_all_that_is_left_where_the_graph_is_too_small() -> None:
    graph = load_dataset("cora", split="random:175")
    assert graph.train.sum() == 7 * 175
    assert (graph.val.sum(), graph.test.sum()) == (494, 989)  # a third and two thirds of the other 1483


@pytest.mark.parametrize("split", ["random:0", "Planetoid"])
def test_an_invalid_split(split: str) -> None:
    with pytest.raises(ConfigError, match=r"split must be given .* or random:N"):
        load_dataset("no such graph", split=split)  # before anything is read
    with pytest.raises(ConfigError, match="split must be"):
        Graph.from_scipy(np.eye(8), np.eye(8), np.arange(8) % 2, split=split)


def test_planetoid_is_the_old_word_for_given() -> None:
    assert load_dataset("cora", split="planetoid").fingerprint() == load_dataset("cora").fingerprint()


def test_too_many_per_class() -> None:
    with pytest.raises(DatasetError, match="needs 181 training nodes per class, but class Rule_L"):
        load_dataset("cora", split="random:181")

"""Small graphs to train on: two crowds that know each other well, one label or several."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import Config
from ngcn.config import STRUCTURE
from ngcn.graph import Graph
from ngcn.nn import Network

SPLITS = (np.arange(60) % 3 == 0, np.arange(60) % 3 == 1, np.arange(60) % 3 == 2)


def crowds(labels_per_node: int = 1) -> Graph:
    random = np.random.default_rng(0)
    crowd = np.arange(60) // 30
    chance = np.where(crowd[:, None] == crowd, 0.2, 0.02)
    edges = sp.csr_array(np.triu(random.random((60, 60)) < chance, 1).astype(np.float32))
    words = (random.random((60, 12)) < 0.2 + 0.3 * (np.arange(12) % 2 == crowd[:, None])).astype(np.float32)
    labels = crowd if labels_per_node == 1 else np.stack([crowd, 1 - crowd, random.integers(0, 2, 60)], axis=1)
    return Graph(edges, sp.csr_array(words), labels, *SPLITS, name="crowds")


def of_a_network(config: Config, network: Network) -> Config:
    """The settings to train a network that is passed to `fit`, with the recipe of ``config``."""
    given = {"model": "custom", "powers": network.powers, "replicas": network.replicas}
    return replace(config, **{**dict.fromkeys(STRUCTURE), **given})


@pytest.fixture(scope="session")
def graph() -> Graph:
    return crowds()


@pytest.fixture(scope="session")
def multilabel_graph() -> Graph:
    return crowds(labels_per_node=3)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

"""Tiny graphs whose answers are known."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.graph import Graph


def small_graph(network: nx.Graph, labels: list[int], train: list[int], features: np.ndarray | None = None) -> Graph:
    """Its training nodes are ``train``, all others are for validation."""
    nodes = network.number_of_nodes()
    mask = np.isin(np.arange(nodes), train)
    X = np.eye(nodes) if features is None else features
    return Graph(sp.csr_array(nx.to_scipy_sparse_array(network)), X, labels, mask, ~mask, np.zeros(nodes, dtype=bool))


@pytest.fixture
def path() -> Graph:
    """0 - 1 - 2 - 3 - 4, both ends labelled."""
    return small_graph(nx.path_graph(5), [0, 0, 0, 1, 1], train=[0, 4])


@pytest.fixture
def clubs() -> Graph:
    """The karate club: 34 nodes, two labelled of each side, and their weights."""
    club = nx.karate_club_graph()
    side = [int(club.nodes[node]["club"] != "Mr. Hi") for node in club]
    return small_graph(club, side, train=[0, 1, 32, 33])

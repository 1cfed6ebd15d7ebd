from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.data.catalog import DATASETS
from ngcn.data.synthetic import GRAPH_SIZES, make_ppi_like
from ngcn.errors import DatasetError
from ngcn.graph import Graph, for_training, load_dataset

SMALL = 2000


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ring with random chords."""
    ring = np.stack([np.arange(SMALL), np.roll(np.arange(SMALL), 1)], axis=1)
    chords = np.random.default_rng(0).integers(0, SMALL, (2 * SMALL, 2))
    edges = np.unique(np.sort(np.concatenate([ring, chords]), axis=1), axis=0)
    path = tmp_path_factory.mktemp("topology") / "topology.npz"
    np.savez(path, edges=edges, split=np.repeat([0, 1, 2], [SMALL // 2, SMALL // 4, SMALL // 4]))
    return path


def powers_of(graph: Graph, *powers: int) -> np.ndarray:
    A = graph.adjacency + sp.eye_array(graph.nodes)
    T = sp.diags_array(1 / A.sum(axis=1)) @ A
    propagated = [graph.features]
    for _ in range(max(powers)):
        propagated.append(T @ propagated[-1])
    return np.hstack([propagated[k] for k in powers])


def micro_f1(graph: Graph, Z: np.ndarray) -> float:
    """Of a linear model of the training nodes, on the test nodes."""
    Z = np.hstack([Z / Z.std(axis=0), np.ones((graph.nodes, 1))])
    W = np.linalg.lstsq(Z[graph.train], graph.labels[graph.train] - 0.5, rcond=None)[0]
    guessed, true = Z[graph.test] @ W > 0, graph.labels[graph.test] > 0
    return 2 * (guessed & true).sum() / (guessed.sum() + true.sum())


def test_labels_depend_on_several_scales(topology: Path) -> None:
    graph = for_training(make_ppi_like(topology))
    alone = [micro_f1(graph, powers_of(graph, k)) for k in (0, 1, 2, 3)]
    together = micro_f1(graph, powers_of(graph, 0, 1, 2, 3))
    assert together > 0.8
    assert together > max(alone) + 0.05
    assert min(alone) > 0.3  # no scale is without use


def test_has_the_shape_and_density_of_ppi(topology: Path) -> None:
    graph = for_training(make_ppi_like(topology))
    assert graph.multilabel and graph.features.shape[1] == 50 and graph.classes == 121
    assert graph.labels.mean() == pytest.approx(0.3, abs=0.005)
    assert graph.labels.mean(axis=0).min() > 0.04
    assert [mask.sum() for mask in (graph.train, graph.val, graph.test)] == [1000, 500, 500]


def test_depends_on_the_seed_alone(topology: Path) -> None:
    one, same, other = (for_training(make_ppi_like(topology, seed=seed)) for seed in (0, 0, 1))
    assert (one.labels == same.labels).all() and (one.features == same.features).all()
    assert (one.labels != other.labels).any() and (one.features != other.features).any()


@pytest.mark.usefixtures("clean")
def test_generated_topology_is_like_ppis() -> None:
    graph = load_dataset("ppi-synthetic")
    assert (graph.nodes, graph.edges) == (56_944, 818_716)
    info = DATASETS["ppi-synthetic"]
    assert (info.nodes, info.edges, info.features, info.classes) == (graph.nodes, graph.edges, 50, 121)
    of_graph = np.repeat(np.arange(24), GRAPH_SIZES)
    rows, columns = graph.adjacency.nonzero()
    assert (of_graph[rows] == of_graph[columns]).all()  # 24 graphs, nothing between them
    for mask, graphs in ((graph.train, range(20)), (graph.val, (20, 21)), (graph.test, (22, 23))):
        assert set(of_graph[mask]) == set(graphs)
    degrees = np.diff(graph.adjacency.indptr)
    assert np.quantile(degrees, 0.99) > 8 * np.median(degrees)  # PPI: 12


def test_uses_the_true_topology_where_it_is(planetoid_folder: Path) -> None:
    path = planetoid_folder.parent / "ppi" / "topology.npz"
    if not path.exists():
        pytest.skip("NGCN_DATA has no ppi/topology.npz")
    graph = load_dataset("ppi-synthetic")
    with np.load(path, allow_pickle=False) as file:
        edges, split = file["edges"], file["split"]
    assert graph.edges == len(edges) == 818_716
    assert (graph.adjacency[edges[:, 0], edges[:, 1]] == 1).all() and (graph.adjacency != graph.adjacency.T).nnz == 0
    assert (graph.test == (split == 2)).all() and (graph.val == (split == 1)).all()
    components = sp.csgraph.connected_components(graph.adjacency, directed=False)[1]
    assert not set(components[graph.test]) & set(components[graph.train])


def test_an_unreadable_topology(tmp_path: Path) -> None:
    path = tmp_path / "topology.npz"
    with pytest.raises(DatasetError, match="cannot be read as a topology"):
        make_ppi_like(path)
    path.write_text("hello")
    with pytest.raises(DatasetError, match="cannot be read as a topology"):
        make_ppi_like(path)
    np.savez(path, edges=np.zeros((1, 2), int))
    with pytest.raises(DatasetError, match="cannot be read as a topology"):
        make_ppi_like(path)

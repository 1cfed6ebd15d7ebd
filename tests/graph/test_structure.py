import numpy as np
import scipy.sparse as sp

from ngcn.graph import Graph
from ngcn.graph._features import structural_features


def test_structure_of_large_graphs_means_the_same_everywhere() -> None:
    star = np.zeros((5, 5))
    star[0, 1:] = 1
    features, names = structural_features(sp.csr_array(star))
    assert len(names) == 10
    np.testing.assert_allclose(features[:, 0], np.log1p([4, 1, 1, 1, 1]), rtol=1e-6)
    np.testing.assert_allclose(features[:, 1], [1, 0.25, 0.25, 0.25, 0.25])  # from the middle, two steps lead back
    np.testing.assert_allclose(features[:, 2], np.log1p([1, 4, 4, 4, 4]), rtol=1e-6)
    apart, _ = structural_features(sp.csr_array(np.zeros((2, 2))))
    assert np.isfinite(apart).all()


def test_small_graphs_get_the_identity() -> None:
    graph = Graph.from_scipy(1 - np.eye(6), labels=[0, 1] * 3)
    assert graph.features.toarray().tolist() == np.eye(6).tolist()

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from benchmarks import power_law
from ngcn.ops import normalize

MODES = [{}, {"shuffle": True}, {"text_ids": True, "seed": 1}]


@pytest.mark.parametrize("how", MODES, ids=["in order", "shuffled", "text"])
def test_the_same_seed_makes_the_same_graph(how, tmp_path, monkeypatch):
    first = [path.read_bytes() for path in power_law.write(tmp_path / "a", 20_000, **how)]
    assert [path.read_bytes() for path in power_law.write(tmp_path / "b", 20_000, **how)] == first
    assert [path.read_bytes() for path in power_law.write(tmp_path / "b", 20_000, **{**how, "seed": 9})] != first
    monkeypatch.setattr(power_law, "CHUNK", 5000)
    nodes, edges = map(pq.read_table, power_law.write(tmp_path / "c", 20_000, **how))
    assert (len(nodes), len(edges)) == (2000, 20_000)
    assert nodes["id"].to_pylist() == [f"n{i}" if "text_ids" in how else i for i in range(2000)]
    assert set(edges["source"].to_pylist()) | set(edges["target"].to_pylist()) <= set(nodes["id"].to_pylist())
    labelled = nodes["label"].is_valid()
    assert labelled == nodes["split"].is_valid() and 0.05 < np.mean(labelled.to_pylist()) < 0.2


def test_shuffling_only_renames(tmp_path):
    def shape(**how):
        edges = pq.read_table(power_law.write(tmp_path, 20_000, **how)[1])
        ends = np.array([edges["source"], edges["target"]])
        return np.sort(np.bincount(ends.ravel(), minlength=2000)), np.median(np.abs(ends[0] - ends[1]))

    degrees, distance = shape()
    again, far = shape(shuffle=True)
    np.testing.assert_array_equal(degrees, again)
    assert distance < 100 and far > 200  # of 2000
    assert degrees.max() > 20 * np.median(degrees)


def test_neighbours_of_neighbours_tell_what_features_do_not(tmp_path):
    nodes, edges = map(pq.read_table, power_law.write(tmp_path, 100_000))
    X = np.stack([nodes[f"x{column}"].to_numpy() for column in range(power_law.FEATURES)], axis=1)
    A = sp.csr_array((np.ones(len(edges)), (edges["source"], edges["target"])), shape=(len(X), len(X)))
    A_hat = normalize(A, "symmetric").matrix
    _, y = np.unique(np.array(nodes["label"].fill_null("").to_pylist()), return_inverse=True)
    train, test = np.split(np.random.default_rng(0).permutation(np.flatnonzero(y)), [700])
    near = A_hat @ (A_hat @ X)
    wide = A_hat @ (A_hat @ (A_hat @ near))

    def accuracy(Z, what):
        scaled = Z / Z.std(axis=0)
        return LogisticRegression(C=0.01, max_iter=300).fit(scaled[train], what[train]).score(scaled[test], what[test])

    topics = np.divmod(y - 1, power_law.TOPICS)
    assert sorted(set(nodes["label"].drop_null().to_pylist())) == [f"class {number:02}" for number in range(16)]
    assert accuracy(X, y) < 0.3 and accuracy(near, y) > 0.45
    assert accuracy(near, topics[0]) > accuracy(wide, topics[0]) + 0.05
    assert accuracy(wide, topics[1]) > accuracy(near, topics[1]) + 0.05

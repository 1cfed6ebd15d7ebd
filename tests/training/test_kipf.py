from dataclasses import replace

import numpy as np
import torch
from ngcn.training.setup import prepare

from ngcn import Config
from ngcn.baselines import KipfGCN
from ngcn.ops import normalize
from training.conftest import crowds


def test_the_loss_is_that_of_the_paper_in_dense_autograd() -> None:
    """Without dropout, a step is one of Adam on cross entropy + l2/2 |W0|^2, computed here with dense matrices."""
    graph = crowds()
    baseline = KipfGCN(dropout=0.0, steps=3, l2=0.3, hidden=4)
    baseline.fit(graph, seed=7)

    A, X = (torch.from_numpy(m.toarray()) for m in (normalize(graph.adjacency).matrix, graph.features))
    start = KipfGCN(dropout=0.0, steps=1, hidden=4, lr=1e-30, l2=0.0)
    start.fit(graph, seed=7)
    W = [
        p.detach().reshape(shape).clone()
        for p, shape in zip(start.network_.parameters(), ((12, 4), (4, 2)), strict=True)
    ]
    adam = torch.optim.Adam([w.requires_grad_() for w in W], lr=0.01)
    rows, labels = torch.from_numpy(graph.train), torch.from_numpy(graph.labels)
    for _ in range(3):
        adam.zero_grad()
        logits = A @ torch.relu(A @ X @ W[0]) @ W[1]
        (torch.nn.functional.cross_entropy(logits[rows], labels[rows]) + 0.15 * W[0].square().sum()).backward()
        adam.step()
    expected = (A @ torch.relu(A @ X @ W[0]) @ W[1]).softmax(dim=1).detach()
    np.testing.assert_allclose(baseline.predict_proba(graph), expected, atol=1e-4)


def test_it_stops_when_the_validation_loss_is_above_its_recent_mean() -> None:
    graph = crowds()
    baseline = KipfGCN(window=5, lr=0.2, steps=500, dropout=0.0, l2=0.0)
    baseline.fit(graph, seed=0)
    losses = baseline.val_losses_
    assert 6 < len(losses) < 500
    risen = [i for i in range(6, len(losses)) if losses[i] > np.mean(losses[i - 5 : i])]
    assert risen == [len(losses) - 1]
    assert losses[-1] < max(losses[-6:-1])  # it is their mean that counts
    again = KipfGCN(window=5, lr=0.2, steps=500, dropout=0.0, l2=0.0)
    again.fit(graph, seed=0)
    np.testing.assert_array_equal(again.predict_proba(graph), baseline.predict_proba(graph))


def test_its_features_are_rows_that_sum_to_one_unless_told_otherwise() -> None:
    graph = crowds()
    counts = replace(graph, features=graph.features * 3.0 + (graph.features * np.arange(12)))
    assert prepare(counts, Config(model="gcn-kipf")).how == "row"
    assert prepare(counts, Config(model="gcn-kipf", features="bag")).how == "bag"
    assert prepare(counts, Config(model="ica")).how == "bag"

"""The plain PyTorch path of other devices gives what the kernels give, and is taken when they cannot be."""

from __future__ import annotations

import pytest
import torch

from ngcn.nn import build_network
from ngcn.ops import Dropout, Features, normalize, plain, relu_dropout
from ngcn.registry import MODELS

MODELS_WITH_KERNELS = ("ngcn", "nsage", "gcn", "sage", "dcnn")


@pytest.mark.parametrize("model", MODELS_WITH_KERNELS)
def test_network_and_gradients_are_the_same(graph, X, model, monkeypatch):
    A_hat = normalize(graph.adjacency, MODELS[model].normalization).double()
    network = build_network(model, X.shape[1], graph.classes, dropout=0.0).double()
    rows = torch.tensor([3, 8, 1])

    def logits_and_gradients() -> list[torch.Tensor]:
        logits = network(A_hat, X, rows)
        return [logits, *torch.autograd.grad(logits.square().sum(), list(network.parameters()))]

    kernels = logits_and_gradients()
    monkeypatch.setattr(plain, "is_needed_for", lambda tensor: True)
    for ours, theirs in zip(kernels, logits_and_gradients(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_it_is_taken_on_other_devices():
    """The meta device has no memory that a kernel could read."""
    assert relu_dropout(torch.ones(1, 2, 3, device="meta")).device.type == "meta"


def test_masks_keep_the_mean_and_differ_between_towers(monkeypatch):
    monkeypatch.setattr(plain, "is_needed_for", lambda tensor: True)
    X = Features(torch.ones(2000, 1, dtype=torch.float64).numpy())
    Y = X.times(torch.ones(2, 1, 2, dtype=torch.float64), 2, Dropout.draw(0.25))
    assert set(Y.unique().tolist()) == {0.0, 1 / 0.75}
    assert abs(Y.mean() - 1) < 0.02
    towers = Y.transpose(0, 1).flatten(1)
    assert (torch.corrcoef(towers.T) - torch.eye(4)).abs().max() < 0.1

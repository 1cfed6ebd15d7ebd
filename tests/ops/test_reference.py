"""The kernels against the reference: results and gradients, with the same dropout masks and any reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from ngcn.nn import build_network
from ngcn.ops import (
    Dropout,
    Features,
    Operator,
    Reach,
    normalize,
    propagate,
    relu_dropout,
    relu_normalize_dropout,
    tower_linear,
    use_reference,
)
from ngcn.ops.cpu.compile import kernel
from ngcn.ops.cpu.masks import keep_bits, lowest_digit
from ngcn.ops.reference import keep_bits as reference_bits
from ngcn.registry import MODELS

MODELS_WITH_KERNELS = ("ngcn", "nsage", "gcn", "sage", "dcnn")
POWERS = (0, 1, 3)


@kernel
def _bits(share: int, numbers: np.ndarray, bits: np.ndarray, key_0: int, key_1: int, keep: int) -> None:
    keep_bits(bits, numbers, 0, key_0, key_1, keep, lowest_digit(keep))


@pytest.mark.parametrize("keep", [1, 2, 1 << 15, 45875, 65535, 65536])
def test_masks_are_equal_bit_for_bit(keep: int) -> None:
    numbers = np.concatenate([np.arange(999), [2**31 - 1, 2**31, 2**32 - 1]])
    for key in ((0, 0), (2**32 - 1, 2**32 - 1), (0x9E3779B9, 12345)):
        bits = np.empty((3, len(numbers)), np.uint32)
        _bits(1, (numbers, bits), *key, keep)
        expected = reference_bits(torch.from_numpy(numbers), 3, Dropout(keep, key))
        np.testing.assert_array_equal(bits, expected.numpy())


def both(function: Callable[..., torch.Tensor], *inputs: torch.Tensor, within: torch.Tensor) -> None:
    """Compare results, and gradients for one that is zero out of reach, as that of a loss on wanted rows is."""
    kernels = function(*inputs)
    with use_reference():
        reference = function(*inputs)
    torch.testing.assert_close(kernels, reference)
    G = torch.randn_like(kernels) * within
    for ours, theirs in zip(
        torch.autograd.grad(kernels, inputs, G), torch.autograd.grad(reference, inputs, G), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("wanted", [None, [4], [4, 7, 20]])
@pytest.mark.parametrize("probability", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("width", [3, 16])
def test_operators_and_gradients_are_the_same(
    A_hat: Operator, X: Features, wanted: list[int] | None, probability: float, width: int
) -> None:
    replicas, nodes, blocks = 5, A_hat.nodes, len(POWERS)
    reach = Reach.of(A_hat, None if wanted is None else np.array(wanted), POWERS, layers=2)
    within, within_next = (
        torch.from_numpy(r.distance <= r.limits[:, None])[..., None] for r in (reach, reach.after_layer)
    )
    dropout = Dropout.draw(probability)
    Z, W = randn(blocks, nodes, replicas * width), randn(blocks, X.shape[1], replicas * width)
    both(lambda W: X.times(W, replicas, dropout, reach), W, within=within)
    both(lambda Z: relu_dropout(Z, dropout, reach), Z, within=within)
    both(lambda Z: relu_normalize_dropout(Z, replicas, dropout, reach), Z, within=within)
    both(lambda Z, V: tower_linear(Z, V, reach), Z, randn(blocks, replicas, width, 2), within=within)
    outside = (Z.detach() * within).requires_grad_()
    both(lambda Z: propagate(A_hat, Z, POWERS, reach) * 1, outside, within=within_next)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("model", MODELS_WITH_KERNELS)
def test_network_and_gradients_are_the_same(graph, X, model, dropout):
    A_hat = normalize(graph.adjacency, MODELS[model].normalization).double()
    network = build_network(model, X.shape[1], graph.classes, dropout=dropout).double()
    rows = torch.tensor([3, 8, 1])

    def logits_and_gradients() -> list[torch.Tensor]:
        torch.manual_seed(0)
        logits = network(A_hat, X, rows)
        return [logits, *torch.autograd.grad(logits.square().sum(), list(network.parameters()))]

    kernels = logits_and_gradients()
    with use_reference():
        reference = logits_and_gradients()
    for ours, theirs in zip(kernels, reference, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_reference_is_used_on_other_devices() -> None:
    """The meta device has no memory that a kernel could read."""
    assert relu_dropout(torch.ones(1, 2, 3, device="meta")).device.type == "meta"


def test_tensors_for_other_devices(A_hat: Operator, X: Features) -> None:
    assert X.dense("meta").device.type == "meta"
    assert {tensor.device.type for tensor in A_hat.power(2).edges(device="meta")} == {"meta"}

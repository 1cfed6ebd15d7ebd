"""Kernels read memory by what they are told: other tensors raise an error, or are converted before."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from ngcn.nn import GCN, Network
from ngcn.ops import Features, Operator, normalize, propagate, relu_dropout, relu_normalize_dropout, tower_linear


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """The same entries, but in memory by columns."""
    other = tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    assert torch.equal(tensor, other) and not other.is_contiguous()
    return other.requires_grad_()


ON_TENSORS: dict[str, Callable[..., torch.Tensor]] = {
    "propagate": lambda A_hat, X, Z: propagate(A_hat, Z, (0, 2)),
    "times": lambda A_hat, X, Z: X.times(Z[:, : X.shape[1]], replicas=2),
    "relu_dropout": lambda A_hat, X, Z: relu_dropout(Z),
    "relu_normalize_dropout": lambda A_hat, X, Z: relu_normalize_dropout(Z, replicas=2),
    "tower_linear, H": lambda A_hat, X, Z: tower_linear(Z, torch.ones(2, 2, 3, 4, dtype=Z.dtype)),
    "tower_linear, W": lambda A_hat, X, Z: tower_linear(
        torch.ones(2, 5, 8, dtype=Z.dtype), Z[:, :4].unflatten(2, (2, 3)).swapaxes(1, 2)
    ),
}


@pytest.mark.parametrize("name", ON_TENSORS)
def test_the_order_in_memory_makes_no_difference(backend: str, name: str, A_hat: Operator, X: Features) -> None:
    function = ON_TENSORS[name]
    Z = torch.randn(2, A_hat.nodes, 6, dtype=torch.float64)
    torch.testing.assert_close(function(A_hat, X, turned(Z)), function(A_hat, X, Z), rtol=0, atol=0)
    assert torch.autograd.gradcheck(lambda Z: function(A_hat, X, Z), turned(Z), fast_mode=True)


@pytest.mark.parametrize("name", ON_TENSORS)
def test_another_type_is_refused(backend: str, name: str, A_hat: Operator, X: Features) -> None:
    with pytest.raises(ValueError, match=r"has the shape .* and the type float16; it must be"):
        ON_TENSORS[name](A_hat, X, torch.ones(2, A_hat.nodes, 6, dtype=torch.float16))


def test_a_network_says_what_does_not_fit_it(backend: str, A_hat: Operator, X: Features) -> None:
    nodes, features = X.shape
    network = Network(GCN, features=features, classes=2, powers=1).double()
    network(A_hat, X)
    single = normalize(A_hat.matrix)
    for what, inputs in {
        "W has the shape 1 x .* it must be any x 3 x any": (A_hat, Features(np.ones((nodes, 3)))),
        f"X has 7 rows, but the graph {nodes} nodes": (A_hat, Features(np.ones((7, features)))),
        "W .* the type float64; it must be .* of float32": (A_hat, Features(X.matrix.astype(np.float32))),
        "Z .* the type float64; it must be .* of float32": (single, X),
    }.items():
        with pytest.raises(ValueError, match=what):
            network(*inputs)


def test_whole_numbers_as_features() -> None:
    counts = np.array([[1, 0, 2], [0, 3, 0]])
    W = torch.randn(1, 3, 4)
    torch.testing.assert_close(Features(counts).times(W, 1)[0], torch.from_numpy(counts).float() @ W[0])

"""What training minimises: cross entropy over the training nodes, of the network and, if wished, of every tower."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ngcn.nn import Network
from ngcn.ops import Features, Operator


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy for ``(nodes,)`` class numbers; binary cross entropy for a ``(nodes, classes)`` 0/1 matrix."""
    if labels.ndim == 1:
        return cross_entropy(logits, labels)
    return binary_cross_entropy_with_logits(logits, labels)


def objective(
    network: Network, A_hat: Operator, X: Features, rows: Tensor, labels: Tensor, intermediate: bool = False
) -> Tensor:
    r"""The loss over ``rows``: :math:`L(m(Z))`, or :math:`L(m(Z)) + \sum_t L(Z_t)` with intermediate supervision.

    The second needs towers whose outputs are class logits: every classifier but the fully-connected ones has them.
    """
    if not intermediate:
        return loss(network(A_hat, X, rows), labels)
    Z = network.towers(A_hat, X, rows)
    towers = Z.shape[1]
    of_towers = loss(Z.flatten(0, 1), labels.repeat_interleave(towers, dim=0))  # their mean
    return loss(network.classifier(Z), labels) + towers * of_towers

"""What training minimises: cross entropy over the training nodes, of the network and, if wished, of every tower."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ngcn.nn.classifiers import Mixture


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy for ``(nodes,)`` class numbers; binary cross entropy for a ``(nodes, classes)`` 0/1 matrix."""
    if labels.ndim == 1:
        return cross_entropy(logits, labels)
    return binary_cross_entropy_with_logits(logits, labels)


def objective(
    classifier: nn.Module, Z: Float[Tensor, "rows towers width"], labels: Tensor, intermediate: bool = False
) -> Tensor:
    r"""The loss of the towers' outputs Z: :math:`L(m(Z))`, or :math:`L(m(Z)) + \sum_t L(Z_t)` with intermediate
    supervision; for n labelled nodes and attention that has a price, plus :math:`\frac{4}{n} \sum \tilde{m}^2`.

    The second needs towers whose outputs are class logits: every classifier but the fully-connected ones has them.
    """
    of_network = loss(classifier(Z), labels)
    if isinstance(classifier, Mixture):
        of_network = of_network + classifier.penalty() / len(labels)
    if not intermediate:
        return of_network
    towers = Z.shape[1]
    of_towers = loss(Z.flatten(0, 1), labels.repeat_interleave(towers, dim=0))  # their mean
    return of_network + towers * of_towers

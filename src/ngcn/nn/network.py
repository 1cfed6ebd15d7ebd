"""Algorithm 1 of the paper: a network of graph models on the powers of the normalised adjacency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.nn.classifiers import make_classifier
from ngcn.nn.polynomial import Polynomial
from ngcn.ops import Features, Operator


class Network(nn.Module):
    r"""K x r graph models, r on each power of Â, and a classifier over all of their outputs (Algorithm 1).

    .. math::
        \mathrm{Classifier}\left(\mathrm{GraphModel}(\hat{A}^{k}, X; \theta^{(k, i)})
            \;:\; k = 0 \dots K-1, \; i = 1 \dots r \right)

    Args:
        graph_model: makes the graph models of all towers side by side: :class:`GCN`, :class:`SAGE`, or
            :class:`EachTower` around a module of your own.
        features: columns of X.
        classes: columns of the result.
        powers: K, for the powers 0 to K-1; or the powers themselves.
        replicas: r, the number of graph models per power.
        widths: columns per tower after each layer; two layers of 16 and `classes` columns if not given.
        classifier: attention, free-attention, fc, fc2, harmonic, linear or identity.
        dropout: the probability of dropping an input of a layer.
        multilabel: several classes may hold at once.

    Shape:
        - X: ``(nodes, features)``
        - output: logits, ``(rows, classes)``

    Example:
        >>> from ngcn.nn import GCN
        >>> Network(GCN, features=1433, classes=7, powers=3, replicas=2, classifier="attention").tower_powers
        (0, 0, 1, 1, 2, 2)
    """

    def __init__(
        self,
        graph_model: Callable[..., Any],
        features: int,
        classes: int,
        powers: int | Sequence[int] = 6,
        replicas: int = 4,
        widths: Sequence[int] | None = None,
        classifier: str = "fc",
        dropout: float = 0.5,
        multilabel: bool = False,
    ) -> None:
        super().__init__()
        powers = tuple(range(powers)) if isinstance(powers, int) else tuple(sorted(powers))
        widths = (16, classes) if widths is None else tuple(widths)
        self.tower_powers = tuple(k for k in powers for _ in range(replicas))
        self.classifier = make_classifier(
            classifier, self.tower_powers, widths[-1], classes, dropout=dropout, multilabel=multilabel
        )
        self.graph_models = graph_model(powers, replicas, (features, *widths), dropout, self.classifier.activation)

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows classes"]:
        """The logits of the nodes `rows`, in that order, or of all nodes; what they do not need is not computed."""
        return self.classifier(self.towers(A_hat, X, rows))

    def towers(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        """The output of every graph model."""
        return self.graph_models(A_hat, X, rows)

    def scale_weights(self) -> dict[int, float] | None:
        """How much each power counts: the weights of its towers summed. None where towers have no weights (fc)."""
        if isinstance(self.graph_models, Polynomial):
            return self.graph_models.scale_weights()
        m = self.classifier.weights()
        if m is None:
            return None
        return {k: float(m[[p == k for p in self.tower_powers]].sum()) for k in dict.fromkeys(self.tower_powers)}


def towers_side_by_side(
    networks: Sequence[Network], A_hat: Operator, X: Features, rows: Int[Tensor, " rows"]
) -> Sequence[Float[Tensor, "rows towers width"]]:
    """The towers of several networks."""
    return [network.towers(A_hat, X, rows) for network in networks]

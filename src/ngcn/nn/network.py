"""Algorithm 1 of the paper: a network of graph models on the powers of the normalised adjacency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.checks import powers as check_powers
from ngcn.errors import ConfigError
from ngcn.nn.classifiers import make_classifier
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import Features, Operator
from ngcn.ops.normalize import Normalization


class Network(nn.Module):
    r"""K x r graph models, r on each power of Â, and a classifier over all of their outputs (Algorithm 1).

    .. math::
        \mathrm{Classifier}\left(\mathrm{GraphModel}(\hat{A}^{k}, X; \theta^{(k, i)})
            \;:\; k = 0 \dots K-1, \; i = 1 \dots r \right)

    Args:
        graph_model: makes the graph models: :class:`GCN`, :class:`SAGE`, or :class:`EachTower` around your own layer.
        features: the number of features, columns of X.
        classes: the number of classes.
        powers: K, for the powers 0 to K-1; or the powers themselves.
        replicas: r, the number of graph models per power.
        widths: the outputs of each layer of a tower; two layers with 16 and `classes` outputs by default.
        classifier: a name in :data:`ngcn.registry.CLASSIFIERS`, such as attention or fc.
        dropout: the probability of dropping an input of a layer.
        multilabel: several classes may hold at once.
        normalization: which Â the graph models expect, see :func:`ngcn.normalize`.

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
        normalization: Normalization = "symmetric",
    ) -> None:
        super().__init__()
        self.powers, self.replicas = check_powers("powers", powers), replicas
        self.features, self.classes, self.multilabel = features, classes, multilabel
        self.normalization = normalization
        widths = (features, *((16, classes) if widths is None else widths))
        tower_powers = getattr(graph_model, "tower_powers", GraphModel.tower_powers)
        self.tower_powers: tuple[int | None, ...] = tower_powers(self.powers, replicas)
        if self.tower_powers == (None,) and classifier != "identity":
            raise ConfigError(f"One graph model on all powers has the classifier identity, not {classifier!r}.")
        self.classifier = make_classifier(
            classifier, self.tower_powers, widths[-1], classes, dropout=dropout, multilabel=multilabel
        )
        self.graph_models = graph_model(self.powers, replicas, widths, dropout, self.classifier.activation)

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows classes"]:
        """The logits of the nodes `rows`, in that order, or of all nodes; nothing else is computed."""
        return self.classifier(self.towers(A_hat, X, rows))

    def towers(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        """The outputs of all graph models."""
        if self.fused:  # GCN, SAGE: the same loop, for all towers at once in compiled kernels
            return self.graph_models(A_hat, X, rows)
        outputs, Z = [], X.dense(self.device)
        for k in self.powers:
            P = A_hat.power(k)  # Â^k, never formed
            outputs += [graph_model(P, Z) for graph_model in self.graph_models[str(k)]]  # r replicas
        towers = torch.stack(outputs, dim=1)
        return self.classifier.activation(towers if rows is None else towers[rows])

    @property
    def fused(self) -> bool:
        """Whether one module computes all towers together; else each tower is a module (:class:`EachTower`)."""
        return not isinstance(self.graph_models, nn.ModuleDict)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def scale_weights(self) -> dict[int, float] | None:
        """How much each power counts: the sum of the weights of its towers. None where towers have no weights (fc)."""
        if None in self.tower_powers:  # one graph model that mixes the powers by itself
            return self.graph_models.scale_weights()
        m = self.classifier.weights()
        if m is None:
            return None
        return {k: float(m[[power == k for power in self.tower_powers]].sum()) for k in self.powers}

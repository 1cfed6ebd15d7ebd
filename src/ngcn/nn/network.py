"""Algorithm 1 of the paper: a network of graph models on the powers of the normalised adjacency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.checks import powers as check_powers
from ngcn.errors import ConfigError
from ngcn.nn.calibration import Calibration
from ngcn.nn.classifiers import make_classifier
from ngcn.nn.graph_model import GraphModel
from ngcn.nn.mixed import Mixed
from ngcn.nn.mlp import MLP
from ngcn.ops import Dropout, Features, Operator, Operators, Sampled
from ngcn.ops.normalize import SYMBOLS, Normalization, normalize


class TowerName(NamedTuple):
    """What a tower is: its graph model, its operator and its power; None for one that mixes all powers.

    >>> str(TowerName("SAGE", "walk", 2)), str(TowerName("GCN", "symmetric", 0))
    ('SAGE P^2', 'features')
    """

    graph_model: str
    operator: str
    power: int | None

    def __str__(self) -> str:
        if self.power == 0 and self.graph_model == "GCN":
            return "features"
        return f"{self.graph_model} {SYMBOLS[self.operator]}" + ("" if self.power is None else f"^{self.power}")


def group_title(group: int | str | None) -> str:
    """The name of a group of towers, see :meth:`Network.groups`.

    >>> group_title(2), group_title("SAGE P^1"), group_title(None)
    ('Â^2', 'SAGE P^1', 'all powers')
    """
    return "all powers" if group is None else f"Â^{group}" if isinstance(group, int) else group


class Network(nn.Module):
    r"""K x r graph models, r on each power of Â, and a classifier over all of their outputs (Algorithm 1).

    .. math::
        \mathrm{Classifier}\left(\mathrm{GraphModel}(\hat{A}^{k}, X; \theta^{(k, i)})
            \;:\; k = 0 \dots K-1, \; i = 1 \dots r \right)

    Args:
        graph_model: makes the graph models: :class:`GCN`, :class:`SAGE`, several kinds of them (:class:`Mix`), or
            :class:`EachTower` around your own layer.
        features: the number of features, columns of X.
        classes: the number of classes.
        powers: K, for the powers 0 to K-1; or the powers themselves.
        replicas: r, the number of graph models per power.
        widths: the outputs of each layer of a tower; two layers with 16 and `classes` outputs by default.
        classifier: a name in :data:`ngcn.registry.CLASSIFIERS`, such as attention or fc.
        dropout: the probability of dropping an input of a layer.
        multilabel: several classes may hold at once.
        normalization: which Â the graph models expect, see :func:`ngcn.normalize`.
        bias: add a learned row to the output of each layer of a tower. The paper has none.
        shared_mask: where a dense product of X is faster than a sparse one, all towers share a dropout mask on X.
            Otherwise, and in the paper, each draws its own.
        drop_nodes: for :class:`MLP` towers, the probability of dropping all features of a node.

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
        bias: bool = False,
        shared_mask: bool = False,
        drop_nodes: float = 0.0,
    ) -> None:
        super().__init__()
        self.powers, self.replicas = check_powers("powers", powers), replicas
        self.dropout, self.shared_mask = dropout, shared_mask
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
        self.graph_models = graph_model(self.powers, replicas, widths, dropout, self.classifier.activation, bias)
        for module in self.graph_models.modules():
            if isinstance(module, MLP):
                module.drop_nodes = drop_nodes
        self.calibration = Calibration(classes, multilabel)
        self.tower_names = self._tower_names(graph_model)

    def forward(
        self, A_hat: Operator | Operators | Sampled, X: Features | Sampled, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows classes"]:
        """The logits of the nodes `rows`, in that order, or of all nodes; nothing else is computed."""
        return self.combine(self.towers(A_hat, X, rows))

    def combine(self, Z: Float[Tensor, "rows towers width"]) -> Float[Tensor, "rows classes"]:
        """The calibrated logits, given the outputs of all towers."""
        logits: Tensor = self.calibration(self.classifier(Z))
        return logits

    def towers(
        self, A_hat: Operator | Operators | Sampled, X: Features | Sampled, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        """The outputs of all graph models. `A_hat` is what :meth:`operator` returns; or it and X are a sampled batch,
        and `rows` are positions in it."""
        if isinstance(A_hat, Sampled) or isinstance(X, Sampled):
            assert isinstance(A_hat, Sampled)
            return self._sampled_towers(A_hat, rows)
        if self.fused:  # GCN, SAGE: the same loop, for all towers at once in compiled kernels
            if self.training and self.shared_mask and X.dense_is_faster:
                X = X.with_shared_mask(Dropout.draw(self.dropout))
            return self.graph_models(A_hat, X, rows)
        outputs, Z = [], X.dense(self.device)
        for k in self.powers:
            P = A_hat.power(k)  # type: ignore[union-attr]  # Â^k, never formed
            outputs += [graph_model(P, Z) for graph_model in self.graph_models[str(k)]]  # r replicas
        towers = torch.stack(outputs, dim=1)
        return self.classifier.activation(towers if rows is None else towers[rows])

    def _sampled_towers(self, sampled: Sampled, rows: Tensor | None) -> Tensor:
        if self.training and self.shared_mask:
            sampled = sampled.with_shared_mask()
        pairs = zip(self.kinds(), sampled.kinds, strict=True)
        Z = torch.cat([model.sampled(powers) for (_, model), powers in pairs], dim=1)
        return Z if rows is None else Z[rows]

    def kinds(self) -> list[tuple[str, GraphModel]]:
        """The graph models that can be computed from rows of Â^k X, each with its operator; an error for others."""
        models = self.graph_models
        if isinstance(models, Mixed):
            return [(kind.operator, model) for kind, model in zip(models.kinds, models.models, strict=True)]
        if not isinstance(models, GraphModel):
            raise ConfigError(
                "Graph models of your own need the whole graph in every step, so they cannot be trained on sampled "
                "batches; use `batch='full'`."
            )
        return [(self.normalization, models)]

    def operator(self, adjacency: sp.csr_array, *, directed: bool = False) -> Operator | Operators:
        """Â of a graph, or all operators that the towers use; ``directed`` keeps the direction of edges."""
        if isinstance(self.graph_models, Mixed):
            return Operators(adjacency, directed=directed)
        return normalize(adjacency, self.normalization, directed=directed)

    def tower(self, tensors: Mapping[str, Tensor], t: int) -> list[Tensor]:
        """Views of the parameters of tower t, in tensors named and shaped like those of ``state_dict()``."""
        own = {name.removeprefix("graph_models."): value for name, value in tensors.items() if "graph_models." in name}
        if self.fused:
            return self.graph_models.tower(own, t)
        prefix = f"{self.powers[t // self.replicas]}.{t % self.replicas}."
        return [own[name] for name in sorted(own) if name.startswith(prefix)]  # a file may have them in another order

    def groups(self) -> dict[int | str | None, list[int]]:
        """The towers of each power; in a mixed network, of each graph model, operator and power."""
        found: dict[int | str | None, list[int]] = {}
        for t, name in enumerate(self.tower_names):
            found.setdefault(str(name) if isinstance(self.graph_models, Mixed) else name.power, []).append(t)
        return found

    def _tower_names(self, graph_model: Any) -> tuple[TowerName, ...]:
        if isinstance(self.graph_models, Mixed):
            kinds = [(part.model.upper(), part.operator) for part in self.graph_models.kinds for _ in part.powers]
            kinds = [kind for kind in kinds for _ in range(self.replicas)]
        else:
            kinds = [(getattr(graph_model, "__name__", "model"), self.normalization)] * len(self.tower_powers)
        return tuple(TowerName(*kind, k) for kind, k in zip(kinds, self.tower_powers, strict=True))

    @property
    def fused(self) -> bool:
        """Whether one module computes all towers together; else each tower is a module (:class:`EachTower`)."""
        return not isinstance(self.graph_models, nn.ModuleDict)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def scale_weights(self) -> dict[int | str | None, float] | None:
        """How much each power counts (in a mixed network, each graph model, operator and power): the sum of the weights
        of its towers. None where towers have no weights (fc)."""
        if None in self.tower_powers:  # one graph model that mixes the powers by itself
            return self.graph_models.scale_weights()
        m = self.classifier.weights()
        if m is None:
            return None
        return {group: float(m[towers].sum()) for group, towers in self.groups().items()}

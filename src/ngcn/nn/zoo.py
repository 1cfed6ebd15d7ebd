"""The named models of the paper, each a configuration of :class:`Network` ("Generalization to other Graph Models")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import scipy.sparse as sp

from ngcn.nn.chebyshev import Chebyshev
from ngcn.nn.gcn import GCN
from ngcn.nn.network import Network
from ngcn.nn.polynomial import WalkCoefficients
from ngcn.nn.sage import SAGE
from ngcn.ops import Operator, normalize
from ngcn.ops.normalize import Normalization


@dataclass(frozen=True)
class Preset:
    """What a name stands for; the fields are the defaults of a run's settings."""

    graph_model: Any  # a class
    normalization: Normalization
    powers: tuple[int, ...]
    replicas: int
    classifier: str
    layers: int
    summary: str
    hidden: int = 16
    steps: int = 600
    lr: float = 0.01
    dropout: float = 0.5
    l2: float = 1e-5
    intermediate: bool = False

    def operator(self, adjacency: sp.csr_array) -> Operator:
        """Â, or what takes its place."""
        return normalize(adjacency, self.normalization)


MODELS = {
    "ngcn": Preset(GCN, "symmetric", (0, 1, 2, 3, 4, 5), 4, "attention", 2, "Network of GCNs (Algorithm 4)"),
    "nsage": Preset(SAGE, "row", (0, 1, 2, 3, 4, 5), 4, "attention", 2, "Network of SAGEs (Algorithm 5)"),
    "gcn": Preset(GCN, "symmetric", (1,), 1, "identity", 2, "one GCN on Â"),
    "sage": Preset(SAGE, "row", (1,), 1, "identity", 2, "one SAGE on Â"),
    "dcnn": Preset(GCN, "row", (0, 1, 2, 3, 4, 5), 1, "fc", 1, "one layer on each power of the random walk"),
    "mlp": Preset(GCN, "symmetric", (0,), 1, "identity", 2, "features only: no edge is looked at", l2=1e-3),
    "cheby": Preset(Chebyshev, "laplacian", (0, 1, 2, 3), 1, "identity", 2, "polynomials of the Laplacian", l2=2.5e-4),
    "walk-coefficients": Preset(
        WalkCoefficients, "symmetric", (0, 1, 2, 3, 4, 5), 1, "identity", 2, "one GCN on a learned mixture of powers"
    ),
}


def build_network(
    model: str,
    features: int,
    classes: int,
    *,
    powers: int | Sequence[int] | None = None,
    replicas: int | None = None,
    classifier: str | None = None,
    hidden: int = 16,
    layers: int | None = None,
    dropout: float = 0.5,
    multilabel: bool = False,
) -> Network:
    """The network that a name stands for, with settings changed where they are given.

    A tower has `layers` layers, all `hidden` wide but the last, which has a column per class; DCNN's single layer is
    `hidden` wide, as in the paper.

    Example:
        >>> build_network("gcn", features=1433, classes=7).tower_powers
        (1,)
        >>> build_network("ngcn", features=1433, classes=7, powers=3, replicas=1).tower_powers
        (0, 1, 2)
    """
    if model not in MODELS:
        raise ValueError(f"There is no model {model!r}; choose one of {', '.join(MODELS)}.")
    preset = MODELS[model]
    layers = preset.layers if layers is None else layers
    widths = (hidden,) if model == "dcnn" else (*[hidden] * (layers - 1), classes)
    if model == "dcnn" and layers != 1:
        raise ValueError(f"DCNN has one layer, not {layers}; with more it is ngcn.")
    powers = preset.powers if powers is None else powers
    replicas = preset.replicas if replicas is None else replicas
    classifier = preset.classifier if classifier is None else classifier
    graph_model = preset.graph_model
    if graph_model in (Chebyshev, WalkCoefficients):
        if (replicas, classifier) != (1, "identity"):
            raise ValueError(f"{model} is one graph model on all powers: replicas are 1 and the classifier identity.")
        degrees = tuple(range(powers)) if isinstance(powers, int) else tuple(sorted(powers))
        graph_model, powers = partial(_on_all_powers, graph_model, degrees), (1,)
    return Network(
        graph_model,
        features,
        classes,
        powers=powers,
        replicas=replicas,
        widths=widths,
        classifier=classifier,
        dropout=dropout,
        multilabel=multilabel,
    )


def _on_all_powers(
    graph_model: Callable[..., Any], degrees: tuple[int, ...], powers: tuple[int], replicas: int, *rest: Any
) -> Any:
    """The only tower of a network, which has all powers to itself."""
    return graph_model(degrees, *rest)

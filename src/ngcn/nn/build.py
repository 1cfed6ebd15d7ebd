"""From the name of a model to its network ("Generalization to other Graph Models" in the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngcn.checks import choice, parts
from ngcn.errors import ConfigError
from ngcn.nn.mixed import Mix
from ngcn.nn.network import Network
from ngcn.registry import CUSTOM, MODELS, SHARED, load


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
    drop_nodes: float = 0.0,
    multilabel: bool = False,
    bias: bool = False,
    shared_mask: bool = False,
    mix: Sequence[str] | None = None,
) -> Network:
    """Build the network of a model in :data:`ngcn.MODELS`, by name. ``None`` stands for the default of the model.

    A tower has ``layers`` layers with ``hidden`` outputs; the last has one output per class. The single layer of DCNN
    has ``hidden`` outputs, as in the paper. ``mix`` lists the towers of a mixed network.

    Example:
        >>> build_network("gcn", features=1433, classes=7).tower_powers
        (1,)
        >>> build_network("ngcn", features=1433, classes=7, powers=3, replicas=1).tower_powers
        (0, 1, 2)
    """
    spec = MODELS[choice(MODELS, hidden=[CUSTOM])("model", model)]
    if spec.graph_model is None:
        raise ConfigError(f"{model} is not a network that can be built by name; pass yours as `network`.")
    defaults = {**SHARED, **spec.defaults}
    layers = defaults["layers"] if layers is None else layers
    if spec.hidden_outputs and layers != 1:
        raise ConfigError(f"{spec.title} has one layer, not {layers}; with more it is ngcn.")
    graph_model: Any = load(spec.graph_model)
    if graph_model is Mix:
        graph_model = Mix(parts("mix", mix or defaults["mix"]))
        powers = graph_model.powers
    return Network(
        graph_model,
        features,
        classes,
        powers=defaults["powers"] if powers is None else powers,
        replicas=defaults["replicas"] if replicas is None else replicas,
        widths=(hidden,) if spec.hidden_outputs else (*[hidden] * (layers - 1), classes),
        classifier=classifier or defaults["classifier"],
        dropout=dropout,
        drop_nodes=drop_nodes,
        multilabel=multilabel,
        normalization=spec.normalization,
        bias=bias,
        shared_mask=shared_mask,
    )

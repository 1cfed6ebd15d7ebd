"""How much memory a network needs, before it is asked for."""

from __future__ import annotations

from itertools import pairwise

from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.memory import check_memory
from ngcn.registry import CUSTOM


def check_size(config: Config, features: int, classes: int, nodes: int = 0) -> None:
    """Raise an error if the network that a config names does not fit into memory.

    This is a lower bound: the parameters and, to train on so many ``nodes``, their gradients, two moments of Adam, and
    the output of the first layer.
    """
    if config.model == CUSTOM:
        return
    widths = [features, *[config.hidden] * (config.layers - 1), classes]
    parameters = (4 if nodes else 1) * sum(a * b for a, b in pairwise(widths))
    needed = 4 * config.towers * (parameters + nodes * widths[1])
    remedy = "use fewer `powers` or `replicas`, or fewer `hidden` units"
    check_memory(needed, "Training this network" if nodes else "This network", remedy, ConfigError)

"""`choose_batch`: whether a step takes the whole graph or a sample of it, by an estimate of memory and time."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch

from ngcn import checks
from ngcn.config import STRUCTURE, Config
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.large import sampled_kinds
from ngcn.large.links import NORMALIZATIONS
from ngcn.memory import free_memory, memory_bytes
from ngcn.nn import Network, build_network

USUAL = "4GB"  # of memory, unless the config says otherwise
SMALL = 1_000_000  # entries of the adjacency and of X, below which there is nothing to choose
LONGEST = 1800.0  # seconds of training in full batches
# Measured on steps of 10^5 to 10^7 edges (benchmarks/scaling.py)
RATE = 8e9  # additions and multiplications per second and core
COPIES = 2  # of the outputs of each layer that a step holds


class Choice(NamedTuple):
    """What a step takes, and an estimate for full batches.

    Args:
        batch: full or sampled.
        memory: the bytes of a step.
        seconds: the time of a step.
        why: the reason, in a sentence; empty where there was nothing to choose.
    """

    batch: str
    memory: float = 0.0
    seconds: float = 0.0
    why: str = ""


def working_memory(config: Config) -> int:
    """The bytes that work on a large graph may take."""
    return memory_bytes(config.memory or USUAL)


def choose_batch(graph: Graph, config: Config, network: Network | None = None) -> Choice:
    """Whether training takes full or sampled batches: what the config says, or sampled if full ones would take more
    memory than there is, or more than half an hour.

    Example:
        >>> from ngcn import load_dataset
        >>> choose_batch(load_dataset("cora"), Config()).batch
        'full'
    """
    if config.batch not in (None, "auto"):
        return Choice(config.batch)
    if config.is_baseline or _entries(graph.features) + graph.adjacency.nnz < SMALL:
        return Choice("full")
    memory, seconds = _estimate(graph, config)
    allowed = free_memory() if config.memory is None else memory_bytes(config.memory)
    needs = f"a step on the whole graph takes about {memory / 1e9:.1f} GB of memory and {seconds:.1f} s"
    if memory < allowed and seconds * config.steps < LONGEST:
        return Choice("full", memory, seconds, f"Full batches: {needs}.")
    try:
        for operator, _ in sampled_kinds(_network(graph, config) if network is None else network):
            if operator not in NORMALIZATIONS:
                raise ConfigError(f"The operator {operator} needs the whole graph.")
    except ConfigError as error:
        return Choice("full", memory, seconds, f"Full batches, though {needs}: {error}")
    if memory >= allowed:
        needs += f", and {allowed / 1e9:.1f} GB may be used"
    else:
        needs += f", and there are {config.steps}"
    return Choice("sampled", memory, seconds, f"Sampled batches: {needs}.")


def _estimate(graph: Graph, config: Config) -> tuple[float, float]:
    """Bytes and seconds of a step on the whole graph."""
    hidden, layers = config.hidden or 16, config.layers or 2
    columns = hidden * (layers - 1) + graph.classes  # of a tower, in all layers
    towers, hops = _towers(config)
    of_X, edges = _entries(graph.features), graph.adjacency.nnz
    memory = 4 * COPIES * graph.nodes * towers * columns + 16 * of_X + 24 * edges
    work = 3 * hops * columns * edges + 3 * of_X * towers * hidden  # forward, backward and validation
    return float(memory), work / (RATE * len(os.sched_getaffinity(0)))


def _towers(config: Config) -> tuple[int, int]:
    """The number of towers, and the sum of their powers."""
    powers = [k for part in checks.parts("mix", config.mix) for k in part.powers] if config.mix else config.powers
    replicas = config.replicas or 1
    return replicas * len(powers), replicas * sum(powers)


def _network(graph: Graph, config: Config) -> Network:
    """The network that the config names, without memory for its parameters."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        shape = {name: getattr(config, name) for name in STRUCTURE}
        return build_network(config.model, graph.features.shape[1], graph.classes, multilabel=graph.multilabel, **shape)


def _entries(X: Any) -> int:
    return X.nnz if sp.issparse(X) else X.size

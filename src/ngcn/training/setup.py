"""`Training`: everything a training consists of, before its first step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ngcn.config import STRUCTURE, Config
from ngcn.engine import Cluster
from ngcn.errors import ConfigError
from ngcn.graph import Graph
from ngcn.model import Card, Model, check_size, choose_batch
from ngcn.nn import Network
from ngcn.registry import CUSTOM, MODELS, RECIPES, load
from ngcn.training.adam import Adam
from ngcn.training.batches import FullInputs, Inputs
from ngcn.training.best_steps import BestSteps
from ngcn.training.checkpoint import State
from ngcn.training.recipe import Recipe
from ngcn.training.sampled import SampledInputs
from ngcn.training.selection import Selection
from ngcn.training.spread import Spread


@dataclass(frozen=True)
class Training:
    """A training that has taken no step, or, after its checkpoint was loaded, some.

    Args:
        model: its network is that of the state.
        config, seed: as in :func:`~ngcn.training.fit`.
        recipe: computes the loss.
        inputs: batches, and the outputs for the validation nodes.
        state: what changes from step to step.
        spread: batches and losses of a cluster, in place of those of the inputs and the recipe.
    """

    model: Model
    config: Config
    seed: int
    recipe: Recipe
    inputs: Inputs
    state: State
    spread: Spread | None


def set_up(
    graph: Graph,
    config: Config,
    seed: int,
    *,
    network: Network | None,
    weights: np.ndarray | None,
    selection: Selection | None,
    cluster: Cluster | None,
) -> Training:
    """Prepare a training; the arguments are those of :func:`~ngcn.training.fit`."""
    config = for_network(config, network)
    sampled = choose_batch(graph, config, network).batch == "sampled"
    check_size(config, graph.features.shape[1], graph.classes, 0 if sampled else graph.nodes)
    model, generator = _initial(Card.of(graph, config), config, seed, network)
    network = model.network.to(config.device)
    recipe: Recipe = load(RECIPES[config.recipe].recipe)(config)
    recipe.check(network)
    weight, spread = _weights(graph, config, weights), None
    inputs: Inputs
    if sampled:
        unlabelled = recipe.reads_unlabelled
        inputs = SampledInputs(model, graph, config, weight, seed=seed, unlabelled=unlabelled, executor=cluster)
        spread = Spread(cluster, inputs) if cluster else None
    else:
        inputs = FullInputs(model, graph, config, weight)
    _check_metric(config, inputs.labels)
    optimizer = Adam(network, config.lr, partial(recipe.l2, labelled=int(graph.train.sum())))
    selection = selection or recipe.selection(graph.multilabel)
    selection.allow(inputs.every)
    if config.refit and not (isinstance(selection, BestSteps) and graph.val.any()):
        raise ConfigError(
            "refit needs validation nodes, and a recipe that keeps the best step: independent, standard, consistency."
        )
    state = State(network, optimizer, generator, selection)
    return Training(model, config, seed, recipe, inputs, state, spread)


def for_network(config: Config, network: Network | None) -> Config:
    """The config of a training with a network of the user's own: what it says about building one does not apply."""
    if network is None:
        return config
    if not isinstance(network, Network):
        raise ConfigError(f"network must be a Network, not a {type(network).__name__}; see the guide `Extend`.")
    not_built: dict[str, Any] = dict.fromkeys(STRUCTURE)
    if config.recipe == MODELS[config.model].recipe != MODELS[CUSTOM].recipe:  # that of a model which is not trained
        default = Config(model=config.model)
        not_built |= {name: None for name in ("l2", "patience") if getattr(config, name) == getattr(default, name)}
        not_built["recipe"] = None
    return replace(config, **{**not_built, "model": CUSTOM, "powers": network.powers, "replicas": network.replicas})


def _initial(card: Card, config: Config, seed: int, network: Network | None) -> tuple[Model, torch.Generator]:
    """The model with its initial parameters, and a generator that continues where they end."""
    if config.device != "cpu" and not getattr(torch, config.device).is_available():
        raise ConfigError(f"device must be cpu here: torch finds no {config.device} on this machine.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Model.build(card, config, network)
        return model, torch.Generator().set_state(torch.get_rng_state())


def _check_metric(config: Config, labels: Tensor) -> None:
    """Raise an error for a metric that the validation nodes leave undefined."""
    if config.metric not in ("roc_auc", "average_precision") or not len(labels):
        return
    share = (one_hot(labels) if labels.ndim == 1 else labels).float().mean(dim=0)
    if not ((share > 0) & (share < 1)).any():
        raise ConfigError(
            f"{config.metric} needs a class that some validation nodes have and others have not; choose another "
            "metric, or another split."
        )


def _weights(graph: Graph, config: Config, given: np.ndarray | None) -> Tensor | None:
    """How much each node counts: as given, and for ``balance`` the more, the rarer its class among training nodes."""
    weights = None if given is None else np.asarray(given, np.float32)
    if config.balance:
        if graph.multilabel:
            raise ConfigError("balance needs one label per node, but these are multi-label.")
        known = np.flatnonzero(graph.train)
        sizes = np.bincount(graph.labels[known], minlength=graph.classes).clip(1)
        of_class = (len(known) / graph.classes / sizes).astype(np.float32)
        weights = of_class[graph.labels] * (1 if weights is None else weights)
    return None if weights is None else torch.from_numpy(weights).to(config.device)

"""The training loop, top to bottom: seed, network, optimiser, steps, and the parameters that the selection keeps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngcn.config import STRUCTURE, Config
from ngcn.engine import Cluster
from ngcn.errors import ConfigError, TrainingError
from ngcn.graph import Graph
from ngcn.model import Card, Model, check_size, choose_batch
from ngcn.nn import Network
from ngcn.ops import drawing_from
from ngcn.ops.modes import own_modes
from ngcn.ops.threads import FasterThreads, threads_as_before
from ngcn.registry import CUSTOM, MODELS, RECIPES, load
from ngcn.scoring import metric_of, scores
from ngcn.text import shown
from ngcn.training.adam import Adam
from ngcn.training.baseline import fit_baseline
from ngcn.training.batches import FullInputs, Inputs
from ngcn.training.best_steps import BestSteps, KnownSteps
from ngcn.training.calibrate import calibrate, conformal_scores, held_out
from ngcn.training.checkpoint import Checkpoints, State, refit_checkpoint
from ngcn.training.recipe import Recipe
from ngcn.training.result import Result, tower_table
from ngcn.training.sampled import SampledInputs
from ngcn.training.selection import Selection, Step
from ngcn.training.spread import Spread

DIVERGED = 1e3  # a loss this many times the first one does not recover


@own_modes
def fit(
    graph: Graph,
    config: Config,
    seed: int = 0,
    *,
    network: Network | None = None,
    checkpoint: Path | None = None,
    weights: np.ndarray | None = None,
    selection: Selection | None = None,
    cluster: Cluster | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train one seed, and return the model with the parameters of its best step.

    Args:
        graph: its training nodes teach, its validation nodes select, its test nodes are evaluated once. Without
            validation nodes the last step is kept.
        config: the settings.
        seed: draws the initial parameters and the dropout masks. The same seed gives the same bits.
        network: a network of your own, to be trained in place of the model that the config names.
        weights: ``(nodes,)`` how much each node counts in the losses; None if all count the same.
        selection: which step to keep, if not the one that the recipe keeps.
        checkpoint: a file to continue from, if it exists, and to write checkpoints to.
        cluster: computes the products and the gradients of sampled batches; this process if None.
        on_step: called after every step; an exception stops training after a last checkpoint.
    """
    if on_step is not None and not callable(on_step):
        raise ConfigError(f"on_step must be a function, not {shown(on_step)}.")
    if config.is_baseline:
        return fit_baseline(graph, config, seed)
    config = for_network(config, network)
    again = deepcopy(network) if config.refit else None
    sampled = choose_batch(graph, config, network).batch == "sampled"
    check_size(config, graph.features.shape[1], graph.classes, 0 if sampled else graph.nodes)
    model, generator = _initial(Card.of(graph, config), config, seed, network)
    network = model.network.to(config.device)
    recipe: Recipe = load(RECIPES[config.recipe].recipe)(config)
    recipe.check(network)
    weight = _weights(graph, config, weights)
    if sampled:
        how: dict[str, Any] = {"unlabelled": recipe.reads_unlabelled, "executor": cluster}
        inputs: Inputs = SampledInputs(model, graph, config, weight, seed=seed, **how)
    else:
        inputs = FullInputs(model, graph, config, weight)
    spread = Spread(cluster, inputs) if cluster and isinstance(inputs, SampledInputs) else None
    _check_metric(config, inputs.labels)
    optimizer = Adam(network, config.lr, partial(recipe.l2, labelled=int(graph.train.sum())))
    state = State(network, optimizer, generator, selection or recipe.selection(graph.multilabel))
    state.selection.allow(inputs.every)
    if config.refit and not (isinstance(state.selection, BestSteps) and graph.val.any()):
        raise ConfigError(
            "refit needs validation nodes, and a recipe that keeps the best step: independent, standard, consistency."
        )
    checkpoints = Checkpoints(state, checkpoint)
    with threads_as_before(), inputs.workspace():
        threads = FasterThreads(torch.get_num_threads())
        for batch in (spread or inputs).batches(state.step):
            if ending := _ending(state, config):
                break
            begun = time.monotonic()
            network.train()
            optimizer.zero_grad()
            with _randomness(generator, seed, state.step, config.device):
                loss = (spread or recipe).loss(network, batch)
            loss.backward()
            optimizer.step()
            validated = inputs.validates(state.step + 1)
            step = loss.item(), *(_validate(recipe, state, inputs) if validated else state.history[-1][1:])
            if ending := _divergence(state, step, config, seed):
                break
            seconds = time.monotonic() - begun
            state.record(step, seconds, validated)
            if not sampled or not validated:  # steps of one kind
                threads.after_step(seconds)
            with checkpoints.after_step():
                if on_step:
                    on_step(state.last_step())
    if config.refit:
        checkpoints.save()
    found = _finish(recipe, state, inputs)
    inputs.finish()
    network.cpu()  # where the trained model is used
    best_step, seconds = state.selection.step or state.step, round(state.seconds, 3)
    outcome = dict(zip(("status", "stopped"), ending, strict=True))
    facts = {"best_step": best_step, "steps": state.step, "seconds": seconds, **found, **outcome}
    result = Result.of(model, inputs.graph, state.history, seed=seed, **facts)
    if not config.refit:
        return result
    given: dict[str, Any] = {"network": again, "weights": weights, "cluster": cluster}
    return _refit(result, graph, state, checkpoint=checkpoint, on_step=on_step, **given)


def _refit(
    result: Result,
    graph: Graph,
    state: State,
    *,
    checkpoint: Path | None,
    on_step: Callable[[Step], None] | None,
    **given: Any,
) -> Result:
    """Train once more, with the validation nodes as training nodes, up to the steps that they have chosen. Weights of
    towers, calibration and validation scores are those of the first training."""
    assert isinstance(state.selection, BestSteps)
    everything = graph.with_split(graph.train | graph.val, np.zeros(graph.nodes, bool), graph.test)
    second = fit(
        everything,
        replace(result.model.config, refit=False),
        result.seed,
        checkpoint=checkpoint and refit_checkpoint(checkpoint),
        selection=KnownSteps(state.selection),
        on_step=on_step and (lambda _: on_step(state.last_step())),  # for people, the first training counts
        **given,
    )
    network, first = second.model.network, result.model.network
    network.calibration.load_state_dict(network.calibration.complete(first.calibration.state_dict(), ""))
    if not state.selection.whole:
        network.classifier.load_state_dict(first.classifier.state_dict())
    card = replace(result.model.card, preparation=second.model.card.preparation)  # it saw more nodes, too
    model = Model(network, result.model.config, card)
    seconds = round(result.seconds + second.seconds, 3)
    return replace(result, model=model, test_scores=model.evaluate(graph, "test")["test"], seconds=seconds)


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


@contextmanager
def _randomness(generator: torch.Generator, seed: int, step: int, device: str) -> Iterator[None]:
    """Built-in layers draw from `generator`. Code of the user's own draws from torch's default generator: it is seeded
    for the step, so that a resumed run draws the same numbers, and restored afterwards."""
    with drawing_from(generator), torch.random.fork_rng(devices=[] if device == "cpu" else None):
        # torch.manual_seed also records a stack trace for GPUs, which takes a third of a millisecond
        seed_all = torch.default_generator.manual_seed if device == "cpu" else torch.manual_seed
        seed_all((seed + 2654435761 * (step + 1)) % 2**32)
        yield


@torch.no_grad()
def _validate(recipe: Recipe, state: State, inputs: Inputs) -> tuple[float, float]:
    """The validation loss and the score that selects; NaN without validation nodes."""
    if not len(inputs.labels):
        return math.nan, math.nan
    network, of_nodes = state.network.eval(), (inputs.labels, inputs.validation_weights)
    return recipe.validate(state.selection, state.step + 1, network, inputs.towers(), *of_nodes)


@torch.no_grad()
def _finish(recipe: Recipe, state: State, inputs: Inputs) -> dict[str, Any]:
    """Put the kept parameters back, and fit on the validation nodes what is left: weights and calibration. Returns what
    a :class:`Result` tells about the towers, and the scores of each half of the nodes by what the other half chose."""
    network, selection, labels = state.network.eval(), state.selection, inputs.labels
    selection.restore(network)
    if not len(labels):
        return {}
    # Weights say that the classes shall not count as often as they occur
    Z, priors = inputs.towers(), recipe.corrects_priors and inputs.validation_weights is None
    recipe.finish(network, Z, labels)
    found: dict[str, Any] = {
        "towers": tower_table(network, Z, labels, recipe.config.metric or metric_of(labels.ndim == 2))
    }
    if isinstance(selection, BestSteps):
        priors = priors and labels.ndim == 1
        calibrate(network, Z, labels, priors=priors)
        logits = held_out(selection, labels, priors=priors)
        if logits is not None:
            found["held_out_scores"] = scores(logits, labels.cpu())
            if labels.ndim == 1:
                network.calibration.conformal = conformal_scores(logits, labels)
    return found


def _check_metric(config: Config, labels: Tensor) -> None:
    """Raise an error for a metric that the validation nodes leave undefined."""
    ranks = config.metric in ("roc_auc", "average_precision") and labels.ndim == 1
    if ranks and len(labels) and len(labels.unique()) < 2:
        raise ConfigError(
            f"{config.metric} needs validation nodes of two classes, and these are of one; choose another metric, "
            "or another split."
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


def _ending(state: State, config: Config) -> tuple[str, ...]:
    """The status and the reason to stop, or nothing to go on."""
    if state.step >= config.steps:
        return "complete", f"All {config.steps} steps taken."
    reason = state.selection.stop(state.history)
    return ("early", reason) if reason else ()


def _divergence(state: State, step: tuple[float, float, float], config: Config, seed: int) -> tuple[str, ...]:
    """The status and the reason to stop if the losses of this step are not usable, or nothing."""
    first = state.history[0] if state.history else step
    losses = step[:1] if math.isnan(step[2]) else step[:2]  # a score is NaN only without validation nodes
    if all(abs(now) < DIVERGED * max(then, 1.0) for now, then in zip(losses, first, strict=False)):
        return ()
    what = " or ".join(f"{loss:.3g}" for loss in losses if not math.isfinite(loss)) or f"{max(losses):.3g}"
    happened = f"The loss became {what} at step {state.step + 1} (seed {seed}, lr {config.lr:g})"
    best = state.selection.step
    if not best:
        raise TrainingError(f"{happened}, so no step can be kept; try a smaller lr, or features: row.")
    return "diverged", f"{happened}; kept step {best}, the best before it. A smaller lr may help."

"""The training loop, top to bottom: seed, network, optimiser, steps, and the parameters that the selection keeps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngcn.config import Config
from ngcn.errors import ConfigError, TrainingError
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.nn import Network
from ngcn.ops import Features, Operator, Workspace, drawing_from
from ngcn.ops.threads import threads_as_before
from ngcn.registry import CUSTOM, RECIPES, load
from ngcn.scoring import metric_of, scores
from ngcn.training.adam import Adam
from ngcn.training.baseline import fit_baseline
from ngcn.training.batches import full_batches, split_of
from ngcn.training.checkpoint import Checkpoints, State
from ngcn.training.order import neighbours_close
from ngcn.training.recipe import Recipe
from ngcn.training.result import Result
from ngcn.training.selection import Step

ONE_THREAD = 50_000  # work per step below which a second thread gains nothing (benchmarks/busy.py)
DIVERGED = 1e3  # a loss this many times the first one does not recover


def fit(
    graph: Graph,
    config: Config,
    seed: int = 0,
    *,
    network: Network | None = None,
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train one seed, and return the model with the parameters of its best step.

    Args:
        graph: its training nodes teach, its validation nodes select, its test nodes are evaluated once. Without
            validation nodes the last step is kept.
        config: the settings.
        seed: draws the initial parameters and the dropout masks. The same seed gives the same bits.
        network: a network of your own, to be trained in place of the model that the config names.
        checkpoint: a file to continue from, if it exists, and to write checkpoints to.
        on_step: called after every step; an exception stops training after a last checkpoint.
    """
    if config.is_baseline:
        return fit_baseline(graph, config, seed)
    config = for_network(config, network)
    model, generator = _initial(Card.of(graph, config), config, seed, network)
    network = model.network.to(config.device)
    graph = neighbours_close(graph) if network.fused else graph  # pruned powers depend on the order of nodes
    recipe: Recipe = load(RECIPES[config.recipe].recipe)(config)
    recipe.check(network)
    A_hat, X = model.inputs(graph)
    val = split_of(graph, graph.val, config.device)
    optimizer = Adam(network, config.lr, recipe.l2)
    state = State(network, optimizer, generator, recipe.selection())
    checkpoints = Checkpoints(state, checkpoint)
    with threads_as_before(), Workspace():
        if work(graph, config) < ONE_THREAD:
            torch.set_num_threads(1)
        for batch in full_batches(graph, A_hat, X, config.device):
            if ending := _ending(state, config):
                break
            begun = time.monotonic()
            network.train()
            optimizer.zero_grad()
            with _randomness(generator, seed, state.step, config.device):
                loss = recipe.loss(network, batch)
            loss.backward()
            optimizer.step()
            step = loss.item(), *_validate(network, recipe, A_hat, X, *val)
            if ending := _divergence(state, step, config, seed):
                break
            state.record(step, time.monotonic() - begun)
            with checkpoints.after_step():
                if on_step:
                    on_step(state.last_step())
    network.cpu()  # where the trained model is used
    return _result(model, state, graph, seed, *ending)


def for_network(config: Config, network: Network | None) -> Config:
    """The config of a training with a network of the user's own: what it says about building one does not apply."""
    if network is None:
        return config
    not_built: dict[str, Any] = dict.fromkeys(("classifier", "hidden", "layers", "dropout"))
    return replace(config, model=CUSTOM, powers=network.powers, replicas=network.replicas, **not_built)


def work(graph: Graph, config: Config) -> int:
    """How much there is to do in a step, roughly: the non-zeros of Â and X, for every tower."""
    features = graph.features.nnz if hasattr(graph.features, "nnz") else int((graph.features != 0).sum())
    return config.towers * int(graph.adjacency.nnz + features)


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
        torch.manual_seed((seed + 2654435761 * (step + 1)) % 2**32)
        yield


@torch.no_grad()
def _validate(
    network: Network, recipe: Recipe, A_hat: Operator, X: Features, rows: Tensor, labels: Tensor
) -> tuple[float, float]:
    """The validation loss and the score that selects; NaN without validation nodes."""
    if not len(rows):
        return math.nan, math.nan
    logits = network.eval()(A_hat, X, rows)
    score = scores(logits, labels)[metric_of(labels.ndim == 2)]
    return recipe.validation_loss(network, logits, labels).item(), score


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


def _result(model: Model, state: State, graph: Graph, seed: int, status: str, stopped: str) -> Result:
    state.selection.restore(model.network)
    best_step, seconds = state.selection.step or state.step, round(state.seconds, 3)
    outcome = {"best_step": best_step, "steps": state.step, "seconds": seconds, "status": status, "stopped": stopped}
    return Result.of(model, graph, state.history, seed=seed, **outcome)

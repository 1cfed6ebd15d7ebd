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

from ngcn.config import Config
from ngcn.errors import ConfigError, TrainingError
from ngcn.graph import Graph
from ngcn.model import Card, Model
from ngcn.nn import Network
from ngcn.ops import Workspace, drawing_from
from ngcn.ops.threads import threads_as_before
from ngcn.registry import RECIPES, load
from ngcn.scoring import metric_of, scores
from ngcn.training.adam import Adam
from ngcn.training.baseline import fit_baseline
from ngcn.training.batches import full_batches, split_of
from ngcn.training.checkpoint import State
from ngcn.training.order import neighbours_close
from ngcn.training.recipe import Recipe
from ngcn.training.result import HISTORY, Result
from ngcn.training.selection import Step

CHECKPOINT_SECONDS = 5.0  # how much work a killed process may lose
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
    card, graph = Card.of(graph, config), neighbours_close(graph)
    model, generator = _initial(card, config, seed, network)
    network = model.network.to(config.device)
    recipe: Recipe = load(RECIPES[config.recipe].recipe)(config)
    recipe.check(network)
    A_hat, X = model.inputs(graph)
    val_rows, val_labels = split_of(graph, graph.val, config.device)
    optimizer = Adam(network, config.lr, recipe.l2)
    state = State(network, optimizer, generator, recipe.selection())
    if checkpoint and checkpoint.exists():
        state.load(checkpoint)
    status = stopped = ""
    saved = time.monotonic()
    with threads_as_before(), Workspace():
        if work(graph, config) < ONE_THREAD:
            torch.set_num_threads(1)
        for batch in full_batches(graph, A_hat, X, config.device):
            status, stopped = _ended(state, config)
            if status:
                break
            begun = time.monotonic()
            network.train()
            optimizer.zero_grad()
            with _randomness(generator, network):
                loss = recipe.loss(network, batch)
            loss.backward()
            optimizer.step()

            val_loss, val = math.nan, math.nan
            if len(val_rows):
                with torch.no_grad():
                    logits = network.eval()(A_hat, X, val_rows)
                    val_loss = recipe.validation_loss(network, logits, val_labels).item()
                val = scores(logits, val_labels)[metric_of(graph.multilabel)]
            step = (loss.item(), val_loss, val)
            if stopped := _diverged(state, step, config, seed):
                status = "diverged"
                break
            state.history.append(step)
            state.selection.update(state.history, network)
            state.seconds += time.monotonic() - begun

            try:
                if on_step:
                    on_step(state.last_step())
            except BaseException:  # stopped from outside, between two steps
                if checkpoint:
                    state.save(checkpoint)
                raise
            if checkpoint and time.monotonic() - saved > CHECKPOINT_SECONDS:
                state.save(checkpoint)
                saved = time.monotonic()
    return _result(model, state, graph, seed, status, stopped)


def for_network(config: Config, network: Network | None) -> Config:
    """The config of a training with a network of the user's own: what it says about building one does not apply."""
    if network is None:
        return config
    not_built: dict[str, Any] = dict.fromkeys(("classifier", "hidden", "layers", "dropout"))
    return replace(config, model="custom", powers=network.powers, replicas=network.replicas, **not_built)


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
def _randomness(generator: torch.Generator, network: Network) -> Iterator[None]:
    """All random numbers of a step come from `generator`. Layers of the user's own draw from torch's default generator,
    so that is seeded from `generator` for the step, and restored afterwards."""
    with drawing_from(generator):
        if network.fused:  # GCN, SAGE: these draw from `generator` directly
            yield
            return
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            yield


def _ended(state: State, config: Config) -> tuple[str, str]:
    """The status, and why training ends here; empty to go on."""
    if state.step >= config.steps:
        return "complete", f"All {config.steps} steps taken."
    stopped = state.selection.stop(state.history)
    return ("early", stopped) if stopped else ("", "")


def _diverged(state: State, step: tuple[float, float, float], config: Config, seed: int) -> str:
    """Why the last step is not counted, in a sentence; empty if its losses are fine."""
    first = state.history[0] if state.history else step
    losses = step[:1] if math.isnan(step[2]) else step[:2]  # a score is NaN only without validation nodes
    if all(abs(now) < DIVERGED * max(then, 1.0) for now, then in zip(losses, first, strict=False)):
        return ""
    what = " or ".join(f"{loss:.3g}" for loss in losses if not math.isfinite(loss)) or f"{max(losses):.3g}"
    happened = f"The loss became {what} at step {state.step + 1} (seed {seed}, lr {config.lr:g})"
    if not state.selection.step:
        raise TrainingError(f"{happened}, so no step can be kept; try a smaller lr, or features: row.")
    return f"{happened}; kept step {state.selection.step}, the best before it. A smaller lr may help."


def _result(model: Model, state: State, graph: Graph, seed: int, status: str, stopped: str) -> Result:
    state.selection.restore(model.network)
    weights = model.scale_weights()
    found = model.evaluate(graph, "val", "test")
    columns: list[list[float]] = [list(column) for column in zip(*state.history, strict=True)]
    return Result(
        seed=seed,
        metric=metric_of(graph.multilabel),
        val_scores=found["val"],
        test_scores=found["test"],
        best_step=state.selection.step or state.step,
        steps=state.step,
        seconds=round(state.seconds, 3),
        status=status,
        stopped=stopped,
        scale_weights=None if weights is None else list(weights.values()),
        history=dict(zip(HISTORY, columns, strict=True)),
        model=model,
    )

"""The training loop, top to bottom: set up, take steps, finish; and the second training of ``refit``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngcn.config import Config
from ngcn.engine import Cluster
from ngcn.errors import ConfigError, TrainingError
from ngcn.graph import Graph
from ngcn.model import Model
from ngcn.nn import Network
from ngcn.ops import drawing_from
from ngcn.ops.modes import own_modes
from ngcn.ops.threads import FasterThreads, threads_as_before
from ngcn.text import shown
from ngcn.training.baseline import fit_baseline
from ngcn.training.best_steps import BestSteps, KnownSteps
from ngcn.training.checkpoint import Checkpoints, State, refit_checkpoint
from ngcn.training.finish import finish
from ngcn.training.result import Result
from ngcn.training.selection import Selection, Step
from ngcn.training.setup import Training, set_up

OnStep = Callable[[Step], None]
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
    on_step: OnStep | None = None,
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
    again = deepcopy(network) if config.refit else None
    training = set_up(graph, config, seed, network=network, weights=weights, selection=selection, cluster=cluster)
    checkpoints = Checkpoints(training.state, checkpoint)
    ending = _take_steps(training, checkpoints, on_step)
    if config.refit:
        checkpoints.save()
    result = finish(training, ending)
    if not config.refit:
        return result
    given: dict[str, Any] = {"network": again, "weights": weights, "cluster": cluster}
    return _refit(result, graph, training.state, checkpoint=checkpoint, on_step=on_step, **given)


def _take_steps(training: Training, checkpoints: Checkpoints, on_step: OnStep | None) -> tuple[str, str]:
    """Train until there is a reason to stop; returns the status and the reason."""
    state, inputs = training.state, training.inputs
    with threads_as_before(), inputs.workspace():
        threads = FasterThreads(torch.get_num_threads())
        batches = (training.spread or inputs).batches(state.step)
        while not (ending := _ending(state, training.config)):
            batch = next(batches)
            begun = time.monotonic()
            loss = _descend(training, batch)
            validated = inputs.validates(state.step + 1)
            step = loss, *(_validate(training) if validated else state.history[-1][1:])
            if ending := _divergence(training, step):
                break
            seconds = time.monotonic() - begun
            state.record(step, seconds, validated)
            if validated == (inputs.every == 1):  # steps of one kind
                threads.after_step(seconds)
            with checkpoints.after_step():
                if on_step:
                    on_step(state.last_step())
    return ending


def _descend(training: Training, batch: Any) -> float:
    """Take a step of the optimiser; returns the loss before it."""
    state = training.state
    state.network.train()
    state.optimizer.zero_grad()
    with _randomness(state, training.seed):
        loss = (training.spread or training.recipe).loss(state.network, batch)
    loss.backward()
    state.optimizer.step()
    return loss.item()


@contextmanager
def _randomness(state: State, seed: int) -> Iterator[None]:
    """Built-in layers draw from the generator of the state. Code of the user's own draws from torch's default
    generator: it is seeded for the step, so that a resumed run draws the same numbers, and restored afterwards."""
    on_cpu = state.network.device.type == "cpu"
    with drawing_from(state.generator), torch.random.fork_rng(devices=[] if on_cpu else None):
        # torch.manual_seed also records a stack trace for GPUs, which takes a third of a millisecond
        seed_all = torch.default_generator.manual_seed if on_cpu else torch.manual_seed
        seed_all((seed + 2654435761 * (state.step + 1)) % 2**32)
        yield


@torch.no_grad()
def _validate(training: Training) -> tuple[float, float]:
    """The validation loss and the score that selects; NaN without validation nodes."""
    state, inputs = training.state, training.inputs
    if not len(inputs.labels):
        return math.nan, math.nan
    network, of_nodes = state.network.eval(), (inputs.labels, inputs.validation_weights)
    return training.recipe.validate(state.selection, state.step + 1, network, inputs.towers(), *of_nodes)


def _ending(state: State, config: Config) -> tuple[str, str] | None:
    """The status and the reason to stop; None to go on."""
    if state.step >= config.steps:
        return "complete", f"All {config.steps} steps taken."
    reason = state.selection.stop(state.history)
    return ("early", reason) if reason else None


def _divergence(training: Training, step: tuple[float, float, float]) -> tuple[str, str] | None:
    """The status and the reason to stop if the losses of this step are not usable, or None."""
    state, config, seed = training.state, training.config, training.seed
    first = state.history[0] if state.history else step
    losses = step[:2] if len(training.inputs.labels) else step[:1]  # without validation nodes, theirs is NaN
    if all(abs(now) < DIVERGED * max(then, 1.0) for now, then in zip(losses, first, strict=False)):
        return None
    what = " or ".join(f"{loss:.3g}" for loss in losses if not math.isfinite(loss)) or f"{max(losses):.3g}"
    happened = f"The loss became {what} at step {state.step + 1} (seed {seed}, lr {config.lr:g})"
    best = state.selection.step
    if not best:
        raise TrainingError(f"{happened}, so no step can be kept; try a smaller lr, or features: row.")
    return "diverged", f"{happened}; kept step {best}, the best before it. A smaller lr may help."


def _refit(
    result: Result,
    graph: Graph,
    state: State,
    *,
    checkpoint: Path | None,
    on_step: OnStep | None,
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

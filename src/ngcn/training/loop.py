"""The training loop, top to bottom: seed, network, Adam, steps, and the parameters at peak validation score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ngcn.baselines import BASELINES
from ngcn.graph import Graph, GraphError
from ngcn.nn import Network
from ngcn.ops import Features, Operator
from ngcn.training.baseline import check_baseline, fit_baseline
from ngcn.training.checkpoint import State
from ngcn.training.config import Config
from ngcn.training.metrics import metric, scores
from ngcn.training.objective import loss, objective
from ngcn.training.run import HISTORY, Result, Run, write_seed
from ngcn.training.setup import build, build_inputs, neighbours_close
from ngcn.training.signals import graceful

CHECKPOINT_SECONDS = 5.0  # how much work a killed process may lose
DIVERGED = 1e3  # a loss this many times the first one does not come back


class Step(NamedTuple):
    """What is known after a step."""

    step: int
    loss: float
    val_loss: float
    val: float
    best_step: int
    best_val: float


class TrainingError(ValueError):
    """Training that came to nothing; the message says why."""


def train(
    graph: Graph,
    config: Config | None = None,
    *,
    folder: Path | str | None = None,
    resume: bool = False,
    seed: int | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train one initialisation and return it with the parameters of its best validation step.

    Args:
        graph: the graph; its training nodes teach, its validation nodes select, its test nodes are looked at once.
        config: the settings; those of the data are not read, since the graph is given, but ``features`` is.
        folder: where to keep the run: config, weights, metrics per step, result. Nothing is written without it.
        resume: continue the run in ``folder``, if there is one.
        seed: the initialisation, ``config.seed`` if not given. The same seed gives the same bits.
        on_step: called after every step; it may stop training by raising.

    Example:
        >>> from ngcn.data import load_dataset
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=5))
        >>> len(result.history["val"]), 1 <= result.best_step <= 5
        (5, True)
    """
    config = config or Config()
    config = replace(config, dataset=graph.name, seed=config.seed if seed is None else seed, seeds=1)
    if folder is None:
        _check_splits(graph)
        return fit(graph, config, config.seed, on_step=on_step)
    rehearse(graph, config)
    run = Run.start(folder, config, graph, resume)
    if not run.finished(config.seed):
        with run.kept_if_useful(), graceful(run.folder) as signals:

            def step_done(step: Step) -> None:
                if on_step:
                    on_step(step)
                signals.check()

            fit(graph, config, config.seed, folder=run.seed_folder(config.seed), on_step=step_done)
    run.finish()
    return run.result(graph, config.seed)


def fit(
    graph: Graph,
    config: Config,
    seed: int,
    *,
    folder: Path | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train the initialisation ``seed``, from the checkpoint in its ``folder`` if there is one, and write it there.

    Without validation nodes there is nothing to choose a step by: the last one is kept, and ``val`` is nan throughout.
    """
    if config.model in BASELINES:
        return fit_baseline(graph, config, seed, folder)
    graph = neighbours_close(graph)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        A_hat, X = build_inputs(graph, config)
        network = build(graph, config)
        state = State(network, adam(network, config))
        checkpoint = folder / "checkpoint.safetensors" if folder else None
        if checkpoint and checkpoint.exists():
            state.load(checkpoint)

        train_rows, train_labels = _split(graph, "train")
        val_rows, val_labels = _split(graph, "val")
        status, stopped = "complete", f"All {config.steps} steps taken."
        started = written = time.monotonic()
        before = state.seconds
        while state.step < config.steps:
            if config.patience and state.best and state.step - state.best_step >= config.patience:
                status = "early"
                stopped = f"Stopped early at step {state.step}: no better validation score in {config.patience} steps."
                break

            network.train()
            state.optimizer.zero_grad()
            train_loss = objective(network, A_hat, X, train_rows, train_labels, config.intermediate)
            train_loss.backward()
            state.optimizer.step()

            losses, val = (train_loss.item(), math.nan), math.nan
            if len(val_rows):
                network.eval()
                with torch.no_grad():
                    logits = network(A_hat, X, val_rows)
                losses = losses[0], loss(logits, val_labels).item()
                val = scores(logits, val_labels)[metric(graph)]

            first = state.history[0] if state.history else losses
            known = losses if len(val_rows) else losses[:1]
            if not all(abs(now) < DIVERGED * max(then, 1.0) for now, then in zip(known, first, strict=False)):
                status = "diverged"
                stopped = _diverged(state, known, config, seed)
                break
            state.history.append((*losses, val))
            state.keep_if_best(val)
            state.seconds = before + time.monotonic() - started
            try:
                if on_step:
                    on_step(Step(state.step, *losses, val, state.best_step, state.best_val))
            except BaseException:  # stopped from outside, between two steps
                if checkpoint:
                    state.save(checkpoint)
                raise
            if checkpoint and time.monotonic() - written > CHECKPOINT_SECONDS:
                state.save(checkpoint)
                written = time.monotonic()

    if state.best:
        network.load_state_dict(state.best)
    network.eval()
    weights = network.scale_weights()
    result = Result(
        seed=seed,
        metric=metric(graph),
        val_scores=evaluate(network, A_hat, X, graph, "val"),
        test_scores=evaluate(network, A_hat, X, graph, "test"),
        best_step=state.best_step or state.step,
        steps=state.step,
        seconds=round(state.seconds, 3),
        status=status,
        stopped=stopped,
        scale_weights=None if weights is None else [weights[k] for k in config.powers],
        history=dict(zip(HISTORY, (list(column) for column in zip(*state.history, strict=True)), strict=True)),
        network=network,
    )
    if folder:
        write_seed(folder, result)
    return result


def rehearse(graph: Graph, config: Config) -> None:
    """A step that leaves no trace: finds settings that do not work before anything is written, compiles the kernels."""
    _check_splits(graph)
    if config.model in BASELINES:
        check_baseline(graph, config)
        return
    with torch.random.fork_rng(devices=[]):
        A_hat, X = build_inputs(graph, config)
        network = build(graph, config)
        objective(network, A_hat, X, *_split(graph, "train"), config.intermediate).backward()
        evaluate(network, A_hat, X, graph, "val")


def adam(network: Network, config: Config) -> torch.optim.Adam:
    """Adam, with ``l2 * sum of squares`` in the loss, but not of the attention vector: softmax ignores its size."""
    attention = [p for name, p in network.named_parameters() if name == "classifier.scores"]
    rest = [p for p in network.parameters() if all(p is not a for a in attention)]
    groups = [{"params": rest, "weight_decay": 2 * config.l2}, {"params": attention, "weight_decay": 0.0}]
    return torch.optim.Adam([g for g in groups if g["params"]], lr=config.lr, fused=True)


def evaluate(network: Network, A_hat: Operator, X: Features, graph: Graph, split: str) -> dict[str, float]:
    """The scores of a trained network on the nodes of a split; empty if it has none."""
    rows, labels = _split(graph, split)
    if not len(rows):
        return {}
    network.eval()
    with torch.no_grad():
        return scores(network(A_hat, X, rows), labels)


def _check_splits(graph: Graph) -> None:
    for split in ("train", "val"):
        if not getattr(graph, split).any():
            raise GraphError(f"The graph {graph.name!r} has no {split} nodes; training needs some to learn and select.")


def _split(graph: Graph, split: str) -> tuple[Tensor, Tensor]:
    mask = getattr(graph, split)
    return torch.from_numpy(mask.nonzero()[0]), torch.from_numpy(graph.labels[mask])


def _diverged(state: State, losses: tuple[float, ...], config: Config, seed: int) -> str:
    what = " or ".join(f"{value:.3g}" for value in losses if not math.isfinite(value)) or f"{max(losses):.3g}"
    happened = f"The loss became {what} at step {state.step + 1} (seed {seed}, lr {config.lr:g})"
    if not state.best:
        raise TrainingError(f"{happened}, so no step can be kept; try a smaller lr, or features: row.")
    return f"{happened}; kept step {state.best_step}, the best before it. A smaller lr may help."

"""The training loop, top to bottom: seed, network, Adam, steps, and the parameters at peak validation score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ngcn.baselines import BASELINES
from ngcn.graph import Graph, GraphError
from ngcn.nn import Network, towers_side_by_side
from ngcn.ops import Features, Operator, drawing_from
from ngcn.ops.threads import threads_as_before
from ngcn.training.adam import Adam
from ngcn.training.baseline import check_baseline, fit_baseline
from ngcn.training.checkpoint import State
from ngcn.training.config import Config, ConfigError
from ngcn.training.metrics import metric, scores
from ngcn.training.objective import loss, objective
from ngcn.training.run import HISTORY, Result, Run, write_seed
from ngcn.training.setup import build, build_inputs, neighbours_close, work
from ngcn.training.signals import graceful

CHECKPOINT_SECONDS = 5.0  # how much work a killed process may lose
ONE_THREAD = 50_000  # work in a step, below which threads gain nothing, and lose beside others (benchmarks/busy.py)
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
    if config.seeds > 1 and seed is None:
        raise ConfigError(f"train() trains one seed, not {config.seeds}; train_seeds(graph, config) trains them all.")
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

    Without validation nodes there is nothing to choose a step by: the last one is kept, and ``val`` is nan throughout,
    which a folder cannot hold.
    """
    return fit_together(graph, config, {seed: folder}, on_step and (lambda _, step: on_step(step)))[0]


def fit_together(
    graph: Graph,
    config: Config,
    seeds: Mapping[int, Path | None],
    on_step: Callable[[int, Step], None] | None = None,
) -> list[Result]:
    """Train several initialisations at once, their towers side by side; each comes out as if it were alone.

    Args:
        seeds: the initialisations, and the folder of each as in :func:`fit`.
        on_step: called with the seed after every step of it.
    """
    if config.model in BASELINES:
        return [fit_baseline(graph, config, seed, folder) for seed, folder in seeds.items()]
    graph = neighbours_close(graph)
    A_hat, X = build_inputs(graph, config)
    train, val = _split(graph, "train"), _split(graph, "val")
    trainings = [Training(graph, config, seed, folder) for seed, folder in seeds.items()]
    written = time.monotonic()
    with threads_as_before():
        if work(graph, config) < ONE_THREAD:
            torch.set_num_threads(1)
        while going := [training for training in trainings if not training.ended()]:
            begun = time.monotonic()
            losses = _descend(going, A_hat, X, *train)
            checks = _validate(going, A_hat, X, *val, metric(graph)) if len(val[0]) else [None] * len(going)
            seconds = (time.monotonic() - begun) / len(going)
            for training, loss_, check in zip(going, losses, checks, strict=True):
                training.record(loss_, check, seconds)
            try:
                for training in going:
                    if on_step and not training.status:
                        on_step(training.seed, training.last_step())
            except BaseException:  # stopped from outside, between two steps
                _save(going)
                raise
            if time.monotonic() - written > CHECKPOINT_SECONDS:
                _save(going)
                written = time.monotonic()
    return [training.result(A_hat, X, graph) for training in trainings]


class Training:
    """One initialisation on its way; ``status`` and ``stopped`` are empty until it has ended."""

    def __init__(self, graph: Graph, config: Config, seed: int, folder: Path | None) -> None:
        self.config, self.seed, self.folder = config, seed, folder
        self.status = self.stopped = ""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = build(graph, config)
            generator = torch.Generator().set_state(torch.get_rng_state())  # goes on where the weights end
        self.state = State(self.network, Adam(self.network, config.lr, config.l2), generator)
        self.checkpoint = folder / "checkpoint.safetensors" if folder else None
        if self.checkpoint and self.checkpoint.exists():
            self.state.load(self.checkpoint)

    def ended(self) -> bool:
        state, patience = self.state, self.config.patience
        if self.status:
            return True
        if state.step >= self.config.steps:
            self.status, self.stopped = "complete", f"All {self.config.steps} steps taken."
        elif patience and state.best and state.step - state.best_step >= patience:
            self.status = "early"
            self.stopped = f"Stopped early at step {state.step}: no better validation score in {patience} steps."
        return bool(self.status)

    def record(self, train_loss: float, check: tuple[float, float] | None, seconds: float) -> None:
        """What a step brought: the loss, the validation loss and score if there are validation nodes, its time."""
        state, (val_loss, val) = self.state, check or (math.nan, math.nan)
        first = state.history[0] if state.history else (train_loss, val_loss)
        known = (train_loss, val_loss) if check else (train_loss,)
        if not all(abs(now) < DIVERGED * max(then, 1.0) for now, then in zip(known, first, strict=False)):
            self.status, self.stopped = "diverged", _diverged(state, known, self.config, self.seed)
            return
        state.history.append((train_loss, val_loss, val))
        state.keep_if_best(val)
        state.seconds += seconds

    def last_step(self) -> Step:
        state = self.state
        return Step(state.step, *state.history[-1], state.best_step, state.best_val)

    def result(self, A_hat: Operator, X: Features, graph: Graph) -> Result:
        """The parameters of the best step and their scores; also written to the folder, if there is one."""
        network, state = self.network, self.state
        if state.best:
            network.load_state_dict(state.best)
        weights = network.scale_weights()
        result = Result(
            seed=self.seed,
            metric=metric(graph),
            val_scores=evaluate(network, A_hat, X, graph, "val"),
            test_scores=evaluate(network, A_hat, X, graph, "test"),
            best_step=state.best_step or state.step,
            steps=state.step,
            seconds=round(state.seconds, 3),
            status=self.status,
            stopped=self.stopped,
            scale_weights=None if weights is None else [weights[k] for k in self.config.powers],
            history=dict(zip(HISTORY, (list(column) for column in zip(*state.history, strict=True)), strict=True)),
            network=network.eval(),
        )
        if self.folder:
            write_seed(self.folder, result)
        return result


def _descend(trainings: list[Training], A_hat: Operator, X: Features, rows: Tensor, labels: Tensor) -> list[float]:
    """A step of every training; returns their losses."""
    for training in trainings:
        training.network.train()
        training.state.optimizer.zero_grad()
    losses = []
    for training in trainings:
        with drawing_from(training.state.generator):
            Z = training.network.towers(A_hat, X, rows)
            losses.append(objective(training.network.classifier, Z, labels, training.config.intermediate))
    torch.autograd.backward(losses)
    for training in trainings:
        training.state.optimizer.step()
    return [loss_.item() for loss_ in losses]


@torch.no_grad()
def _validate(
    trainings: list[Training], A_hat: Operator, X: Features, rows: Tensor, labels: Tensor, name: str
) -> list[tuple[float, float]]:
    """The loss and the score called ``name`` of every training."""
    networks = [training.network.eval() for training in trainings]
    towers = towers_side_by_side(networks, A_hat, X, rows)
    logits = [network.classifier(Z) for network, Z in zip(networks, towers, strict=True)]
    return [(loss(of_one, labels).item(), scores(of_one, labels)[name]) for of_one in logits]


def _save(trainings: list[Training]) -> None:
    for training in trainings:
        if training.checkpoint and not training.status:
            training.state.save(training.checkpoint)


def rehearse(graph: Graph, config: Config) -> None:
    """A step that leaves no trace: finds settings that do not work before anything is written, compiles the kernels."""
    _check_splits(graph)
    if config.model in BASELINES:
        check_baseline(graph, config)
        return
    with torch.random.fork_rng(devices=[]):
        A_hat, X = build_inputs(graph, config)
        network = build(graph, config)
        rows, labels = _split(graph, "train")
        objective(network.classifier, network.towers(A_hat, X, rows), labels, config.intermediate).backward()
        evaluate(network, A_hat, X, graph, "val")


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

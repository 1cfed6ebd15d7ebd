"""Training into run folders: `train` trains one seed, `train_seeds` all seeds of a config, on all cores or machines."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngcn import checks, registry
from ngcn.config import Config, need_config
from ngcn.data.parts import log
from ngcn.engine import Cluster, Executor, Local, Processes, Ray
from ngcn.errors import ConfigError, EngineError, GraphError, RunError
from ngcn.graph import Graph, StoredGraph, need_graph
from ngcn.model import choose_batch
from ngcn.nn import Network
from ngcn.ops.threads import threads_as_before
from ngcn.runs.board import Board
from ngcn.runs.logs import check_log, logging_to
from ngcn.runs.run import Run, default_folder
from ngcn.runs.signals import Interrupted
from ngcn.text import shown
from ngcn.training import Result, Step, fit, for_network, majority, reference_scores, warning_of
from ngcn.training.references import Scores


def train(
    graph: Graph,
    config: Config | None = None,
    *,
    network: Network | None = None,
    folder: Path | str | None = None,
    resume: bool = False,
    seed: int | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train one seed, and return the model with the parameters of its best validation step.

    Args:
        graph: its training nodes teach, its validation nodes select, its test nodes are evaluated once.
        config: the settings. Those of the data (``label``, ``ignore``, ...) do not change the given graph, but the run
            folder stores them, and :meth:`Run.graph` reads the graph again with them.
        network: a network of your own, to be trained in place of the model that the config names.
        folder: the run folder: settings, weights, metrics per step, scores. Nothing is written without it.
        resume: continue the run in ``folder``, if there is one.
        seed: the seed; ``config.seed`` if None. The same seed gives the same bits.
        on_step: called after every step; it may stop training by raising an exception.

    Example:
        >>> from ngcn import load_dataset
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=5))
        >>> len(result.history["val"]), 1 <= result.best_step <= 5
        (5, True)
    """
    need_graph(graph)
    config = need_config(Config() if config is None else config)
    if resume and folder is None:
        raise ConfigError("resume=True continues the run in a folder; pass its `folder`.")
    if config.seeds > 1 and seed is None:
        raise ConfigError(f"train() trains one seed, not {config.seeds}; train_seeds(graph, config) trains them all.")
    seed = config.seed if seed is None else seed
    config = for_network(replace(config, dataset=graph.source or graph.name, seed=seed, seeds=1), network)
    _check_splits(graph)
    if folder is None:
        result = fit(graph, config, seed, network=network, on_step=on_step)
        _warn(result.val_scores, result.metric, {"majority": majority(graph)}, graph)
        return result
    run = Run.start(folder, config, graph, resume, network)
    if run.finished(seed):
        return run.result(seed)
    with run.training() as signals:

        def step_done(step: Step) -> None:
            if on_step:
                on_step(step)
            signals.check()

        result = fit(graph, run.config, seed, network=network, checkpoint=run.checkpoint(seed), on_step=step_done)
        run.write_seed(result)
    return result


def train_seeds(
    graph: Graph,
    config: Config,
    folder: Path | str | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    engine: Ray | None = None,
    log: str | None = None,
    on_progress: Callable[[np.ndarray], None] | None = None,
) -> Run:
    """Train all seeds of ``config`` into a run folder. Finished seeds are skipped, unfinished ones are continued.

    Args:
        folder: the run folder; ``runs/<name of the run>`` if None.
        resume: continue the run in ``folder``.
        threads: the number of cores; all if None. One seed uses all of them, several seeds use one core each.
        engine: a Ray cluster whose machines train the seeds, each on one core; this machine if None. Seeds on sampled
            batches are trained one after the other, each by all machines.
        log: ``tensorboard`` or ``csv`` writes losses and scores of every step to a folder in the run folder;
            ``mlflow`` to runs of MLflow, where ``MLFLOW_TRACKING_URI`` says.
        on_progress: called several times a second with a row per seed: step, best step, its validation score.

    Example:
        >>> import tempfile
        >>> from ngcn import load_dataset
        >>> run = train_seeds(load_dataset("cora"), Config(model="gcn", steps=2), tempfile.mkdtemp() + "/run")
        >>> run.seeds, run.best_seed, sorted(run.references)
        (range(0, 1), 0, ['majority', 'propagation', 'regression'])
    """
    need_graph(graph)
    need_config(config)
    check_log(log, config)
    _check_splits(graph)
    threads = None if threads is None else checks.whole(1)("threads", threads)
    _check_engine(engine, threads)
    if config.seeds > 1 and not config.is_baseline and choose_batch(graph, config).batch == "full":
        # One step here first: it finds settings that do not work, and compiles the kernels once for all processes
        fit(graph, replace(config, steps=1), config.seed)
    run = Run.start(folder or default_folder(config, resume), config, graph, resume)
    with run.training() as signals, threads_as_before(), Board(run).opened() as board:
        with board.watched(signals, on_progress):
            if engine and run.config.batch == "sampled":
                with engine.connected(*_folders(run, graph), poll=signals.check) as cluster:
                    _train_all(graph, run, board, Local(), log, cluster)
            else:
                with _executor(graph, run, threads, engine) as executor:
                    _train_all(graph, run, board, executor, log)
        signals.check()
        if not run.references:  # else they were computed before an interruption
            run.write_references(reference_scores(graph, run.card.preparation))
    best = run.scores(run.best_seed)
    _warn(best["val_scores"], best["metric"], run.references, graph)
    return run


def _warn(val: dict[str, float], metric: str, references: dict[str, Scores], graph: Graph) -> None:
    if warning := warning_of(val, metric, references, int(graph.val.sum())):
        log.warning(warning)


def _check_splits(graph: Graph) -> None:
    for split in ("train", "val"):
        if not getattr(graph, split).any():
            raise GraphError(f"The graph {graph.name!r} has no {split} nodes; training needs some to learn and select.")


def _check_engine(engine: Ray | None, threads: int | None) -> None:
    if engine is None:
        return
    if not isinstance(engine, Ray):
        raise ConfigError(f"engine must be a Ray, such as Ray(workers=2), or None, not {shown(engine)}.")
    if threads:
        raise ConfigError("`threads` are those of this machine; on a cluster, `workers` is the number of processes.")
    engine.check()


def _executor(graph: Graph, run: Run, threads: int | None, engine: Ray | None) -> AbstractContextManager[Executor]:
    """What trains the seeds: one by itself on all threads, several on one each."""
    unfinished = sum(not run.finished(seed) for seed in run.seeds)
    if engine and unfinished:
        return engine.connected(*_folders(run, graph), threads=1 if run.config.seeds > 1 else None)
    cores = len(os.sched_getaffinity(0))  # more threads than these make nothing faster, and too many end the process
    one_by_one = run.config.seeds == 1 or run.config.batch == "sampled"  # which uses all memory that it may
    workers = 1 if one_by_one else min(threads or cores, cores, run.config.seeds)
    if workers > 1:
        return nullcontext(Processes(workers))
    torch.set_num_threads(min(threads or torch.get_num_threads(), cores) if one_by_one else 1)
    return nullcontext(Local())


def _folders(run: Run, graph: Graph) -> list[Path]:
    """Those that all machines must see."""
    return [run.folder, graph.folder] if isinstance(graph, StoredGraph) else [run.folder]


def _train_all(
    graph: Graph, run: Run, board: Board, executor: Executor, log: str | None, cluster: Cluster | None = None
) -> None:
    entries = registry.entries(run.config.model, run.config.classifier, run.config.recipe)
    given = run if isinstance(executor, Local) else Run(run.folder.absolute(), run.config)  # for another process
    train_one = partial(_train_seed, graph, given, board, log, entries, cluster)
    try:
        for _ in executor.run([partial(train_one, seed) for seed in run.seeds if not run.finished(seed)]):
            pass
    except EngineError as error:
        raise RunError(f"{error} Continue with `resume=True`, and with fewer processes if memory is short.") from None
    finally:
        board.stop()  # after an error in one seed the others stop too


def _train_seed(
    graph: Graph,
    run: Run,
    board: Board,
    log: str | None,
    entries: registry.Entries,
    cluster: Cluster | None,
    seed: int,
) -> None:
    """Train a seed, perhaps in another process, unless it is finished. Stops when the board says so."""
    registry.add(entries)

    def on_step(step: Step) -> None:
        board.write(seed, (step.step, step.best_step, step.best_val))
        write(step)
        if board.stopped():
            raise Interrupted

    if run.finished(seed) or board.stopped():
        return
    with suppress(Interrupted), logging_to(log, run, seed) as write:
        how: dict[str, Any] = {"checkpoint": run.checkpoint(seed), "cluster": cluster}
        result = fit(graph, run.config, seed, **how, on_step=on_step)
        run.write_seed(result)
        board.write(seed, (run.config.progress_steps, result.best_step, result.val))

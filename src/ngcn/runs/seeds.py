"""Training into run folders: `train` trains one seed, `train_seeds` all seeds of a config, spread over the cores."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ngcn import checks, registry
from ngcn.config import Config, need_config
from ngcn.data.parts import log
from ngcn.errors import ConfigError, GraphError, RunError
from ngcn.graph import Graph, need_graph
from ngcn.nn import Network
from ngcn.ops.threads import threads_as_before
from ngcn.runs.logs import check_log, logging_to
from ngcn.runs.run import Run, default_folder
from ngcn.runs.signals import Interrupted, Signals, deaf_to_signals
from ngcn.training import Result, Step, fit, for_network, majority, regression, warning_of
from ngcn.training.references import Scores

POLL_SECONDS = 0.1
# A row per seed: step, best step, best validation score; and a last row, which is set to stop all processes. In a file
# that they map into memory: joblib does that with a memmap.
Board = np.memmap


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

        result = fit(graph, config, seed, network=network, checkpoint=run.checkpoint(seed), on_step=step_done)
        run.write_seed(result)
    return result


def train_seeds(
    graph: Graph,
    config: Config,
    folder: Path | str | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    log: str | None = None,
    on_progress: Callable[[np.ndarray], None] | None = None,
) -> Run:
    """Train all seeds of ``config`` into a run folder. Finished seeds are skipped, unfinished ones are continued.

    Args:
        folder: the run folder; ``runs/<name of the run>`` if None.
        resume: continue the run in ``folder``.
        threads: the number of cores; all if None. One seed uses all of them, several seeds use one core each.
        log: ``tensorboard`` writes losses and scores of every step to the folder tensorboard in the run folder.
        on_progress: called several times a second with a row per seed: step, best step, its validation score.
    """
    need_graph(graph)
    need_config(config)
    check_log(log, config)
    _check_splits(graph)
    if config.seeds > 1 and not config.is_baseline:
        # One step here first: it finds settings that do not work, and compiles the kernels once for all processes
        fit(graph, replace(config, steps=1), config.seed)
    cores = len(os.sched_getaffinity(0))  # more threads than these make nothing faster, and too many end the process
    threads = None if threads is None else checks.whole(1)("threads", threads)
    workers = min(threads or cores, cores, config.seeds)
    run = Run.start(folder or default_folder(config, resume), config, graph, resume)
    with run.training() as signals, tempfile.TemporaryDirectory(prefix="ngcn-") as scratch, threads_as_before():
        with (Path(scratch) / "board").open("wb") as file:  # on a full disk, an error here and not a signal later
            os.posix_fallocate(file.fileno(), 0, (config.seeds + 1) * 3 * 8)
        board: Board = np.memmap(Path(scratch) / "board", np.float64, "r+", shape=(config.seeds + 1, 3))
        for row, seed in enumerate(run.seeds):
            if run.finished(seed):
                board[row] = config.progress_steps, run.scores(seed)["best_step"], run.scores(seed)["val"]
        with _watch(board, signals, on_progress):
            if workers > 1:
                _train_in_processes(graph, run, board, workers, log)
            else:
                torch.set_num_threads(min(threads or torch.get_num_threads(), cores) if config.seeds == 1 else 1)
                for seed in run.seeds:
                    _train_seed(graph, run, seed, board, log)
        signals.check()
        if not run.references:  # else they were computed before an interruption
            references = {"majority": majority(graph)}
            if (features_alone := regression(graph, run.card.preparation)) is not None:
                references["regression"] = features_alone
            run.write_references(references)
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


def _train_seed(graph: Graph, run: Run, seed: int, board: Board, log: str | None, parent: int | None = None) -> None:
    """Train a seed, unless it is finished. Stops when the board says so, and when the ``parent`` of a worker ends."""
    row = seed - run.seeds[0]

    def stopped() -> bool:
        return board[-1].any() or (parent is not None and os.getppid() != parent)

    def on_step(step: Step) -> None:
        board[row] = step.step, step.best_step, step.best_val
        write(step)
        if stopped():
            raise Interrupted

    if run.finished(seed) or stopped():
        return
    with suppress(Interrupted), logging_to(log, run, seed) as write:
        run.write_seed(fit(graph, run.config, seed, checkpoint=run.checkpoint(seed), on_step=on_step))
        board[row, 0] = run.config.progress_steps


def _train_in_processes(graph: Graph, run: Run, board: Board, workers: int, log: str | None) -> None:
    unfinished = [seed for seed in run.seeds if not run.finished(seed)]
    run = Run(run.folder.absolute(), run.config)  # workers of an earlier call may have another working directory
    entries = registry.entries(run.config.model, run.config.classifier, run.config.recipe)
    with deaf_to_signals(), parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
        # The graph is mapped into memory, not copied. Mode "c": to the kernels, a read-only array is another type.
        parallel = Parallel(return_as="generator_unordered", batch_size=1, mmap_mode="c")
        finished = parallel(delayed(_work)(graph, run, seed, board, log, os.getpid(), entries) for seed in unfinished)
    try:
        for _ in finished:
            pass
    except TerminatedWorkerError:
        raise RunError(
            "A training process ended unexpectedly, perhaps out of memory; continue with `resume=True` and fewer "
            "`threads`."
        ) from None
    finally:
        board[-1] = 1  # after an error in one seed the others stop too


def _work(
    graph: Graph, run: Run, seed: int, board: Board, log: str | None, parent: int, entries: registry.Entries
) -> None:
    """Train a seed in a worker process."""
    registry.add(entries)
    if not gc.get_freeze_count():
        gc.freeze()  # once per process, as in __main__.py: else its end takes a second
    torch.set_num_threads(1)
    _train_seed(graph, run, seed, board, log, parent)
    if os.getppid() != parent:  # it was killed
        os._exit(1)


@contextmanager
def _watch(board: Board, signals: Signals, on_progress: Callable[[np.ndarray], None] | None) -> Iterator[None]:
    """Meanwhile, in a thread: report the board, and stop training after a signal.

    An exception of ``on_progress`` stops it too, and is raised here.
    """
    over = threading.Event()

    def watch() -> None:
        try:
            ended = False
            while not ended:
                ended = over.wait(POLL_SECONDS)
                if signals.signum is not None:
                    board[-1] = 1
                if on_progress:
                    on_progress(board[:-1])
        except Exception:
            board[-1] = 1
            raise

    with ThreadPoolExecutor(1) as thread:
        watching = thread.submit(watch)
        try:
            yield
        finally:
            over.set()
            watching.result()

"""Many initialisations, spread over the cores: a process and a thread for each core, one progress board for all."""

from __future__ import annotations

import gc
import math
import multiprocessing.resource_tracker
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals import loky

from ngcn.graph import Graph
from ngcn.ops.threads import threads_as_before
from ngcn.training.checkpoint import RunError
from ngcn.training.config import Config
from ngcn.training.loop import Step, fit, fit_together, rehearse
from ngcn.training.run import Run, default_folder
from ngcn.training.setup import work
from ngcn.training.signals import Interrupted, Signals, graceful

POLL_SECONDS = 0.1
_SIDE_BY_SIDE = ("ngcn", "nsage", "gcn", "sage", "dcnn", "mlp")  # models of which several fit into one call of a kernel
_SMALL, _MOST_TOGETHER = 300_000, 10  # measured by benchmarks/batching.py


class Board:
    """How far each seed is: step, best step, best validation score. A file that all processes have mapped."""

    def __init__(self, path: Path, seeds: int, mode: Literal["r+", "w+"] = "r+") -> None:
        self.path = path
        cells = np.memmap(path, np.float64, mode, shape=(seeds + 1, 3))
        self.seeds, self.stop = cells[:-1], cells[-1]  # the last row is not 0 when all are to stop


def train_seeds(
    graph: Graph,
    config: Config,
    folder: Path | str | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    on_progress: Callable[[np.ndarray], None] | None = None,
) -> Run:
    """Train all seeds of ``config`` into a run folder. Seeds that are done are skipped, half-done ones go on.

    Args:
        folder: the run folder; ``runs/<name of the run>`` if not given.
        resume: continue the run in ``folder`` instead of making one.
        threads: cores to use, all if not given. One seed takes all of them; several take one core each, and where a
            network is small, one core trains several of them side by side.
        on_progress: called now and then with a row per seed: step, best step so far, its validation score.
    """
    rehearse(graph, config)  # also, workers that start at once need not compile at once
    run = Run.start(folder or default_folder(config, resume), config, graph, resume)
    scratch_folder = tempfile.TemporaryDirectory(prefix="ngcn-")
    with run.kept_if_useful(), graceful(run.folder) as signals, scratch_folder as scratch, threads_as_before():
        board = Board(Path(scratch) / "board", config.seeds, "w+")
        for row, seed in enumerate(run.seeds):
            if run.finished(seed):
                board.seeds[row] = config.progress_steps, run.scores(seed)["best_step"], run.scores(seed)["val"]
        with _watch(board, signals, on_progress):
            if config.seeds == 1:
                _train_here(graph, run, board, signals, threads or torch.get_num_threads())
            else:
                _train_in_processes(graph, run, board, min(threads or len(os.sched_getaffinity(0)), config.seeds))
        signals.check()
    run.finish()
    return run


def _train_here(graph: Graph, run: Run, board: Board, signals: Signals, threads: int) -> None:
    torch.set_num_threads(threads)

    def on_step(step: Step) -> None:
        board.seeds[0] = step.step, step.best_step, step.best_val
        signals.check()
        if board.stop.any():
            raise Interrupted

    if not run.finished(run.config.seed):
        fit(graph, run.config, run.config.seed, folder=run.seed_folder(run.config.seed), on_step=on_step)
        board.seeds[0, 0] = run.config.progress_steps


def _train_in_processes(graph: Graph, run: Run, board: Board, workers: int) -> None:
    unfinished = [seed for seed in run.seeds if not run.finished(seed)]
    together = min(_MOST_TOGETHER, math.ceil(len(unfinished) / workers)) if _is_small(graph, run.config) else 1
    run = Run(run.folder.absolute(), run.config)  # workers of an earlier call may stand in another folder
    with deaf_to_signals(), parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
        # The graph is mapped into memory, not copied; "c": to the kernels, a read-only array is another type
        parallel = Parallel(return_as="generator_unordered", batch_size=1, mmap_mode="c")
        task, parent = delayed(_train_there), os.getpid()
        groups = [unfinished[i : i + together] for i in range(0, len(unfinished), together)]
        done = parallel(task(graph, run, seeds, board.path, workers, parent) for seeds in groups)
    try:
        for _ in done:
            pass
    except loky.process_executor.TerminatedWorkerError:
        raise RunError(
            "A training process ended on its own, perhaps for want of memory; go on with --resume and fewer --threads."
        ) from None
    finally:
        board.stop[:] = 1  # after an error in one seed the others stop too


@contextmanager
def deaf_to_signals() -> Iterator[None]:
    """Processes that start while this is open inherit its mask: Ctrl-C and `kill` on the whole group are for this
    process alone, which then tells them."""
    for tracker in (multiprocessing.resource_tracker, loky.backend.resource_tracker):
        tracker.ensure_running()  # before, since starting one takes the mask off again
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _is_small(graph: Graph, config: Config) -> bool:
    """Whether a step of a network is over so soon that what it costs to start one matters (benchmarks/batching.py)."""
    return config.model in _SIDE_BY_SIDE and work(graph, config) < _SMALL


def _train_there(graph: Graph, run: Run, seeds: list[int], board_path: Path, workers: int, parent: int) -> None:
    if os.getpid() != parent and not gc.get_freeze_count():
        gc.freeze()  # as in __main__.py, since the parent waits; once, since what seeds leave behind is to go
    torch.set_num_threads(1)
    board = Board(board_path, run.config.seeds)
    _pin(board_path.parent, workers)

    def orphaned() -> bool:  # with one worker, this is the parent
        return parent not in (os.getpid(), os.getppid())

    def on_step(seed: int, step: Step) -> None:
        board.seeds[seed - run.seeds[0]] = step.step, step.best_step, step.best_val
        if board.stop.any() or orphaned():
            raise Interrupted

    if board.stop.any():
        return
    try:
        fit_together(graph, run.config, {seed: run.seed_folder(seed) for seed in seeds}, on_step)
        board.seeds[[seed - run.seeds[0] for seed in seeds], 0] = run.config.progress_steps
    except Interrupted:
        if orphaned():  # nobody is left to hand over to
            os._exit(1)


_pinned = False


def _pin(claims: Path, workers: int) -> None:
    """Keep this process on a core of its own, if there is a process for every core; else the system knows better."""
    global _pinned
    cores = sorted(os.sched_getaffinity(0))
    if _pinned or workers < len(cores):
        return
    _pinned = True
    for core in cores:
        try:
            (claims / f"core-{core}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.sched_setaffinity(0, {core})
        return


@contextmanager
def _watch(board: Board, signals: Signals, on_progress: Callable[[np.ndarray], None] | None) -> Iterator[None]:
    """Meanwhile, from a thread: show the board, and pass a signal on to the workers.

    An error of ``on_progress`` stops them as well, and comes up here.
    """
    over = threading.Event()
    failed: list[Exception] = []

    def watch() -> None:
        try:
            while not over.wait(POLL_SECONDS):
                if signals.signum is not None:
                    board.stop[:] = 1
                if on_progress:
                    on_progress(board.seeds)
        except Exception as error:
            failed.append(error)
            board.stop[:] = 1

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        if failed:
            raise failed[0]
        if on_progress:
            on_progress(board.seeds)

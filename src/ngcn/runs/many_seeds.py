"""Many seeds, spread over the cores: one process with one thread per core, and one progress board for all."""

from __future__ import annotations

import gc
import multiprocessing.resource_tracker
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals import loky

from ngcn import registry
from ngcn.config import Config
from ngcn.errors import RunError
from ngcn.graph import Graph
from ngcn.ops.threads import threads_as_before
from ngcn.runs.one_seed import check_splits
from ngcn.runs.run import Run, default_folder
from ngcn.runs.signals import Interrupted, Signals, graceful
from ngcn.training import Step, fit

POLL_SECONDS = 0.1


class Board:
    """The progress of each seed: step, best step, best validation score. A file that all processes map into memory."""

    def __init__(self, path: Path, seeds: int, mode: Literal["r+", "w+"] = "r+") -> None:
        self.path = path
        cells = np.memmap(path, np.float64, mode, shape=(seeds + 1, 3))
        self.seeds, self.stop = cells[:-1], cells[-1]  # the last row is set to stop all processes


def train_seeds(
    graph: Graph,
    config: Config,
    folder: Path | str | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    on_progress: Callable[[np.ndarray], None] | None = None,
) -> Run:
    """Train all seeds of ``config`` into a run folder. Finished seeds are skipped, unfinished ones are continued.

    Args:
        folder: the run folder; ``runs/<name of the run>`` if None.
        resume: continue the run in ``folder``.
        threads: the number of cores; all if None. One seed uses all of them, several seeds use one core each.
        on_progress: called several times a second with a row per seed: step, best step, its validation score.
    """
    check_splits(graph)
    workers = min(threads or len(os.sched_getaffinity(0)), config.seeds)
    if config.seeds > 1 and not config.is_baseline:
        # One step here first: it finds settings that do not work, and compiles the kernels once for all processes
        fit(graph, replace(config, steps=1), config.seed)
    run = Run.start(folder or default_folder(config, resume), config, graph, resume)
    scratch_folder = tempfile.TemporaryDirectory(prefix="ngcn-")
    with run.kept_if_useful(), graceful(run.folder) as signals, scratch_folder as scratch, threads_as_before():
        board = Board(Path(scratch) / "board", config.seeds, "w+")
        for row, seed in enumerate(run.seeds):
            if run.finished(seed):
                board.seeds[row] = config.progress_steps, run.scores(seed)["best_step"], run.scores(seed)["val"]
        with _watch(board, signals, on_progress):
            if config.seeds == 1:
                torch.set_num_threads(threads or torch.get_num_threads())
                _train_seed(graph, run, config.seed, board, signals.check)
            else:
                _train_in_processes(graph, run, board, workers)
        signals.check()
    run.finish()
    return run


def _train_seed(graph: Graph, run: Run, seed: int, board: Board, check: Callable[[], None]) -> None:
    """Train a seed in this process, unless it is finished; ``check`` may raise after each step."""
    row = seed - run.seeds[0]

    def on_step(step: Step) -> None:
        board.seeds[row] = step.step, step.best_step, step.best_val
        check()
        if board.stop.any():
            raise Interrupted

    if not run.finished(seed):
        run.write_seed(fit(graph, run.config, seed, checkpoint=run.checkpoint(seed), on_step=on_step))
        board.seeds[row, 0] = run.config.progress_steps


def _train_in_processes(graph: Graph, run: Run, board: Board, workers: int) -> None:
    unfinished = [seed for seed in run.seeds if not run.finished(seed)]
    run = Run(run.folder.absolute(), run.config)  # workers of an earlier call may have another working directory
    with deaf_to_signals(), parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
        # The graph is mapped into memory, not copied. Mode "c": to the kernels, a read-only array is another type.
        parallel = Parallel(return_as="generator_unordered", batch_size=1, mmap_mode="c")
        task, parent = delayed(_train_there), os.getpid()
        entries = registry.entries(run.config.model, run.config.classifier, run.config.recipe)
        finished = parallel(task(graph, run, seed, board.path, parent, entries) for seed in unfinished)
    try:
        for _ in finished:
            pass
    except loky.process_executor.TerminatedWorkerError:
        raise RunError(
            "A training process ended unexpectedly, perhaps out of memory; continue with `resume=True` and fewer "
            "`threads`."
        ) from None
    finally:
        board.stop[:] = 1  # after an error in one seed the others stop too


@contextmanager
def deaf_to_signals() -> Iterator[None]:
    """Processes that start inside inherit the signal mask: Ctrl-C and `kill` on the group reach this process only. It
    passes them on."""
    for tracker in (multiprocessing.resource_tracker, loky.backend.resource_tracker):
        tracker.ensure_running()  # before the mask: starting one resets it
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _train_there(graph: Graph, run: Run, seed: int, board_path: Path, parent: int, entries: registry.Entries) -> None:
    """Train a seed in a worker process; with one worker, that is the parent itself."""
    registry.add(entries)
    if os.getpid() != parent and not gc.get_freeze_count():
        gc.freeze()  # once per process, as in __main__.py: else its end takes a second
    torch.set_num_threads(1)
    board = Board(board_path, run.config.seeds)

    def orphaned() -> bool:
        return parent not in (os.getpid(), os.getppid())

    def check() -> None:
        if orphaned():
            raise Interrupted

    try:
        if not board.stop.any():
            _train_seed(graph, run, seed, board, check)
    except Interrupted:
        if orphaned():  # the parent was killed
            os._exit(1)


@contextmanager
def _watch(board: Board, signals: Signals, on_progress: Callable[[np.ndarray], None] | None) -> Iterator[None]:
    """Meanwhile, in a thread: report the board, and pass a signal on to the workers.

    An exception of ``on_progress`` stops them too, and is raised here.
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

"""Train the cells that are missing from a store, on all cores or with another joblib backend."""

from __future__ import annotations

import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ngcn.errors import NGCNError, RunError
from ngcn.experiments.cell import Cell, Outcome
from ngcn.experiments.store import Store
from ngcn.runs.signals import deaf_to_signals
from ngcn.training import Step

WAIT_SECONDS = 1.0  # between checks of the cells that another process trains
Trained = tuple[Cell, Outcome | str | None]  # the outcome, an error message, or None if another process has the cell
ALONE = threading.Lock()  # random generators and claims belong to a process, not to its threads


def run(
    cells: Sequence[Cell], store: Store, jobs: int = -1, on_done: Callable[[Cell, Outcome], None] | None = None
) -> dict[str, str]:
    """Train the cells that are missing from ``store``.

    Other processes may use the same store at the same time: one of them trains a cell, the others wait for its outcome.
    The cells run in ``jobs`` local processes, or on another joblib backend::

        with joblib.parallel_config("dask"):      # a cluster that a dask Client is connected to
            run(cells, Store("/shared/results"))  # in a folder that all its machines see

    Args:
        on_done: called with each cell trained by this call, and its outcome.

    Returns:
        The error messages of the cells that failed, by name.
    """
    failed: dict[str, str] = {}
    store.refresh()
    while missing := [cell for cell in cells if cell not in store and cell.name not in failed]:
        progress = False
        for cell, outcome in _trained(missing, store.folder.absolute(), jobs):
            if isinstance(outcome, str):
                failed[cell.name] = outcome
            elif outcome is not None:
                progress = True
                if on_done:
                    on_done(cell, outcome)
        store.refresh()
        if not progress:
            time.sleep(WAIT_SECONDS)
    return failed


def _trained(cells: Sequence[Cell], folder: Path, jobs: int) -> Iterator[Trained]:
    with deaf_to_signals():
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        trained = parallel(delayed(_train)(cell, folder, os.getpid()) for cell in cells)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A worker stopped")  # joblib replaces workers that have grown
            yield from trained
    except TerminatedWorkerError:
        raise RunError(
            "A training process ended unexpectedly, perhaps out of memory; run the same command again to "
            "continue, with fewer `jobs` if necessary."
        ) from None


def _train(cell: Cell, folder: Path, parent: int) -> Trained:
    """In a worker process."""
    store = Store(folder)
    watched = os.getppid() == parent  # False on a cluster, and if the parent itself trains

    def on_step(step: Step) -> None:
        if watched and os.getppid() != parent:  # the parent was killed
            os._exit(1)

    with ALONE, store.claim(cell) as mine:
        if not mine or store.path(cell).exists():
            return cell, None
        scratch = folder / "running" / cell.name
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            outcome = cell.run(scratch, on_step)
        except NGCNError as error:
            return cell, str(error)
        store.put(cell, outcome)
        shutil.rmtree(scratch)
    return cell, outcome

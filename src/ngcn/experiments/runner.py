"""Train the cells that a store does not have yet, on all cores or on whatever joblib is told to use."""

from __future__ import annotations

import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ngcn.errors import NGCNError, RunError
from ngcn.experiments.cell import Cell, Outcome
from ngcn.experiments.store import Store
from ngcn.runs.many_seeds import deaf_to_signals
from ngcn.training import Step

WAIT_SECONDS = 1.0  # between looks at cells that another process has
ALONE = threading.Lock()  # random numbers and claims belong to a process, not to its threads


def run(
    cells: Sequence[Cell],
    store: Store,
    jobs: int = -1,
    on_done: Callable[[Cell, Outcome], None] | None = None,
) -> dict[str, str]:
    """Fill ``store`` with the outcomes of ``cells``; what it has already is not computed again.

    Other processes may fill the same store at the same time: a cell is trained by one of them, and the others wait for
    its outcome. What runs the cells is joblib's choice, ``jobs`` local processes if nothing else was said::

        with joblib.parallel_config("dask"):      # a cluster that a dask Client is connected to
            run(cells, Store("/shared/results"))  # in a folder that all its machines see

    Args:
        on_done: called with each cell that this process had a part in, and its outcome.

    Returns:
        What went wrong, by name of the cell that could not be trained; the others are done.
    """
    failed: dict[str, str] = {}
    store.refresh()
    while todo := [cell for cell in cells if cell not in store and cell.name not in failed]:
        progress = False
        with deaf_to_signals():
            parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
            done = parallel(delayed(_train)(cell, store.folder.absolute(), os.getpid()) for cell in todo)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "A worker stopped")  # joblib renews those that have grown
                for cell, outcome in done:
                    if isinstance(outcome, str):
                        failed[cell.name] = outcome
                    elif outcome is not None:
                        progress = True
                        if on_done:
                            on_done(cell, outcome)
        except TerminatedWorkerError:
            raise RunError(
                "A training process ended unexpectedly, perhaps out of memory; run the same again to continue, if need "
                "be with fewer `jobs`."
            ) from None
        store.refresh()
        if not progress:
            time.sleep(WAIT_SECONDS)
    return failed


def _train(cell: Cell, folder: Path, parent: int) -> tuple[Cell, Outcome | str | None]:
    """In a process of its own: the outcome, what went wrong, or None if somebody else has the cell."""
    store = Store(folder)
    watched = os.getppid() == parent  # not on a cluster, and not where the parent trains by itself

    def on_step(step: Step) -> None:
        if watched and os.getppid() != parent:  # killed: nobody is left to hand over to
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

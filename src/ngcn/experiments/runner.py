"""Train the cells that are missing from a store, on all cores or on a cluster."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from ngcn.engine import Processes, Ray
from ngcn.errors import EngineError, NGCNError, RunError
from ngcn.experiments.cell import Cell, Outcome
from ngcn.experiments.store import Store

WAIT_SECONDS = 1.0  # between checks of the cells that another process trains
Trained = tuple[Cell, Outcome | str | None]  # the outcome, an error message, or None if another process has the cell
ALONE = threading.Lock()  # random generators and claims belong to a process, not to its threads


def run(
    cells: Sequence[Cell],
    store: Store,
    jobs: int = -1,
    on_done: Callable[[Cell, Outcome], None] | None = None,
    engine: Ray | None = None,
) -> dict[str, str]:
    """Train the cells that are missing from ``store``.

    Other processes may use the same store at the same time: one of them trains a cell, the others wait for its outcome.
    The cells run in ``jobs`` local processes, on a Ray cluster, or on another joblib backend::

        with joblib.parallel_config("dask"):      # a cluster that a dask Client is connected to
            run(cells, Store("/shared/results"))  # in a folder that all its machines see

    Args:
        on_done: called with each cell trained by this call, and its outcome.
        engine: a Ray cluster, in place of local processes.

    Returns:
        The error messages of the cells that failed, by name.
    """
    failed: dict[str, str] = {}
    store.refresh()
    store.folder.mkdir(parents=True, exist_ok=True)
    train = partial(_train, store.folder.absolute())
    with engine.connected(store.folder, threads=1) if engine else nullcontext(Processes(jobs)) as executor:
        while missing := [cell for cell in cells if cell not in store and cell.name not in failed]:
            progress = False
            try:
                for cell, outcome in executor.run([partial(train, cell) for cell in missing]):
                    if isinstance(outcome, str):
                        failed[cell.name] = outcome
                    elif outcome is not None:
                        progress = True
                        if on_done:
                            on_done(cell, outcome)
            except EngineError as error:
                raise RunError(
                    f"{error} Run the same command again to continue, with fewer `jobs` if memory is short."
                ) from None
            store.refresh()
            if not progress:
                time.sleep(WAIT_SECONDS)
    return failed


def _train(folder: Path, cell: Cell) -> Trained:
    """Perhaps in another process."""
    store = Store(folder)
    with ALONE, store.claim(cell) as mine:
        if not mine or store.path(cell).exists():
            return cell, None
        scratch = folder / "running" / cell.name
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            outcome = cell.run(scratch)
        except NGCNError as error:
            return cell, str(error)
        store.put(cell, outcome)
        shutil.rmtree(scratch)
    return cell, outcome

"""`Board`: what the processes that train the seeds of a run tell each other, in files that all machines see."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from ngcn.runs.run import Run
from ngcn.runs.signals import Signals

POLL_SECONDS = 0.1
SECONDS = 0.05  # between two notes of a process, and between two looks at the file


class Board:
    """Progress of the seeds of a run, and the order to stop.

    FOLDER/go        training goes on while this file exists
    FOLDER/seed-0    step, best step, best validation score; 24 bytes
    """

    def __init__(self, run: Run) -> None:
        self.folder = run.folder.absolute() / ".progress"
        self.seeds, self.total = run.seeds, run.config.progress_steps
        self._rows = np.zeros((len(self.seeds), 3))
        self._written = self._looked = -np.inf
        self._stopped = False
        for seed in filter(run.finished, self.seeds):
            self._rows[seed - self.seeds[0]] = self.total, run.scores(seed)["best_step"], run.scores(seed)["val"]

    @contextmanager
    def opened(self) -> Iterator[Board]:
        shutil.rmtree(self.folder, ignore_errors=True)  # of a killed process
        self.folder.mkdir()
        try:
            (self.folder / "go").touch()
            yield self
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, seed: int, row: tuple[float, float, float]) -> None:
        """Write the progress of a seed, but only once in a while; always its last step."""
        if (now := time.monotonic()) - self._written > SECONDS or row[0] >= self.total:
            self._written = now
            (self.folder / f"seed-{seed}").write_bytes(np.array(row).tobytes())

    def read(self) -> np.ndarray:
        """``(seeds, 3)`` the progress of all seeds."""
        for row, seed in zip(self._rows, self.seeds, strict=True):
            if row[0] < self.total:
                file = self.folder / f"seed-{seed}"
                content = file.read_bytes() if file.exists() else b""
                if len(content) == row.nbytes:  # else it is being written
                    row[:] = np.frombuffer(content)
        return self._rows.copy()

    def stop(self) -> None:
        """All processes stop after their current step."""
        (self.folder / "go").unlink(missing_ok=True)

    def stopped(self) -> bool:
        if not self._stopped and (now := time.monotonic()) - self._looked > SECONDS:
            self._looked = now
            try:
                (self.folder / "go").open().close()  # on a network disk, opening a file asks the server
            except FileNotFoundError:
                self._stopped = True
        return self._stopped

    @contextmanager
    def watched(self, signals: Signals, on_progress: Callable[[np.ndarray], None] | None) -> Iterator[None]:
        """Meanwhile, in a thread: report what is on the board, and stop training after a signal.

        An exception of ``on_progress`` stops it too, and is raised here.
        """
        over = threading.Event()

        def watch() -> None:
            try:
                ended = False
                while not ended:
                    ended = over.wait(POLL_SECONDS)
                    if signals.signum is not None:
                        self.stop()
                    if on_progress:
                        on_progress(self.read())
            except Exception:
                self.stop()
                raise

        with ThreadPoolExecutor(1) as thread:
            watching = thread.submit(watch)
            try:
                yield
            finally:
                over.set()
                watching.result()

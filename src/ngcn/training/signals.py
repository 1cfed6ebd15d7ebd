"""Ctrl-C and `kill` wait for the end of the step, so that they leave a checkpoint to continue from."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop and did, at the end of a step; ``signum`` is the signal that asked."""

    def __init__(self, signum: int = signal.SIGINT, folder: Path | None = None) -> None:
        how = f"; continue with `ngcn train --resume --out {folder}`" if folder else ""
        super().__init__(f"Stopped by {signal.Signals(signum).name}{how}.")
        self.signum = signum


class Signals:
    """Remembers the signal that came, if any."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.signum: int | None = None

    def receive(self, signum: int, frame: FrameType | None) -> None:
        if self.signum is not None:  # asked twice: end at once
            raise KeyboardInterrupt
        self.signum = signum

    def check(self) -> None:
        if self.signum is not None:
            raise Interrupted(self.signum, self.folder)


@contextmanager
def graceful(folder: Path | None = None) -> Iterator[Signals]:
    """While this is open, SIGINT and SIGTERM are only remembered; the second one ends the process at once.

    ``folder`` is the run folder that can be continued, for the message.
    """
    signals = Signals(folder)
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield signals
        return
    previous = {s: signal.signal(s, signals.receive) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)

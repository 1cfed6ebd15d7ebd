"""Ctrl-C and `kill` wait for the end of the step, so that a checkpoint is written to continue from."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A signal stopped the work. ``remedy`` says how to continue; ``folder`` is the run folder, if there is one."""

    def __init__(self, signum: int = signal.SIGINT, remedy: str = "", folder: Path | None = None) -> None:
        super().__init__(f"Stopped by {signal.Signals(signum).name}{remedy and f'; {remedy}'}.")
        self.signum, self.folder = signum, folder


@dataclass
class Signals:
    """The signal that was received, if any. ``folder`` is the run folder to continue, for the message."""

    folder: Path
    signum: int | None = None

    def receive(self, signum: int, frame: FrameType | None) -> None:
        if self.signum is not None:  # the second one: stop at once
            raise KeyboardInterrupt
        self.signum = signum

    def check(self) -> None:
        if self.signum is not None:
            raise Interrupted(self.signum, "continue with `resume=True`", self.folder)


@contextmanager
def graceful(folder: Path) -> Iterator[Signals]:
    """While this is open, SIGINT and SIGTERM are only recorded; a second one stops the process at once."""
    signals = Signals(folder)
    with handled_by(signals.receive):
        yield signals


@contextmanager
def handled_by(receive: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """While this is open, ``receive`` handles SIGINT and SIGTERM."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    previous = {s: signal.signal(s, receive) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)

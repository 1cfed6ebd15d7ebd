"""Ctrl-C and `kill` wait for the end of the step, so that a checkpoint is written to continue from."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A signal stopped the work. ``remedy`` says how to continue; ``folder`` is the run folder, if there is one."""

    def __init__(self, signum: int = signal.SIGINT, remedy: str = "", folder: Path | None = None) -> None:
        super().__init__(f"Stopped by {signal.Signals(signum).name}{remedy and f'; {remedy}'}.")
        self.signum, self.folder = signum, folder


class Signals:
    """The signal that was received, if any."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.signum: int | None = None

    def receive(self, signum: int, frame: FrameType | None) -> None:
        if self.signum is not None:  # the second one: stop at once
            raise KeyboardInterrupt
        self.signum = signum

    def check(self) -> None:
        if self.signum is not None:
            raise Interrupted(self.signum, "continue with `resume=True`" if self.folder else "", self.folder)


@contextmanager
def graceful(folder: Path | None = None) -> Iterator[Signals]:
    """While this is open, SIGINT and SIGTERM are only recorded; a second one stops the process at once.

    ``folder`` is the run folder to continue, for the message.
    """
    signals = Signals(folder)
    with _handler(signals.receive):
        yield signals


@contextmanager
def at_once(remedy: str) -> Iterator[None]:
    """While this is open, SIGINT and SIGTERM raise :class:`Interrupted` wherever the process is."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Interrupted(signum, remedy)

    with _handler(stop):
        yield


@contextmanager
def _handler(receive: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    previous = {s: signal.signal(s, receive) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)

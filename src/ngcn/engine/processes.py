"""`Processes`: tasks in worker processes of this machine, or of a cluster that joblib has a backend for."""

from __future__ import annotations

import gc
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.externals import loky
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import BACKENDS, get_active_backend

from ngcn.errors import EngineError

T = TypeVar("T")
POLL_SECONDS = 0.05  # between two looks of a worker at its parent


@dataclass(frozen=True)
class Processes:
    """Worker processes of this machine, with one thread each; or those of another backend, inside
    ``joblib.parallel_config("dask")``.

    Args:
        workers: the number of tasks at a time; -1 for one per core, or per worker of another backend.

    Example:
        >>> from functools import partial
        >>> sorted(Processes(1).run([partial(pow, 2, 2), partial(pow, 3, 2)]))
        [4, 9]
    """

    workers: int = -1

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Run tasks in any order, and yield what they return. An exception of a task is raised here."""
        backend, _ = get_active_backend()
        threads = {"inner_max_num_threads": 1} if backend.supports_inner_max_num_threads else {}
        with deaf_to_signals(), parallel_config(backend, n_jobs=self.workers, **threads):
            # Arrays are mapped into memory, not copied. Mode "c": to the kernels, a read-only array is another type.
            parallel = Parallel(return_as="generator_unordered", batch_size=1, mmap_mode="c")
            parent = os.getpid() if isinstance(backend, BACKENDS["loky"]) else None
            results = parallel(delayed(_do)(task, parent) for task in tasks)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "A worker stopped")  # joblib replaces workers that have grown
                yield from results
        except TerminatedWorkerError:
            raise EngineError("A worker process ended unexpectedly, perhaps out of memory.") from None


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


def _do(task: Callable[[], T], parent: int | None) -> T:
    """In a worker process of this parent, in the parent itself, or, if that is None, on a cluster."""
    if parent not in (None, os.getpid()):
        _begin(parent)
    return task()


@cache
def _begin(parent: int) -> None:
    """Once in a worker process, whose parent may have been killed meanwhile."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    import torch

    torch.set_num_threads(1)
    gc.freeze()  # as in __main__.py: else its end takes a second


def _end_with(parent: int) -> None:
    """End this process when its parent has been killed."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)

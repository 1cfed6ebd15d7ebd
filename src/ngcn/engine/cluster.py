"""`Ray`: connect to a Ray cluster, check that it can do the work, and run tasks on it.

Everything that is special about Ray's tasks is here. A task that is lost with its worker or its machine runs again, so
it must be a function of files on storage that all machines see, and keep what it has finished there.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from ngcn.engine.nodes import ask, check_nodes
from ngcn.errors import EngineError, NGCNError
from ngcn.text import count

T = TypeVar("T")
RETRIES = 5  # of a task whose worker or machine is lost
POLL_SECONDS = 0.2
ANSWER_SECONDS = 10.0  # of a head node
STOP_SECONDS = 10.0  # for workers to write a last checkpoint after Ctrl-C
OBJECT_STORE = 200 << 20  # bytes; nothing large passes through it
Poll = Callable[[], None]


@dataclass(frozen=True)
class Ray:
    """A Ray cluster to run on: the ``engine`` of :func:`ngcn.train_seeds`, as ``ngcn train --engine ray``.

    Args:
        address: ``HOST:PORT`` of the head node, or ``"auto"`` for the cluster that this machine belongs to. None starts
            Ray on this machine, for this run only.
        workers: the number of worker processes. If None, seeds and experiments take one per core, and other tasks one
            per machine, with all of its cores.

    Example:
        >>> Ray(workers=2)
        Ray(address=None, workers=2)
    """

    address: str | None = None
    workers: int | None = None

    def check(self) -> None:
        """Raise an error if Ray is missing or the address cannot be one. Quick: Ray is not imported."""
        if not find_spec("ray"):
            raise EngineError("The engine ray needs Ray, which is not installed: pip install 'ngcn[ray]'.")
        if self.address and "://" in self.address:
            raise EngineError(
                f"{self.address} is no address of a head node; run the command on a machine of the cluster, with "
                "`address=auto`."
            )

    @contextmanager
    def connected(self, *paths: Path | str, threads: int | None = None, poll: Poll = lambda: None) -> Iterator[Cluster]:
        """Connect, check the cluster, and disconnect at the end.

        Args:
            paths: files that all machines must see, and folders that they must share.
            threads: those of a worker; None for as many as the machines have for each of the workers.
            poll: called several times a second while tasks run; it may stop them by raising an exception.
        """
        self.check()
        if self.address is None:  # before the import, which reads them
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            # Listen on 127.0.0.1 only, as it does on those systems
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # else without end
        import ray

        given = ray.is_initialized()  # by the user's own code: it stays
        if not given:
            with _same_signals():
                self._connect(ray)
        try:
            nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
            found = ask(ray, nodes, paths)
            check_nodes(list(found.values()))
            cores = [int(node["Resources"]["CPU"]) for node in nodes if node["NodeID"] in found]
            with redirect_stdout(sys.stderr):  # Ray prints there that it has lost a worker
                yield Cluster(*self.share(cores, threads), poll)
        finally:
            if not given:
                ray.shutdown()

    def share(self, cores: Sequence[int], threads: int | None = None) -> tuple[int, int]:
        """The number of workers, and of threads of each, on machines with these numbers of cores.

        Example:
            >>> Ray().share([8, 8], threads=1), Ray().share([8, 4]), Ray(workers=3).share([8, 4])
            ((16, 1), (2, 4), (3, 4))
        """
        workers = self.workers or (sum(cores) if threads else len(cores))
        if workers > sum(cores):
            raise EngineError(
                f"The cluster has {sum(cores)} CPUs on {count(len(cores), 'machine')}, fewer than "
                f"`workers={workers}`; ask for fewer, or add machines."
            )
        fitting = (n for n in range(max(cores), 0, -1) if sum(of // n for of in cores) >= workers)
        return workers, threads or next(fitting)

    def _connect(self, ray: Any) -> None:
        quiet = {"logging_level": "ERROR", "log_to_driver": False}
        try:
            if self.address is None:
                cores = len(os.sched_getaffinity(0))
                ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=OBJECT_STORE, **quiet)
            else:
                self._knock()
                ray.init(address=self.address, **quiet)
        except ConnectionError:
            raise self._nobody() from None
        except RuntimeError as error:
            if "ersion mismatch" not in str(error):
                raise
            raise EngineError(f"The cluster has another version of Ray or Python than this process: {error}") from None

    def _knock(self) -> None:
        """An error at once if nobody listens: Ray would try for minutes, and then end the process."""
        host, _, port = (self.address or "").rpartition(":")
        if self.address == "auto" or not host:
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        except (OSError, ValueError, OverflowError):
            raise self._nobody() from None

    def _nobody(self) -> EngineError:
        return EngineError(
            f"There is no Ray cluster at {self.address}; start one with `ray start --head --port 6379`, or leave out "
            "`address` to use this machine only."
        )


@dataclass(frozen=True)
class Cluster:
    """A connected cluster, which runs tasks.

    Args:
        workers: the number of tasks at a time.
        threads: those of a task.
        poll: see :meth:`Ray.connected`.
    """

    workers: int
    threads: int
    poll: Poll

    def share(self, value: T) -> Callable[[], T]:
        """Send a value once to each machine. Tasks get it by calling what is returned; a worker keeps the last two."""
        import ray

        return Shared(ray.put(ray.cloudpickle.dumps(value)))  # in bytes: arrays of Ray are read-only

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Run tasks in any order, and yield what they return. An exception of a task is raised here."""
        import ray

        how = {"num_cpus": self.threads, "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}
        do: Any = ray.remote(_do).options(**how)
        of_ngcn = {name: value for name, value in os.environ.items() if name.startswith("NGCN_")}
        plan = self.share(list(tasks))  # once, as tasks may have something large in common, such as a graph
        waiting, running = deque(range(len(tasks))), list[Any]()
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    running.append(do.remote(plan, waiting.popleft(), self.threads, of_ngcn))
                done, running = ray.wait(running, timeout=POLL_SECONDS)
                self.poll()
                for ref in done:
                    yield _result(ray, ref)
        finally:
            _cancel(ray, running)


@contextmanager
def _same_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces by one that ends the process."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


@dataclass(frozen=True)
class Shared:
    """A value in Ray's object store."""

    ref: Any

    def __call__(self) -> Any:
        return _received(self)


@lru_cache(maxsize=2)  # the tasks of a run, and something that they share with those of other runs
def _received(shared: Shared) -> Any:
    import ray

    return pickle.loads(ray.get(shared.ref))


def _do(plan: Callable[[], Sequence[Callable[[], T]]], number: int, threads: int, of_ngcn: dict[str, str]) -> T:
    """In a worker: the task with this number."""
    import torch

    torch.set_num_threads(threads)
    os.environ.update(of_ngcn)
    return plan()[number]()


def _result(ray: Any, ref: Any) -> Any:
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, NGCNError | OSError | MemoryError):
            raise cause from None
        raise
    except ray.exceptions.RayError as error:
        raise EngineError(f"A worker was lost, more than {RETRIES} times: {error}") from None


def _cancel(ray: Any, running: Sequence[Any]) -> None:
    """Interrupt tasks, as Ctrl-C does; end those that do not stop."""
    with suppress(ray.exceptions.RayError):
        for ref in running:
            ray.cancel(ref)
        _, late = ray.wait(running, num_returns=len(running), timeout=STOP_SECONDS) if running else ((), ())
        for ref in late:
            ray.cancel(ref, force=True)

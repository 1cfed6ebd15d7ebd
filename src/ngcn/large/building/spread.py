"""`in_files`: arrays that a cluster computes, in the order of a table or a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np

from ngcn.engine import Cluster
from ngcn.files import atomic
from ngcn.large.building.work import Work

Arrays = Iterable[np.ndarray]


@dataclass(frozen=True)
class Group:
    """The task to write what some tasks yield to files, each in a thread. A file that exists is finished.

    Args:
        number: of the group.
        tasks: functions without arguments.
        paths: the files.
    """

    number: int
    tasks: Sequence[Callable[[], Arrays]]
    paths: Sequence[Path]

    def __call__(self) -> int:
        with ThreadPoolExecutor(len(self.tasks)) as threads:
            list(threads.map(_write, self.tasks, self.paths))
        return self.number


def in_files(tasks: Sequence[Callable[[], Arrays]], cluster: Cluster, work: Work) -> Iterator[Iterator[np.ndarray]]:
    """The arrays of each task, in the order of the tasks. They are passed on in files, which are deleted when they have
    been read; a worker is at as many tasks at a time as it has threads."""
    for leftover in work.folder.glob("*.part"):
        leftover.unlink()
    run = uuid4().hex  # a worker of a killed command may still write files
    paths = [work.folder.absolute() / f"{run}-{number}.part" for number in range(len(tasks))]
    groups = [slice(at, at + cluster.threads) for at in range(0, len(tasks), cluster.threads)]
    finished, next_one = set[int](), 0
    for number in cluster.run([Group(i, tasks[group], paths[group]) for i, group in enumerate(groups)]):
        finished.add(number)
        while next_one in finished:
            for path in paths[groups[next_one]]:
                with path.open("rb") as file:
                    yield _arrays(file, path.stat().st_size)
                path.unlink()
            next_one += 1


def _write(task: Callable[[], Arrays], path: Path) -> None:
    if not path.exists():
        with atomic(path) as temporary, temporary.open("wb") as file:
            for array in task():
                np.save(file, array)


def _arrays(file: BinaryIO, size: int) -> Iterator[np.ndarray]:
    while file.tell() < size:
        yield np.load(file)

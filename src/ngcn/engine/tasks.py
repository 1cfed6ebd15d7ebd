"""`Executor`: what runs tasks. A task is a function without arguments, for any process that sees its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Executor(Protocol):
    """Runs tasks."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Run tasks that do not depend on each other, and yield what they return, in any order."""


class Local:
    """One task after the other in this process, each on all threads.

    Example:
        >>> list(Local().run([lambda: 1, lambda: 2]))
        [1, 2]
    """

    def run(self, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
        return (task() for task in tasks)

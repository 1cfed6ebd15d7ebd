"""How the benchmarks take time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def milliseconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begin)


def median_ms(function: Callable[[], object], repeats: int) -> float:
    """The median of some calls, after one that warms up."""
    function()
    return statistics.median(milliseconds(function) for _ in range(repeats))


def interleaved(
    functions: dict[str, Callable[[], object]], repeats: dict[str, int], rounds: int
) -> dict[str, list[float]]:
    """In each round every function in turn, `repeats` times in a row; the first round is for warming up."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(rounds + 1):
        for name, function in functions.items():
            taken = [milliseconds(function) for _ in range(repeats[name])]
            times[name] += taken if turn else []
    return times

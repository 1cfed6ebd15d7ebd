"""The free memory: what does not fit raises an error before it is asked for."""

from __future__ import annotations

import resource
from pathlib import Path

from ngcn.errors import NGCNError


def free_memory() -> int:
    """Bytes that this process may still use: those of the machine, or of its limit (``ulimit -v``)."""
    free = _fields(Path("/proc/meminfo")).get("MemAvailable", 1 << 62)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - _fields(Path("/proc/self/status")).get("VmSize", 0))
    return free


def check_memory(needed: int, what: str, remedy: str, kind: type[NGCNError]) -> None:
    """Raise an error if ``needed`` bytes, a lower bound, are more than there are."""
    if needed > 1 << 28 and needed > (free := free_memory()):
        raise kind(
            f"{what} needs at least {needed / 1e9:,.1f} GB of memory, and {free / 1e9:.1f} GB are free; {remedy}."
        )


def _fields(path: Path) -> dict[str, int]:
    """The sizes in a file of /proc; none on a system without it."""
    try:
        lines = (line.split() for line in path.read_text().splitlines())
        return {line[0].rstrip(":"): 1024 * int(line[1]) for line in lines if len(line) == 3 and line[2] == "kB"}
    except OSError:
        return {}

"""The free memory: what does not fit raises an error before it is asked for."""

from __future__ import annotations

import re
import resource
from pathlib import Path

from ngcn.errors import ConfigError, NGCNError


def free_memory() -> int:
    """Bytes that this process may still use: those of the machine, or of its limits (``ulimit -v`` and ``-d``)."""
    free = _fields(Path("/proc/meminfo")).get("MemAvailable", 1 << 62)
    for kind, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            free = min(free, limit - _fields(Path("/proc/self/status")).get(used, 0))
    return free


def memory_bytes(size: str | int) -> int:
    """A size of memory in bytes; K, M, G and T are powers of 1000.

    Example:
        >>> memory_bytes("4GB"), memory_bytes("1.5 G"), memory_bytes(1000)
        (4000000000, 1500000000, 1000)
    """
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) *([KMGT]?)B?", str(size).strip(), re.IGNORECASE)
    number = int(float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " ")) if found else 0
    if number < 1:
        raise ConfigError(f"memory must be a size such as 4GB or 500MB, not {size!r}.")
    return number


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

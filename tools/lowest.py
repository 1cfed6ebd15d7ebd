"""Print the lowest version of every dependency that pyproject.toml allows, one ``name==version`` per line.

python tools/lowest.py EXTRA...   also those of these extras

``make test-lowest`` installs them. Torch is left at the version of constraints.txt: older wheels for the CPU are not on
the package index, and those for GPUs are several gigabytes. Its lower bound is therefore not tested.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def lowest(extras: list[str]) -> list[str]:
    """
    >>> [line for line in lowest([]) if line.startswith("pandas")]
    ['pandas==2.2']
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    found = {}
    for line in needed:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line)
        if match:  # else it has no lower bound, or names other extras
            found[match[1]] = match[2]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    found["torch"] = pinned["torch"]
    return [f"{name}=={version}" for name, version in found.items()]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))

"""Checksums of compiled code in the cache: damaged files are compiled again, never loaded."""

from __future__ import annotations

import json
import logging
from functools import cache
from hashlib import sha256
from pathlib import Path

from ngcn.files import write_json

log = logging.getLogger("ngcn.ops")
NAME = "checksums.json"


@cache  # once per process
def remove_damaged(folder: Path) -> None:
    """Delete the files whose checksum is not the stored one, or that have none: their process was killed."""
    known = _read(folder)
    damaged = []
    for file in _files(folder):
        stored = known.get(_name(folder, file))
        if stored != sha256(file.read_bytes()).hexdigest():
            file.unlink(missing_ok=True)
            damaged += [file] if stored else []
    if damaged:
        log.warning(f"Damaged files in {folder} were deleted; the kernels are compiled again.")


def add_checksums(folder: Path) -> None:
    """Store the checksums of new and changed files, if there are any."""
    stamps = {_name(folder, file): file.stat().st_mtime_ns for file in _files(folder)}
    path = folder / NAME
    written = path.stat().st_mtime_ns if path.exists() else 0
    known = _read(folder)
    if new := [name for name, stamp in stamps.items() if name not in known or stamp > written]:
        sums = {name: sha256((folder / name).read_bytes()).hexdigest() for name in new}
        write_json(path, {name: known[name] for name in known if name in stamps} | sums)


def _files(folder: Path) -> list[Path]:
    return [file for ending in ("nbi", "nbc") for file in folder.glob(f"*/*.{ending}")]


def _name(folder: Path, file: Path) -> str:
    return str(file.relative_to(folder))


def _read(folder: Path) -> dict[str, str]:
    try:
        known = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}

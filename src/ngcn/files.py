"""Files that are either the previous version or the complete new one, whatever happens while they are written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file next to ``path`` to write to, which takes its place at the end, and only if all went well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.filename == str(temporary):  # the user knows the other name
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: dict[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def remove_leftovers(folder: Path) -> None:
    """What a killed process left half-written in this folder."""
    for leftover in folder.glob(".*.tmp"):
        if re.fullmatch(r"\..+\.\d+\.tmp", leftover.name):  # as `atomic` calls them
            leftover.unlink(missing_ok=True)

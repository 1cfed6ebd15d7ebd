"""`Store`: a folder of outcomes that any number of processes can fill.

STORE/cells/cora-ngcn-fc-K6-r4-seed3-1f0c...json   one finished cell
STORE/running/...                                  checkpoints of unfinished cells
STORE/summary.jsonl                                all finished cells, one line per configuration; sufficient by itself
"""

from __future__ import annotations

import fcntl
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ngcn.errors import RunError
from ngcn.experiments.cell import Cell, Outcome, key_of
from ngcn.files import write_text


class Store:
    """The outcomes in a folder: those of its summary and, after :meth:`refresh`, those of its cell files."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._read: set[str] = set()  # names of the cell files that are in `_known`

    @cached_property
    def _known(self) -> dict[str, tuple[dict[str, Any], int, Outcome]]:
        """Settings, seed and outcome by key. Read at first use: a worker that only writes does not need it."""
        known, path = {}, self.folder / "summary.jsonl"
        with _blamed(path):
            for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
                columns = json.loads(text)
                settings, seeds = columns.pop("settings"), columns.pop("seeds")
                for row, seed in enumerate(seeds):
                    outcome = {name: column[row] for name, column in columns.items()}
                    known[key_of(settings, seed)] = settings, seed, outcome
        return known

    def path(self, cell: Cell) -> Path:
        """The file of a cell, whether it exists or not."""
        return self.folder / "cells" / f"{cell.name}.json"

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._known

    def get(self, cell: Cell) -> Outcome | None:
        known = self._known.get(cell.key)
        return known[2] if known else None

    def __len__(self) -> int:
        return len(self._known)

    def everything(self) -> Iterator[Outcome]:
        return (outcome for _, _, outcome in self._known.values())

    def outcomes(self, cells: Iterable[Cell]) -> list[Outcome]:
        """The outcomes of the finished cells among these, in their order."""
        return [outcome for outcome in map(self.get, cells) if outcome is not None]

    def refresh(self) -> None:
        """Read the cell files that were written since, by any process."""
        for path in sorted((self.folder / "cells").glob("*.json")):
            if path.name not in self._read:
                with _blamed(path):
                    entry = json.loads(path.read_text(encoding="utf-8"))
                    settings, seed = entry["settings"], entry["seed"]
                    self._known[key_of(settings, seed)] = settings, seed, entry["outcome"]
                self._read.add(path.name)

    def put(self, cell: Cell, outcome: Outcome) -> None:
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"settings": cell.setup.settings, "seed": cell.seed, "outcome": outcome}
        write_text(path, json.dumps(entry, allow_nan=False) + "\n")

    @contextmanager
    def claim(self, cell: Cell) -> Iterator[bool]:
        """Hold a cell, so that no other process trains it. Yields False if another process holds it.

        This locks one byte of a file, at an offset given by the key, until the process ends. A process can hold one
        cell at a time: closing the file releases all of its locks.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".claims").open("a") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(cell.key[:15], 16))
            except (BlockingIOError, PermissionError):  # another process holds it
                yield False
                return
            except OSError as error:
                raise RunError(
                    f"{self.folder} is on a file system without locks ({error.strerror}), which parallel trainings "
                    "need; choose another `results`."
                ) from None
            yield True

    def write_summary(self) -> None:
        """Write ``summary.jsonl``: per configuration a line with settings, seeds, and a list of each score."""
        groups = defaultdict(list)
        for known in sorted(self._known.values(), key=lambda known: known[1]):
            groups[json.dumps(known[0], sort_keys=True)].append(known)
        lines = []
        for _, group in sorted(groups.items()):
            settings, seeds, outcomes = zip(*group, strict=True)
            names = dict.fromkeys(name for outcome in outcomes for name in outcome)
            columns = {name: [outcome.get(name) for outcome in outcomes] for name in names}
            line = {"settings": dict(sorted(settings[0].items())), "seeds": seeds, **columns}
            lines.append(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "summary.jsonl", "".join(lines))


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise RunError(f"{path} is damaged; restore it from a copy, or delete it to train its cells again.") from None

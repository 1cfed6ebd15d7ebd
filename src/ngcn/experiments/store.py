"""`Store`: a folder of outcomes, a small file per cell, that any number of processes can fill and take up again.

STORE/cells/cora-ngcn-fc-K6-r4-seed3-1f0c...json   one cell, written when it is done
STORE/running/...                                  checkpoints of those that are not
STORE/summary.jsonl                                all cells in one file, a line per configuration; enough by itself
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ngcn.errors import RunError
from ngcn.experiments.cell import Cell, Outcome, key_of
from ngcn.files import atomic, write_text


class Store:
    """The outcomes in ``folder``: those of its summary, and, after :meth:`refresh`, those of its cells.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from ngcn.experiments.cell import Setup
        >>> from ngcn import Config
        >>> cell = Cell(Setup(Config(model="gcn")), seed=0)
        >>> with TemporaryDirectory() as folder:
        ...     store = Store(folder)
        ...     with store.claim(cell) as mine:
        ...         store.put(cell, {"val": 0.8, "test": 0.81})
        ...     store.refresh()
        ...     store.write_summary()
        ...     Store(folder).get(cell)["test"]
        0.81
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._read: set[str] = set()  # names of the files of cells that are in `_known`

    @cached_property
    def _known(self) -> dict[str, tuple[dict[str, Any], int, Outcome]]:
        """All there is, by key; read when first asked for, since a process that only puts does not need it."""
        known = {}
        path = self.folder / "summary.jsonl"
        if path.exists():
            with _blamed(path):
                for text in path.read_text(encoding="utf-8").splitlines():
                    columns = json.loads(text)
                    settings, seeds = columns.pop("settings"), columns.pop("seeds")
                    for row, seed in enumerate(seeds):
                        outcome = {name: column[row] for name, column in columns.items()}
                        known[key_of(settings, seed)] = settings, seed, outcome
        return known

    def path(self, cell: Cell) -> Path:
        """Its file, there or not."""
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
        """Those of ``cells`` that are there, in their order."""
        return [outcome for outcome in map(self.get, cells) if outcome is not None]

    def refresh(self) -> None:
        """Read what has come since, from whatever process."""
        for path in sorted((self.folder / "cells").glob("*.json")):
            if path.name not in self._read:
                with _blamed(path):
                    entry = json.loads(path.read_text(encoding="utf-8"))
                    settings, seed = entry["settings"], entry["seed"]
                    self._known[key_of(settings, seed)] = settings, seed, entry["outcome"]
                self._read.add(path.name)

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep an outcome, on disk when this returns."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"settings": cell.setup.settings, "seed": cell.seed, "outcome": outcome}
        write_text(path, json.dumps(entry, allow_nan=False) + "\n")

    @contextmanager
    def claim(self, cell: Cell) -> Iterator[bool]:
        """While this is open, no other process gets the cell; False if one has it.

        A lock on one byte of one file, at a place that stands for the cell: the system takes it back when the process
        ends, however it ends. A process can have one cell at a time: giving one back gives back all.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".claims").open("a") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(cell.key[:15], 16))
            except (BlockingIOError, PermissionError):  # as systems say that another has it
                yield False
                return
            except OSError as error:
                raise RunError(
                    f"{self.folder} is on a file system without locks ({error.strerror}), which processes that share "
                    "it need; choose another `results`."
                ) from None
            yield True  # closing the file gives it back

    def write_summary(self) -> None:
        """Write ``summary.jsonl``: a line per configuration with its settings, its seeds, and a list per score."""
        lines: dict[str, dict[str, Any]] = {}
        for settings, seed, outcome in sorted(self._known.values(), key=lambda known: known[1]):
            line = lines.setdefault(json.dumps(settings, sort_keys=True), {"settings": settings, "seeds": []})
            for name in outcome:
                line.setdefault(name, [None] * len(line["seeds"]))
            line["seeds"].append(seed)
            for name in line.keys() - {"settings", "seeds"}:
                line[name].append(outcome.get(name))
        for line in lines.values():
            line["settings"] = dict(sorted(line["settings"].items()))
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic(self.folder / "summary.jsonl") as temporary, temporary.open("w", encoding="utf-8") as file:
            for _, line in sorted(lines.items()):
                file.write(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise RunError(
            f"{path} is damaged; put a good copy in its place, or delete it, and what it held is computed again."
        ) from None

"""`Work`: an unfinished build. What its finished stages found, and the files of those to come."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ngcn.errors import DatasetError, NGCNError
from ngcn.files import lock, new_files, remove_leftovers, write_json
from ngcn.text import gigabytes

RowProgress = Callable[[str, int, int], None]  # the stage, the rows that are done, and rows in total
WORTH = 60.0  # seconds of work that is kept after an error
FULL = (errno.ENOSPC, errno.EDQUOT)


class Work:
    """A folder in which a graph is built. Its part ``.build`` is deleted at the end.

    Args:
        out: the folder of the graph.
        on_progress: called with the stage, the number of rows that are done, and that of all rows.
    """

    def __init__(self, out: Path, on_progress: RowProgress | None = None) -> None:
        self.out, self.folder = out, out / ".build"
        self.on_progress = on_progress or (lambda stage, done, total: None)

    def __reduce__(self) -> tuple[Any, ...]:
        """For a task on another machine, which tells no progress."""
        return Work, (self.out.absolute(),)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder, and let a full disk be one clear error.

        After an error in the tables, nothing stays of a build that has taken less than a minute.
        """
        begun = time.monotonic()
        try:
            with new_files(self.folder):
                descriptor = lock(self.folder)
                if descriptor is None:
                    raise DatasetError(
                        f"{self.out} is being built by another process; wait for it, or use another folder."
                    )
                try:
                    remove_leftovers(self.out)
                    remove_leftovers(self.folder)
                    continued = any(self.folder.glob("*.json"))
                    yield
                except NGCNError:
                    if not continued and time.monotonic() - begun < WORTH:
                        self.clean()
                    raise
                finally:
                    os.close(descriptor)
        except OSError as error:
            if error.errno not in FULL:
                raise
            what = "No space is left on the disk. Free some and repeat the command: it continues where it stopped"
            raise OSError(error.errno, what, str(self.out)) from None

    def stage(self, name: str, inputs: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a stage found. It runs unless it did so before, with the same inputs."""
        found = self.saved(name, inputs)
        if found is None:
            found = run()
            self.save(name, inputs, found)
        return found

    def saved(self, name: str, inputs: str) -> dict[str, Any] | None:
        """What was saved, if it was for these inputs."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            saved = json.loads((self.folder / f"{name}.json").read_bytes())
            if saved["inputs"] == inputs:
                found: dict[str, Any] = saved["found"]
                return found
        return None

    def save(self, name: str, inputs: str, found: dict[str, Any]) -> None:
        write_json(self.folder / f"{name}.json", {"inputs": inputs, "found": found})

    def finish(self) -> None:
        """Move the finished arrays to the graph."""
        for path in sorted(self.folder.glob("*.npy")):
            path.replace(self.out / path.name)

    def clean(self) -> None:
        """Delete what only the build needed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def check_space(self, needed: int) -> None:
        """Raise an error if the disk lacks this many bytes."""
        there = sum(path.stat().st_size for folder in (self.out, self.folder) for path in folder.glob("*.*"))
        if needed - there > (free := shutil.disk_usage(self.folder).free):
            raise DatasetError(
                f"{self.out} needs about {gigabytes(needed - there)} more on the disk, and {gigabytes(free)} are free; "
                "free some, or use a folder on another disk."
            )


class GrowingArray:
    """An .npy file that is written row by row.

    Args:
        work: the build.
        name: of the array.
        dtype: of its entries.
        columns: the shape of a row.
        rows: that it has already and are kept; others are cut off.
    """

    def __init__(self, work: Work, name: str, dtype: Any, columns: Sequence[int] = (), rows: int = 0) -> None:
        self.dtype, self.columns, self.rows = np.dtype(dtype), tuple(columns), rows
        self.file = (work.folder / f"{name}.npy").open("r+b" if rows else "wb")
        self._write_header()
        self.start = self.file.tell()
        self.file.seek(self.start + rows * self.dtype.itemsize * int(np.prod(self.columns)))
        self.file.truncate()

    def _write_header(self) -> None:
        kind = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": kind, "fortran_order": False, "shape": (self.rows, *self.columns)}
        np.lib.format.write_array_header_1_0(self.file, header)  # pads it: the number of rows may grow

    def append(self, rows: np.ndarray) -> None:
        assert rows.shape[1:] == self.columns
        self.file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.rows += len(rows)

    def __enter__(self) -> GrowingArray:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        """Write the number of rows, unless something went wrong."""
        with self.file:
            if kind is None:
                self.file.seek(0)
                self._write_header()
                assert self.file.tell() == self.start
                self.file.flush()
                os.fsync(self.file.fileno())


def append_to(path: Path, array: np.ndarray) -> None:
    """Write an array at the end of a file without a header."""
    if len(array):
        with path.open("ab") as file:
            file.write(np.ascontiguousarray(array).data)


def digest(*values: Any) -> str:
    """A hash of what a stage depends on."""
    return hashlib.sha256(json.dumps(values, default=str, sort_keys=True).encode()).hexdigest()[:16]


def of_files(paths: Sequence[Path]) -> list[list[Any]]:
    """What changes if a file does."""
    return [[str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]

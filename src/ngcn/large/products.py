r"""Products :math:`S_k = \hat{A}^k X` of graphs that do not fit into memory, in blocks.

The plan is a list of tasks for each power. A task reads one slab of columns of :math:`S_{k-1}`, and writes some rows of
the same columns of :math:`S_k` to a file of its own. Tasks of one power may run in any order, in any process that sees
the files; one whose file exists is finished.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ngcn.data.npz import map_array
from ngcn.engine import Executor, Local
from ngcn.errors import ConfigError, RunError
from ngcn.files import atomic, remove_leftovers, write_json
from ngcn.json_file import Schema, read_json
from ngcn.large.links import Links
from ngcn.large.rows import Prepared, Slabs, chunks
from ngcn.memory import check_memory

PLAN: Schema = {"key": str, "normalization": str, "shape": list[int], "columns": int, "rows": int, "half": bool}
OTHER = 10**9  # bytes for the code, its libraries and everything else that the process holds
PER_NODE = 60  # bytes of it for each node: masks, scales, degrees
ALIGNED = 16  # columns in a cache line
LARGEST_BLOCK, SMALLEST_BLOCK = 1 << 27, 1 << 16  # bytes of a file
Progress = Callable[[int, int], None]  # blocks that are done, blocks in total


def working_set(memory: int, nodes: int = 0) -> int:
    """What is left of the memory for slabs and blocks."""
    return max(memory - OTHER - PER_NODE * nodes, memory // 2)


@dataclass(frozen=True)
class Task:
    """Some rows of a slab of :math:`S_k`: a file that is a function of other files.

    Args:
        links: the graph.
        normalization: which Â.
        source: X, or the files with the blocks of the slab of :math:`S_{k-1}`.
        columns: the first column of the slab, and the one after its last.
        rows: the first row of the block, and the one after its last.
        half: write float16.
        out: the file to write.
    """

    links: Links
    normalization: str
    source: Prepared | tuple[Path, ...]
    columns: tuple[int, int]
    rows: tuple[int, int]
    half: bool
    out: Path

    def __call__(self) -> None:
        if self.out.exists():
            return
        product = self.links.multiply(self.normalization, self._slab(), *self.rows)
        with atomic(self.out) as temporary, temporary.open("wb") as file:
            np.save(file, product.astype(np.float16) if self.half else product)

    def _slab(self) -> np.ndarray:
        """The slab, multiplied by the inner scale of Â. The last one is kept, for the next task."""
        key = self.out.parent, self.columns, self.normalization
        if _kept.get("key") == key and _kept.get("source") == self.source:
            kept: np.ndarray = _kept["slab"]
            return kept
        _kept.clear()  # before the next one is allocated
        first, last = self.columns
        slab = np.empty((self.links.nodes, last - first), np.float32)
        inner = self.links.scales(self.normalization)[0]
        source = self.source if isinstance(self.source, Prepared) else Slabs([list(map(map_array, self.source))])
        for start, stop in chunks(self.links.nodes, source.shape[1]):
            rows = source[start:stop]
            rows = rows[:, first:last] if rows.shape[1] > last - first else rows
            np.multiply(rows, 1 if inner is None else inner[start:stop, None], out=slab[start:stop])
        _kept.update(key=key, source=self.source, slab=slab)
        return slab


_kept: dict[str, Any] = {}  # the slab that this process has read last


def powers_of(
    links: Links,
    normalization: str,
    X: Prepared,
    powers: Sequence[int],
    *,
    folder: Path | None = None,
    memory: int = 4 * 10**9,
    half: bool = False,
    executor: Executor | None = None,
    on_progress: Progress | None = None,
    key: str = "",
) -> dict[int, Prepared | Slabs]:
    r"""The products :math:`S_k = \hat{A}^k X` for these powers k; that for k = 0 is X itself.

    Args:
        links: the graph.
        normalization: which Â: symmetric, row or walk.
        X: the features.
        powers: the powers; those in between are computed as well.
        folder: where to keep them; existing files are reused. None for memory.
        memory: the bytes that the process may use.
        half: write float16, whose relative error is up to 1/2048 for each product; float32 takes twice the space.
        executor: runs the tasks; on this machine if None.
        on_progress: called after each block with the numbers of blocks that are done, and in total.
        key: tells X from other matrices of the same shape.

    Example:
        >>> import scipy.sparse as sp
        >>> from ngcn.large.links import links_of
        >>> edge = links_of(sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))
        >>> powers_of(edge, "row", Prepared(np.array([[1.0], [2.0]])), [0, 2])[2][0:2].tolist()
        [[1.5], [1.5]]
    """
    links.scales(normalization)  # an error if there is no such operator
    if folder is None:
        found = _in_memory(links, normalization, X, max(powers))
    else:
        plan = _plan(folder, links, X.shape, normalization, memory, half, key)
        total = max(powers) * len(plan.slabs) * len(plan.blocks)
        _check_space(folder, X.shape, max(powers), half)
        run, done = (executor or Local()).run, count(1)
        found = [X]
        for k in range(1, max(powers) + 1):
            try:
                for _ in run(plan.tasks(links, X, k)):
                    if on_progress:
                        on_progress(next(done), total)
            finally:
                _kept.clear()
            found.append(plan.product(k))
    return {k: found[k] for k in powers}


def _in_memory(links: Links, normalization: str, X: Prepared, most: int) -> list[Prepared | Slabs]:
    needed = 4 * links.nodes * X.shape[1] * (most + 1)
    check_memory(needed, f"Keeping Â^k X for k up to {most}", "put the graph on disk: `ngcn build`", ConfigError)
    inner, found = links.scales(normalization)[0], list[Prepared | Slabs]([X])
    for k in range(most):
        rows = found[k][0 : links.nodes]
        found.append(Slabs([[links.multiply(normalization, rows if inner is None else rows * inner[:, None])]]))
    return found


@dataclass(frozen=True)
class _Plan:
    """How the products are cut into files, ``FOLDER/k/SLAB-BLOCK.npy``.

    Args:
        slabs, blocks: ranges of columns, and of rows.
    """

    folder: Path
    normalization: str
    half: bool
    slabs: list[tuple[int, int]]
    blocks: list[tuple[int, int]]

    def files(self, k: int) -> list[list[Path]]:
        """For each slab the files of its blocks."""
        return [[self.folder / f"{k}/{s}-{b}.npy" for b in range(len(self.blocks))] for s in range(len(self.slabs))]

    def tasks(self, links: Links, X: Prepared, k: int) -> list[Task]:
        """What computes :math:`S_k`."""
        (self.folder / f"{k}").mkdir(exist_ok=True)
        remove_leftovers(self.folder / f"{k}")
        sources = [X if k == 1 else tuple(before) for before in self.files(k - 1)]
        return [
            Task(links, self.normalization, source, columns, rows, self.half, out)
            for source, columns, files in zip(sources, self.slabs, self.files(k), strict=True)
            for rows, out in zip(self.blocks, files, strict=True)
        ]

    def product(self, k: int) -> Slabs:
        """:math:`S_k`, once its tasks are done."""
        return Slabs(
            [
                [_checked(path, rows, columns) for path, rows in zip(files, self.blocks, strict=True)]
                for files, columns in zip(self.files(k), self.slabs, strict=True)
            ]
        )


def _plan(
    folder: Path, links: Links, shape: tuple[int, int], normalization: str, memory: int, half: bool, key: str
) -> _Plan:
    """The plan that is in the folder already, or one whose slabs and blocks are as large as memory allows."""
    nodes, available = links.nodes, working_set(memory, links.nodes)
    most_columns = int(available * 0.85) // (4 * nodes)
    if most_columns < 1:
        raise ConfigError(
            f"A column of {nodes:,} nodes takes {4 * nodes / 1e9:.1f} GB, so `memory` must be at least "
            f"{(4 * nodes / 0.85 + OTHER + PER_NODE * nodes) / 1e9:.1f} GB."
        )
    columns = min(shape[1], most_columns)
    if ALIGNED < columns < shape[1]:
        columns -= columns % ALIGNED
    rows = max(1, min(LARGEST_BLOCK, max(SMALLEST_BLOCK, int(available * 0.05))) // (4 * columns))
    plan = {"key": key, "normalization": normalization, "shape": list(shape), "half": half}
    path = folder / "plan.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_json(path, {**plan, "columns": columns, "rows": rows})
    try:
        found = read_json(path, PLAN)
    except ValueError:
        raise RunError(f"{path} is damaged; delete {folder}.") from None
    if other := [name for name, value in plan.items() if found[name] != value]:
        raise RunError(f"{folder} holds the products of another graph or other settings ({other[0]}); delete it.")
    if min(found["columns"], found["rows"]) < 1:
        raise RunError(f"{path} is damaged; delete {folder}.")
    if found["columns"] > most_columns:
        raise ConfigError(f"{folder} was begun with more `memory`; use as much, or delete it.")
    slabs, blocks = _ranges(shape[1], found["columns"]), _ranges(nodes, found["rows"])
    return _Plan(folder, normalization, half, slabs, blocks)


def _ranges(total: int, step: int) -> list[tuple[int, int]]:
    return [(start, min(start + step, total)) for start in range(0, total, step)]


def _check_space(folder: Path, shape: tuple[int, int], most: int, half: bool) -> None:
    """Raise an error if the disk lacks the space for the blocks that are missing."""
    whole = shape[0] * shape[1] * (2 if half else 4) * most
    there = sum(path.stat().st_size for path in folder.glob("*/*.npy"))
    if whole - there > (free := shutil.disk_usage(folder).free):
        raise OSError(
            errno.ENOSPC,
            f"The products need {(whole - there) / 1e9:,.1f} GB more, and {free / 1e9:,.1f} GB are free",
            str(folder),
        )


def _checked(path: Path, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
    try:
        block = map_array(path)
    except ValueError as error:
        raise RunError(f"{error}; delete it, and it will be computed again.") from None
    if block.shape != (rows[1] - rows[0], columns[1] - columns[0]) or block.dtype not in (np.float32, np.float16):
        raise RunError(f"{path} has another shape than it should; delete it, and it will be computed again.")
    return block

"""Whether the tables that `ngcn train` is given are better built on disk, and where."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from ngcn.data.catalog import is_path
from ngcn.data.large_table import ENDINGS, LargeTable
from ngcn.data.parts import log
from ngcn.errors import DatasetError
from ngcn.files import user_path
from ngcn.graph import StoredGraph, is_stored
from ngcn.large.building.build import build, tables_in
from ngcn.large.building.work import RowProgress, digest
from ngcn.memory import free_memory

MOST_EDGES = 10**7  # that are read into memory
PER_EDGE, PER_CELL = 60, 16  # bytes of memory, about, while a graph is read and trained on
UNSUPPORTED = ("text",)  # options that a build does not take


def needs_build(dataset: str, **files: Any) -> bool:
    """Whether a graph is in tables that are better built on disk than read into memory.

    That is so with more than 10^7 edges, if reading would take more than a third of the free memory, and for tables in
    part files. Nothing but the sizes and the first rows is looked at.

    Args:
        dataset: a path, or a name in the catalog, which is never built.
        files: the options of :func:`~ngcn.graph.load_dataset` for reading a path.
    """
    tables = _tables(dataset, files)
    return tables is not None and _is_large(tables["edges"], tables["nodes"])


def build_beside(
    folder: Path,
    dataset: str,
    *,
    name: str,
    memory: str | None = None,
    on_progress: RowProgress | None = None,
    **files: Any,
) -> StoredGraph:
    """Build the graph in a folder for such graphs; one that was built there from the same files is only opened."""
    tables = _tables(dataset, files)
    assert tables, "needs_build says whether there are any"
    paths = {table: str(path.absolute()) for table, path in tables.items()}
    how = {key: value for key, value in files.items() if key not in ("edges", "feature_table", *UNSUPPORTED)}
    out = folder / f"{name}-{digest(paths, how)[:8]}"
    how |= {"out": out, "name": name, "memory": memory or "4GB", "on_progress": on_progress, **tables}
    if not is_stored(out):
        log.warning(f"{name} is large: it is built on disk, in {out}, and read from there.")
    try:
        return build(**how)
    except DatasetError:
        if not is_stored(out):
            raise
    log.warning(f"The files of {name} have changed since {out} was built: it is built again.")
    shutil.rmtree(out)
    return build(**how)


def _tables(dataset: str, files: dict[str, Any]) -> dict[str, Path] | None:
    """The tables of a graph, by the argument of :func:`build` that they are; None if that does not take them."""
    if not is_path(dataset) or any(files.get(option) for option in UNSUPPORTED):
        return None
    path = user_path(dataset)
    tables = {table: user_path(files[table]) for table in ("edges", "feature_table") if files.get(table)}
    if path.is_dir() and not is_stored(path):
        with suppress(DatasetError, OSError):
            return tables_in(path) | tables
    elif "edges" in tables and path.name.lower().endswith(ENDINGS):
        return {"nodes": path, **tables}
    return None


def _is_large(edge_path: Path, node_path: Path) -> bool:
    if edge_path.is_dir() or node_path.is_dir():
        return True
    try:
        edges, nodes = LargeTable(edge_path), LargeTable(node_path)
    except DatasetError:  # reading it into memory says what is wrong
        return False
    needed = PER_EDGE * edges.rows + PER_CELL * nodes.rows * len(nodes.columns)
    return edges.rows > MOST_EDGES or needed > free_memory() // 3

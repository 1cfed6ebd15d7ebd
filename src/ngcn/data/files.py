"""Read a graph by its name or path: find the reader for the format, and call it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ngcn.data.catalog import check_exists, fetch, find, is_path, whereabouts
from ngcn.data.parts import Parts, without_defaults
from ngcn.errors import DatasetError, NGCNError
from ngcn.files import user_path
from ngcn.registry import load

TABLES = "ngcn.data.node_edge_tables:read_tables"
OF_EDGES = ("edges", "source", "target", "unknown_nodes")
COLUMNS = ("id", "label", "one_hot", "text", "ignore", "multilabel", "columns")
# To add a format, add one file with a function `(path, name, **options) -> Parts` and one line here: a pattern for file
# names, whose first group is the name of the graph; the reader, or its name, to be imported when needed; its options.
READERS: dict[str, tuple[str | Callable[..., Parts], tuple[str, ...]]] = {
    r"(.+)\.(csv|tsv|parquet)(\.gz)?": (TABLES, (*OF_EDGES, "feature_table", *COLUMNS)),
    r"(.+)\.(graphml|gexf)(\.gz)?": ("ngcn.data.adapters:read_graphml", COLUMNS),
    r"(.+)\.npz": ("ngcn.data.npz:read_npz", ()),
    r"ind\.(.+)\.graph": ("ngcn.data.planetoid:read_planetoid", ()),
    r"(.+)-G\.json": ("ngcn.data.graphsage:read_graphsage", ()),
}
MOST_LISTED = 5  # files in a message
FORMATS = (
    "nodes.csv and edges.csv (or .tsv, .parquet, gzipped or not), one .npz, .graphml or .gexf file, Planetoid's "
    "ind.NAME.* or GraphSAGE's NAME-G.json"
)


def read(name: str, **options: Any) -> Parts:
    """Read a dataset of the catalog, a folder or a file.

    Args:
        name: a name in the catalog; a folder with tables, with Planetoid's or GraphSAGE's files, or with one file of
            another format; an .npz, .graphml or .gexf file; or a table of nodes.
        options: for a path, ``edges`` and ``feature_table``, the other tables; and ``id``, ``source``, ``target``,
            ``label``, ``one_hot``, ``text``, ``ignore``, ``multilabel``, ``unknown_nodes`` and ``columns`` of
            :func:`~ngcn.data.node_edge_tables.parts_of_tables`. Formats without tables ignore ``columns``.
    """
    columns = options.pop("columns", None)  # of a model, whatever it is used on
    given = without_defaults(**options)
    check_exists(name)
    if not is_path(name):
        dataset = find(name)
        if given:
            raise DatasetError(f"{name} is a dataset of the catalog, which does not take {_listed(given)}.")
        folder = None if whereabouts(dataset)[0] == "generated" else fetch(name)
        parts = load(dataset.reader)(folder, name)
        return replace(parts, class_names=dataset.class_names or parts.class_names)
    path = user_path(name)
    if path.is_dir():
        path, tables = _in_folder(path, given)
        given = tables | given
    graph, reader, allowed = _reader(path)
    if not reader:
        raise DatasetError(f"{path} is not a graph that can be read; a folder should hold {FORMATS}.")
    if columns is not None and "columns" in allowed:
        given["columns"] = columns
    if unused := [option for option in given if option not in (*allowed, "name")]:
        raise DatasetError(f"{path} has a format that does not take {_listed(unused)}.")
    try:
        return load(reader)(path, **{"name": graph, **given})
    except (NGCNError, OSError):
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, MemoryError) as error:
        # Whatever a library raises for content that no reader expected. MemoryError has no text
        reason = str(error) or "it does not fit into memory"
        raise DatasetError(f"{path} cannot be read as a graph: {reason.rstrip('.')}.") from error


def _listed(options: Any) -> str:
    return ", ".join(f"`{option}`" for option in options)


def _reader(path: Path) -> tuple[str, str | Callable[..., Parts], tuple[str, ...]]:
    """Return the name of the graph in a file, its reader ("" if there is none) and the options of that."""
    for pattern, reader in READERS.items():
        if found := re.fullmatch(pattern, path.name, re.IGNORECASE):
            return found[1], *reader
    return "", "", ()


def _in_folder(folder: Path, given: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Return the file that represents a folder, and options for its reader."""
    nodes, edges, features = (_find_table(folder, table) for table in ("nodes", "edges", "features"))
    if nodes:
        return nodes, {"name": folder.resolve().name, "edges": edges or folder / "edges.csv", "feature_table": features}
    if edges:
        raise DatasetError(f"{folder} has no nodes.csv (or .tsv, .parquet, gzipped or not){_name_tables(folder)}.")
    files = sorted(file for file in folder.iterdir() if file.is_file())
    found = [file for file in files if _reader(file)[1] not in ("", TABLES)]
    if not found:
        what = f"{folder} holds no graph that can be read; it should hold {FORMATS}"
        raise DatasetError(f"{what}{_name_tables(folder)}.")
    if len(found) > 1:
        names = ", ".join(file.name for file in found[:MOST_LISTED])
        raise DatasetError(f"{folder} holds more than one graph ({names}); name one file, or use a folder for each.")
    return found[0], {}


def _name_tables(folder: Path) -> str:
    """What to do with the tables in a folder, whose names do not say what they are."""
    files = [file.name for file in sorted(folder.iterdir()) if _reader(file)[1] == TABLES]
    if len(files) < 2:
        return ""
    more = f" and {len(files) - MOST_LISTED} more" if len(files) > MOST_LISTED else ""
    there = f"{', '.join(files[:MOST_LISTED])}{more}"
    how = "name the table of nodes in place of the folder, and that of edges with `edges='FILE'`"
    return f"; it has {there}: {how}"


def _find_table(folder: Path, table: str) -> Path | None:
    found = [file for file in sorted(folder.iterdir()) if _reader(file)[:2] == (table, TABLES)]
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise DatasetError(f"{folder} has both {names}; remove or rename all but one of them.")
    return found[0] if found else None

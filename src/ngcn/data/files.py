"""What kind of files a path leads to, and the reader for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ngcn.data.assemble import Trained, for_model
from ngcn.data.catalog import DatasetError
from ngcn.data.splits import with_split
from ngcn.graph import Graph

TABLE_ENDINGS = tuple(f".{kind}{packed}" for kind in ("csv", "tsv", "parquet") for packed in ("", ".gz"))
SINGLE_ENDINGS = (".npz", ".graphml", ".gexf", ".graphml.gz", ".gexf.gz")
FORMS = (
    "nodes.csv and edges.csv (or .tsv, .parquet, with .gz or not), one .npz, .graphml or .gexf file, Planetoid's "
    "ind.NAME.* or GraphSAGE's NAME-G.json"
)


def read_files(
    path: str | Path,
    *,
    edges: str | Path | None = None,
    feature_table: str | Path | None = None,
    split: str = "planetoid",
    seed: int = 0,
    trained: Trained | None = None,
    **columns: Any,
) -> Graph:
    """The graph in a folder, or in a file (with ``edges`` and ``feature_table`` beside it if it is a table of nodes).

    Args:
        path: a folder with tables, with Planetoid's or GraphSAGE's files, or with one of the files that follow; an
            .npz, .graphml or .gexf file; or a table of nodes.
        edges, feature_table: the other tables.
        columns: ``label``, ``one_hot``, ``ignore`` and ``multilabel`` of :func:`~ngcn.data.tables.graph_from_tables`.
        split, seed, trained: as in :func:`~ngcn.data.assemble.assemble`.
    """
    path = Path(path)
    if not path.exists():
        raise DatasetError(f"There is no file or folder {path}.")
    if path.is_dir():
        found = {table: _the_only(path, table) for table in ("nodes", "edges", "features")}
        if found["nodes"] or found["edges"]:
            missing = next((table for table in ("nodes", "edges") if not found[table]), None)
            if missing and not (missing == "edges" and edges):
                raise DatasetError(f"{path} has no {missing}.csv (or .tsv, .parquet, with .gz or not).")
            name, path = path.resolve().name, found["nodes"] or path
            edges, feature_table = edges or found["edges"], feature_table or found["features"]
        else:
            path = _other_form(path)
            name = path.stem
    else:
        name = path.name.split(".")[0]
    how: dict[str, Any] = {"split": split, "seed": seed, "trained": trained}
    if path.name.lower().endswith(TABLE_ENDINGS):
        from ngcn.data.tables import read_tables

        if edges is None:
            raise DatasetError(f"{path} is a table of nodes; name the table of edges too, with --edges FILE.")
        return read_tables(path, edges, feature_table, name=name, **columns, **how)
    if edges or feature_table:
        raise DatasetError(f"{path} is no table of nodes, so there is no use for tables of edges or features.")
    if path.name.lower().endswith((".graphml", ".gexf", ".graphml.gz", ".gexf.gz")):
        from ngcn.data.networks import read_network

        return read_network(path, name=name, **columns, **how)
    if any(value and value != "label" for value in columns.values()):
        raise DatasetError(
            f"{path} has no columns to choose from: label, one-hot, ignore and multilabel are for tables."
        )
    if path.name.lower().endswith(".npz"):
        from ngcn.data.npz import read_npz

        return read_npz(path, name=name, **how)
    return _published(path, split, seed, trained)


def _the_only(folder: Path, table: str) -> Path | None:
    found = [folder / f"{table}{ending}" for ending in TABLE_ENDINGS if (folder / f"{table}{ending}").exists()]
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise DatasetError(f"{folder} has both {names}; remove or rename all but one of them.")
    return found[0] if found else None


def _other_form(folder: Path) -> Path:
    """The file that stands for a folder without tables."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    found = [
        file
        for file in files
        if file.name.endswith(("-G.json", *SINGLE_ENDINGS))
        or (file.name.startswith("ind.") and file.suffix == ".graph")
    ]
    if not found:
        raise DatasetError(f"{folder} holds no graph that can be read; it should hold {FORMS}.")
    if len(found) > 1:
        names = ", ".join(file.name for file in found[:5])
        raise DatasetError(f"{folder} holds more than one graph ({names}); name one file, or make a folder for each.")
    return found[0]


def _published(path: Path, split: str, seed: int, trained: Trained | None) -> Graph:
    """Planetoid's or GraphSAGE's files, of which ``path`` is one."""
    if path.name.endswith("-G.json"):
        from ngcn.data.ppi import read_graphsage

        graph = read_graphsage(path.parent, path.name.removesuffix("-G.json"))
    elif path.name.startswith("ind.") and path.suffix == ".graph":
        from ngcn.data.planetoid import read_planetoid

        graph = read_planetoid(path.parent, path.name.removeprefix("ind.").removesuffix(".graph"))
    else:
        raise DatasetError(f"{path} is not a graph that can be read; a folder should hold {FORMS}.")
    return with_split(graph, split, seed) if trained is None else for_model(graph, trained)

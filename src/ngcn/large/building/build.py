"""`build`: from tables of any size to a graph on disk."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngcn import checks
from ngcn.data.columns import Column, announce
from ngcn.data.feature_columns import plan_columns
from ngcn.data.large_table import LargeTable
from ngcn.data.node_edge_tables import end_columns, special_columns, warn_about_unused, warn_about_weights
from ngcn.data.node_ids import warn_about_dropped
from ngcn.data.parts import log, without_defaults
from ngcn.data.remote import here
from ngcn.engine import Ray
from ngcn.errors import ConfigError, DatasetError, Problems
from ngcn.files import is_url, write_json
from ngcn.graph import StoredGraph, is_stored, open_graph
from ngcn.graph.stored import MOST_NODES, write_meta
from ngcn.json_file import read_json
from ngcn.large.building.edges import EdgeTable, write_adjacency
from ngcn.large.building.features import Features
from ngcn.large.building.ids import Ids
from ngcn.large.building.nodes import NodeTable, read_nodes
from ngcn.large.building.work import RowProgress, Work, digest, of_files
from ngcn.memory import memory_bytes
from ngcn.version import __version__

Paths = Path | str | Sequence[Path | str]
BUILT = "built.json"  # what a graph was built from


def build(
    edges: Paths,
    nodes: Paths | None = None,
    *,
    out: Path | str,
    features: Path | str | None = None,
    feature_table: Paths | None = None,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    label: str = "label",
    one_hot: Sequence[str] = (),
    ignore: Sequence[str] = (),
    multilabel: bool = False,
    unknown_nodes: str = "error",
    half: bool = False,
    memory: str | int = "4GB",
    name: str = "",
    engine: Ray | None = None,
    on_progress: RowProgress | None = None,
) -> StoredGraph:
    """Build a graph on disk from tables of any size, in bounded memory.

    The columns are those of smaller graphs, see :func:`~ngcn.data.node_edge_tables.parts_of_tables`. How a column of
    text is read is decided from the first rows. A build that was stopped continues when it is repeated.

    Args:
        edges: Parquet, CSV or TSV files (the latter may be gzipped), .npy files with pairs of integers, or folders of
            part files. Without ``nodes``, a folder that has ``edges.*``, ``nodes.*`` and maybe ``features.*``. All
            tables may be URLs, such as s3://bucket/edges: they are copied first.
        nodes: Parquet, CSV or TSV files with a row per node.
        out: the folder to write.
        features: features of all nodes, in their order: a matrix in an .npy file, or a sparse one in an .npz file that
            ``scipy.sparse.save_npz`` wrote.
        feature_table: sparse features, in rows of (id, feature, value); files as for ``edges``.
        id, source, target, label, one_hot, ignore, multilabel, unknown_nodes: as for smaller graphs.
        half: store features in half precision, float16.
        memory: the private memory that may be used; the rest of the machine's memory serves as a cache of the files.
        name: the name of the graph; that of the folder if not given.
        engine: a Ray cluster whose machines read edges and features, and sort edges; this machine if None. The files
            are the same. All machines must see the tables and ``out``.
        on_progress: called with the stage, the number of rows that are done, and that of all rows.

    Returns:
        The graph, memory-mapped.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "edges.csv").write_text("source,target\\n0,1\\n1,2\\n1,0\\n")
        >>> _ = (folder / "nodes.csv").write_text("id,label,age\\n0,x,1.5\\n1,y,2\\n2,,3\\n")
        >>> build(folder / "edges.csv", folder / "nodes.csv", out=folder / "graph")
        Graph('graph', nodes=3, edges=2, features=1, classes=2, train=0, val=0, test=0)
    """
    bytes_ = memory_bytes(memory)
    drop = checks.unknown_nodes("unknown_nodes", unknown_nodes) == "drop"
    if is_url(out):
        raise ConfigError(
            f"out={out}: a graph is mapped into memory, so it needs a folder on a disk, or on a mounted one."
        )
    out = checks.file_path("out", out)
    work = Work(out, on_progress)
    if out.is_dir() and not work.folder.exists() and not is_stored(out) and any(out.iterdir()):
        raise DatasetError(f"{out} holds other files; use another folder.")
    sources = Sources.of(edges, nodes, features, feature_table, copies=work.folder)
    how = {"id": id, "label": label, "one_hot": one_hot, "ignore": ignore, "multilabel": multilabel}
    of_nodes = digest(__version__, of_files(sources.nodes.files), how)  # what the stages depend on
    of_edges = digest(of_nodes, of_files(sources.edges.files), source, target, unknown_nodes)
    of_graph = digest(of_edges, half, of_files(sources.of_features))
    if is_stored(out):
        if _built_from(out) != of_graph:
            raise DatasetError(
                f"{out} holds a graph that was built from something else; delete it, or use another folder."
            )
        work.clean()
        return open_graph(out)
    problems = Problems()
    with problems:
        node_table = _node_table(sources.nodes, how)
    with problems:
        edge_table = _edge_table(sources.edges, source, target, drop)
    problems.check()
    connected = engine.connected(work.folder, *sources.tables) if engine else nullcontext()
    with work.locked(), connected as cluster:
        work.check_space(_space(edge_table, node_table, half))
        read = work.stage("nodes", of_nodes, lambda: read_nodes(node_table, work))
        ids = Ids(work, **read["ids"], home=str(sources.nodes.files[0]))
        if ids.nodes > MOST_NODES:
            raise DatasetError(f"{ids.home} has {ids.nodes:,} nodes; a graph may have {MOST_NODES:,}.")
        work.stage("ids", of_nodes, lambda: ids.write(sources.nodes, node_table.special["id"]))
        written = write_adjacency(edge_table, ids, bytes_, of_edges, work, cluster)
        _warn_about_edges(edge_table, ids.home, written)
        given = Features(node_table, read["values"], sources.features, sources.feature_table, half, cluster)
        names = work.stage("features", of_graph, lambda: given.write(ids, bytes_, of_graph, work))["names"]
        work.finish()
        write_json(out / BUILT, {"inputs": of_graph})
        sizes = {"name": name or out.resolve().name, "nodes": ids.nodes, "weighted": edge_table.weight is not None}
        sizes |= {"edges": written["entries"] // 2, "entries": written["entries"]}
        columns = len(node_table.names(read["values"]))
        names = list(map(str, range(names))) if isinstance(names, int) else names
        of_edge_table = {"source": source, "target": target, "unknown_nodes": unknown_nodes}
        options = without_defaults(**of_edge_table, id=id, label=label, ignore=ignore, multilabel=multilabel)
        write_meta(out, sizes, len(names), read["classes"], names, columns, node_table.plan, options)
        work.clean()
    return open_graph(out)


@dataclass(frozen=True)
class Sources:
    """The files that a graph is built from.

    Attributes:
        edges, nodes: the tables.
        features, feature_table: features that are not columns of the table of nodes, see :func:`build`.
    """

    edges: LargeTable
    nodes: LargeTable
    features: Path | None
    feature_table: LargeTable | None

    @classmethod
    def of(cls, edges: Any, nodes: Any, features: Any, feature_table: Any, copies: Path) -> Sources:
        """Those that the arguments of :func:`build` name. URLs are copied into a folder."""
        edges, nodes = here(edges, copies / "edges"), here(nodes, copies / "nodes")
        features, feature_table = here(features, copies / "features"), here(feature_table, copies / "table")
        if nodes is None:
            found = tables_in(edges)
            edges, nodes = found["edges"], found["nodes"]
            features = found.get("features") if features is None else features
            feature_table = found.get("feature_table") if feature_table is None else feature_table
        return cls(
            LargeTable(edges),
            LargeTable(nodes),
            None if features is None else checks.file_path("features", features),
            None if feature_table is None else LargeTable(feature_table),
        )

    @property
    def of_features(self) -> list[Path]:
        files = [self.features] if self.features else []
        return files + (self.feature_table.files if self.feature_table else [])

    @property
    def tables(self) -> list[Path]:
        """What the machines of a cluster read."""
        return [*self.nodes.files, *self.edges.files, *(self.feature_table.files if self.feature_table else [])]


def tables_in(folder: Any) -> dict[str, Path]:
    """The tables in a folder by the argument of :func:`build` that they are; each may be a folder of part files."""
    if not isinstance(folder, str | Path) or not Path(folder).is_dir():
        raise DatasetError(f"{folder} is no folder with tables; give a table of nodes, too.")
    found = {}
    for table in ("edges", "nodes", "features"):
        there = [path for path in sorted(Path(folder).iterdir()) if path.name.split(".")[0].lower() == table]
        if len(there) > 1:
            raise DatasetError(f"{folder} has both {there[0].name} and {there[1].name}; remove one.")
        if not there and table != "features":
            raise DatasetError(f"{folder} has no table of {table}.")
        for path in there:
            matrix = path.suffix in (".npy", ".npz") or table != "features"
            found[table if matrix else "feature_table"] = path
    return found


def _node_table(table: LargeTable, how: dict[str, Any]) -> NodeTable:
    head = table.head()
    problems, missing = Problems(), Problems()
    special = special_columns(head, how["id"], how["label"], how["ignore"], problems, missing)
    if missing and (how["label"] != "label" or len(special) < 1 + len(how["ignore"])):
        problems += missing
    problems.check()
    if missing:
        log.warning(f"{head.has} no column 'label', so no node is labelled; `label` names another.")
    if "graph" in special and "split" not in special:
        raise DatasetError(
            f"{head.name}: a graph on disk is split by nodes, not by graphs; add a column 'split', or use "
            f"`ignore={[special['graph']]}`."
        )
    plan = plan_columns(head, list(special.values()), how["one_hot"], ())
    announce(head, [column for column in plan if column.name not in how["one_hot"]])
    if text := [column.name for column in plan if column.kind == "text"]:
        plan = [Column(column.name, "ignored") if column.kind == "text" else column for column in plan]
        log.warning(f"{head.name}: free text is not used in a graph on disk: {', '.join(text)} is ignored.")
    return NodeTable(table, special, plan, how["multilabel"] and "label" in special)


def _edge_table(table: LargeTable, source: str | None, target: str | None, drop: bool) -> EdgeTable:
    head = table.head()
    ends, weight = end_columns(head, source, target), head.find("weight")
    warn_about_unused(head, ends)
    if not len(head):
        log.warning(f"{head.has} no edges, so no node has a neighbour.")
    return EdgeTable(table, ends, weight, drop)


def _warn_about_edges(edges: EdgeTable, home: str, written: dict[str, Any]) -> None:
    file, rows = edges.table.files[0], written["rows"] - written["dropped"]
    if written["dropped"]:
        warn_about_dropped(str(file), home, written["dropped"], written["rows"], written["unknown"])
    if edges.weight and rows:
        warn_about_weights(str(file), written["weight"] / rows)
    if repeated := rows - written["entries"] // 2:
        many = f"{repeated:,} of {rows:,} rows"
        log.warning(f"{file}: {many} repeat an edge, in either direction, or join a node to itself.")


def _space(edges: EdgeTable, nodes: NodeTable, half: bool) -> int:
    """About how many bytes of disk the build needs at its peak."""
    per_edge = (16 + 8) + (8 + 8 if edges.weight else 0)
    per_node = (2 if half else 4) * len(nodes.plan) + 60
    return edges.table.rows * per_edge + nodes.table.rows * per_node


def _built_from(out: Path) -> str:
    try:
        inputs: str = read_json(out / BUILT, {"inputs": str})["inputs"]
        return inputs
    except (OSError, ValueError):
        return ""

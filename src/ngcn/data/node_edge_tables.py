"""A graph in tables: one of nodes, one of edges and, for sparse features, one of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.columns import Column, announce, column_facts, warn_about_case
from ngcn.data.feature_columns import check_one_hot, feature_blocks, plan_columns, sparse_features
from ngcn.data.node_ids import places, without_unknown
from ngcn.data.parts import UNKNOWN, Block, Masks, Parts, log, one_way, without_defaults
from ngcn.data.table import BadCells, Table, as_integers
from ngcn.data.table_file import read_table
from ngcn.errors import ConfigError, DatasetError, Problems
from ngcn.text import count, shown

IDS = ("id", "node_id", "nodeid", "node")  # names of the column of ids, and of the ends of an edge
ENDS = (
    ("source", "target"),
    *(("src", "dst"), ("from", "to"), ("source_id", "target_id"), ("from_id", "to_id"), ("src_id", "dst_id")),
    *(("id_1", "id_2"), ("id1", "id2"), ("node_1", "node_2"), ("node1", "node2"), ("u", "v")),
)
KNOWN = "rename the right one: the model was trained with this column."
SPLITS = {"train": 1, "val": 2, "valid": 2, "validation": 2, "test": 3}  # and 0 for none


class EdgeRows(NamedTuple):
    """What a table of edges says."""

    table: Table
    ends: tuple[str, str]  # its columns
    sources: np.ndarray  # positions of nodes
    targets: np.ndarray
    weights: np.ndarray | None


def read_tables(
    nodes: str | Path, edges: str | Path | None = None, feature_table: str | Path | None = None, **how: Any
) -> Parts:
    """Read two or three files, CSV, TSV or Parquet, gzipped or not; ``how`` as in :func:`parts_of_tables`."""
    problems, tables = Problems(), {}
    for purpose, path in {"nodes": nodes, "edges": edges, "feature_table": feature_table}.items():
        with problems:
            if path:
                tables[purpose] = read_table(path)
            elif purpose == "edges":
                raise DatasetError(f"{nodes} is a table of nodes; a graph needs a table of edges too, with `edges`.")
    if "nodes" in tables:
        how = {"name": Path(nodes).name.split(".")[0], **how}
        with problems:
            parts = parts_of_tables(tables["nodes"], tables.get("edges"), tables.get("feature_table"), **how)
            return replace(parts, errors=[*problems, *parts.errors])
    raise problems.error()


def parts_of_tables(
    nodes: Table,
    edges: Table | None,
    feature_table: Table | None = None,
    *,
    name: str = "graph",
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    label: str = "label",
    one_hot: Sequence[str] = (),
    text: Sequence[str] = (),
    ignore: Sequence[str] = (),
    multilabel: bool = False,
    unknown_nodes: str = "error",
    columns: Sequence[Column] | None = None,
) -> Parts:
    """Return the graph that the tables describe, with the errors of everything that cannot be read.

    Args:
        nodes: has the columns ``id``; ``label``, empty for unknown; optionally ``split`` (train, val, test or empty)
            and ``graph`` (if there are several graphs). Every other column is a feature, see
            :func:`ngcn.data.columns.decide`.
        edges: has the columns ``source``, ``target``, both ids of nodes, and optionally ``weight``. None if it cannot
            be read: then the graph has no edges.
        feature_table: has the columns ``id``, ``feature`` and optionally ``value``: sparse features, such as words.
        name: the name of the graph.
        id, source, target: the columns of ids; by default those of the names above, or of other usual ones.
        label: the column with the labels.
        one_hot: columns of text; each value becomes a feature.
        text: columns of free text; each of the frequent words becomes a feature, its TF-IDF.
        ignore: columns to ignore; ``split`` and ``graph`` may be among them.
        multilabel: whether a label is a list separated by ``|``; ``|`` alone is an empty list.
        unknown_nodes: "error", or "drop" to leave out edges to nodes that are not in the table of nodes.
        columns: how a model that is used on the tables reads the columns of nodes; None for training.
    """
    if not len(nodes):
        raise DatasetError(f"{nodes.has} no rows, so the graph has no nodes.")
    if unknown_nodes not in ("error", "drop"):
        raise ConfigError(f"unknown_nodes must be one of error, drop, not {shown(unknown_nodes)}.")
    problems, of_training = Problems(), Problems()
    known = columns is not None
    special = special_columns(nodes, id, label, ignore, problems, of_training, known=known)
    ids = _node_ids(nodes, special["id"], problems) if "id" in special else None
    rows = None
    if edges is not None:
        rows = _edge_rows(edges, source, target, ids, nodes.name, problems, drop=unknown_nodes == "drop", known=known)
    plan, blocks = _features_of(nodes, special, one_hot, text, columns, problems, of_training)
    if feature_table is not None:
        with problems:
            column = id_column(feature_table, id and feature_table.find(id), known=known)
            blocks.append(sparse_features(feature_table, column, nodes, ids, known=known))
    labels, masks, graph_of = {}, None, None
    with problems:
        labels = _labels(nodes, special["label"], multilabel) if "label" in special else {}
    if "split" in special:
        with of_training:
            masks = _masks(nodes, special["split"], labels.get("labelled", np.ones(len(nodes), bool)))
    with problems:
        graph_of = _graph_of(nodes, special["graph"], rows) if "graph" in special else None
    options = {"id": id, "source": source, "target": target, "label": label, "ignore": list(ignore)}
    return Parts(
        adjacency=_adjacency(rows, len(nodes)),
        features=blocks,
        masks=masks,
        graph_of=graph_of,
        node_ids=np.arange(len(nodes)) if ids is None or len(ids) < len(nodes) else as_integers(ids),
        name=name,
        node_columns=sum(block.matrix.shape[1] for block in blocks if not block.sparse),
        columns=plan,
        column_facts=partial(column_facts, nodes, plan, special),
        read_with=without_defaults(**options, multilabel=multilabel, unknown_nodes=unknown_nodes),
        errors=problems,
        training_errors=of_training,
        **labels,
    )


def _features_of(
    nodes: Table,
    special: dict[str, str],
    one_hot: Sequence[str],
    text: Sequence[str],
    columns: Sequence[Column] | None,
    problems: Problems,
    of_training: Problems,
) -> tuple[list[Column], list[Block]]:
    """How the columns of nodes are read, and the features in them."""
    plan: list[Column] = []
    blocks: list[Block] = []
    known = columns is not None
    with problems:
        plan = plan_columns(nodes, list(special.values()), one_hot, text, columns or ())
        if not known and "label" in special:  # else the labels may be among the columns
            announce(nodes, [column for column in plan if column.name not in (*one_hot, *text)])
            warn_about_case(nodes, plan)
        blocks = feature_blocks(nodes, plan, known=known)
        with of_training:
            check_one_hot(nodes, blocks)
    return plan, blocks


def _remedy(option: str, known: bool) -> str:
    """What to do about a column that was named, and that a table lacks."""
    return KNOWN if known else f"use one of these for `{option}`."


def id_column(table: Table, given: str | None = None, *, known: bool = False) -> str:
    """Return the column of ids: the one ``given``, ``id``, or one of another usual name; ``known`` is for tables that a
    model is used on."""
    if given:
        return table.need(given, _remedy("id", known))
    found = next(filter(None, map(table.find, IDS)), None)
    return found or table.need("id", KNOWN if known else "add it, or use another column with `id='COLUMN'`.")


def end_columns(
    edges: Table, source: str | None = None, target: str | None = None, *, known: bool = False
) -> tuple[str, str]:
    """Return the columns of the two ends of an edge: those given, ``source`` and ``target``, or other usual names."""
    if not (source or target):
        for names in ENDS:
            ends = edges.find(names[0]), edges.find(names[1])
            if ends[0] and ends[1]:
                if names != ENDS[0]:
                    log.warning(
                        f"{edges.name}: edges are from {ends[0]!r} to {ends[1]!r}; `source` and `target` name others."
                    )
                return ends[0], ends[1]
    problems, found = Problems(), []
    for option, column in {"source": source, "target": target}.items():
        with problems:
            remedy = _remedy(option, known)
            if not (source or target or known):
                remedy = f"rename the right one, or use it with `{option}='COLUMN'`."
            found.append(edges.need(column or option, remedy))
    problems.check()
    return found[0], found[1]


def _node_ids(nodes: Table, column: str, problems: Problems) -> pa.Array | None:
    """The ids; None if they cannot be read. If some of them are bad, those that are known, each once."""
    before = len(problems)
    ids = None
    with problems:
        ids = nodes.texts(column)
        with problems:
            nodes.ids(column)
        _check_unique(nodes, column, ids)
    return ids if len(problems) == before or ids is None else ids.drop_null().unique()


def _check_unique(nodes: Table, column: str, ids: pa.Array) -> None:
    given = ids.is_valid().to_numpy(zero_copy_only=False)
    codes = ids.drop_null().dictionary_encode().indices.to_numpy()
    first = np.arange(len(ids))  # the row where each id occurs first
    first[given] = np.flatnonzero(given)[np.unique(codes, return_index=True)[1][codes]]
    again = first != np.arange(len(ids))
    if again.any():

        def fault(row: int) -> str:
            return f"the id {ids[row].as_py()!r} is in row {nodes.row_number(first[row])} already"

        raise nodes.bad_cells(BadCells.at(column, again, fault), remedy="ids must differ.")


def special_columns(
    nodes: Table,
    id: str | None,
    label: str,
    ignore: Sequence[str],
    problems: Problems,
    of_training: Problems,
    *,
    known: bool = False,
) -> dict[str, str]:
    """Return the columns that are not features, by their purpose. Two lists get the errors: the second one those that
    only training has."""
    found = {}
    with problems:
        found["id"] = id_column(nodes, id, known=known)
    wanted = [(f"ignored {column}", column, _remedy("ignore", known)) for column in ignore]
    for purpose, column, remedy in (*wanted, ("label", label, "add it, or use another column with `label='COLUMN'`.")):
        with of_training:
            found[purpose] = nodes.need(column, remedy)
    ignored = [column for purpose, column in found.items() if purpose.startswith("ignored ")]
    for purpose in ("id", "label"):
        if found.get(purpose) in ignored:
            column = found[purpose]
            with problems:
                raise DatasetError(f"The column {column!r} of {nodes.name} is needed; remove `ignore={[column]}`.")
    for purpose in ("split", "graph"):
        if (there := nodes.find(purpose)) and there not in ignored:
            found[purpose] = there
    return found


def _edge_rows(
    edges: Table,
    source: str | None,
    target: str | None,
    ids: pa.Array | None,
    home: str,
    problems: Problems,
    *,
    drop: bool,
    known: bool,
) -> EdgeRows | None:
    """The edges; None if they, or the ids of nodes, cannot be read."""
    with problems:
        ends = end_columns(edges, source, target, known=known)
        if drop and ids is not None:
            edges = without_unknown(edges, ends, ids, home)
        sources, targets = places(edges, ends, ids, home, known=known, droppable=not (drop or known))
    with problems:
        weights = edge_weights(edges, column) if (column := edges.find("weight")) else None
    if problems:
        return None
    return EdgeRows(edges, ends, sources, targets, weights)


def _adjacency(rows: EdgeRows | None, nodes: int) -> sp.csr_array:
    if rows is None:  # they cannot be read
        return sp.csr_array((nodes, nodes))
    edges = rows.table
    warn_about_unused(edges, rows.ends)
    if not len(edges):
        log.warning(f"{edges.has} no edges, so no node has a neighbour.")
    if rows.weights is not None:
        warn_about_weights(edges.name, rows.weights.mean() if len(edges) else 1.0)
    adjacency = one_way(rows.sources, rows.targets, nodes, rows.weights)
    warn_about_repeats(edges.name, len(edges) - adjacency.nnz, int((rows.sources == rows.targets).sum()), rows.weights)
    return adjacency


def warn_about_unused(edges: Table, ends: tuple[str, str]) -> None:
    """Name the columns of a table of edges that are not used, and how one of numbers would be."""
    weight = edges.find("weight")
    if unused := [name for name in edges.column_names if name not in (*ends, weight)]:
        rename = ""
        if not weight and any(map(edges.seems_numeric, unused)):
            rename = "; rename a column of numbers to 'weight' to use it as the weight"
        what = "only source, target and weight of an edge are used"
        log.warning(f"{edges.name}: {what}, not {', '.join(unused)}{rename}.")


def warn_about_repeats(name: str, repeated: int, loops: int, weights: Any) -> None:
    """Count the rows of a table of edges that are no edges of their own."""
    counted = []
    if repeated:
        same = "their weights are added" if weights is not None else "each edge counts once"
        counted.append(f"{count(repeated, 'row')} repeat{'' if repeated > 1 else 's'} an edge: {same}")
    if loops:
        what = "are edges from a node to itself" if loops > 1 else "is an edge from a node to itself"
        counted.append(f"{count(loops, 'row')} {what}, and not used: models add their own")
    if counted:
        log.warning(f"{name}: {'; '.join(counted)}.")


def edge_weights(edges: Table, column: str) -> np.ndarray:
    """The weights of edges, all above 0."""
    weights = edges.numbers(column, "correct the weight, or remove the edge.")
    if (weights <= 0).any():
        bad = BadCells.at(column, weights <= 0, lambda row: f"the weight {weights[row]:g} is not above 0")
        raise edges.bad_cells(bad, remedy="correct the weight, or remove the edge.")
    return weights


def warn_about_weights(name: str, mean: float) -> None:
    if not 0.1 <= mean <= 10:
        shown = f"{mean:.3g}" if mean < 100 else f"{mean:,.0f}"
        log.warning(
            f"{name}: the mean weight is {shown}, but self-loops have weight 1; scale them to a mean near 1 unless "
            "this is intended."
        )


def _labels(nodes: Table, column: str, multilabel: bool) -> dict[str, Any]:
    """Return the fields of :class:`Parts` about labels."""
    texts, flat, lengths = label_texts(nodes, column, multilabel)
    values = [value for value in pc.unique(flat).to_pylist() if value]
    names = [str(value) for value in np.sort(as_integers(pa.array(values, pa.string())))]
    numbers = pc.fill_null(pc.index_in(flat, value_set=pa.array(names, pa.string())), UNKNOWN).to_numpy()
    labels = numbers.astype(np.int64)
    if lengths is not None:
        rows = np.repeat(np.arange(len(texts)), lengths)
        labels = np.zeros((len(texts), len(names)), np.float32)
        labels[rows[numbers >= 0], numbers[numbers >= 0]] = 1
    labelled = texts.is_valid().to_numpy(zero_copy_only=False)
    return {"labels": labels, "labelled": labelled, "class_names": names, "label_at": partial(nodes.at, column)}


def label_texts(nodes: Table, column: str, multilabel: bool) -> tuple[pa.Array, pa.Array, np.ndarray | None]:
    """A column of labels; all labels in it; and, for multi-label, how many of them each node has, "" among them."""
    texts = nodes.texts(column)
    if not multilabel:
        return texts, texts, None
    lists = pc.split_pattern(pc.fill_null(texts, ""), "|")
    return texts, pc.utf8_trim_whitespace(lists.flatten()), lists.value_lengths().to_numpy()


def _masks(nodes: Table, column: str, labelled: np.ndarray) -> Masks | None:
    texts = nodes.texts(column)
    if texts.null_count == len(texts):
        return None
    numbers = split_numbers(nodes, column, labelled)
    return numbers == 1, numbers == 2, numbers == 3


def split_numbers(nodes: Table, column: str, labelled: np.ndarray) -> np.ndarray:
    """1, 2 and 3 for nodes of the training, validation and test split; 0 for others."""
    texts = nodes.texts(column)
    lower = pc.utf8_lower(texts)
    place = pc.index_in(lower, value_set=pa.array(SPLITS))
    unknown = pc.and_(texts.is_valid(), place.is_null()).to_numpy(zero_copy_only=False)
    numbers = np.array([*SPLITS.values(), 0], np.uint8)[pc.fill_null(place, len(SPLITS)).to_numpy()]
    unlabelled = (numbers > 0) & ~labelled
    if (unknown | unlabelled).any():
        raise nodes.bad_cells(
            BadCells.at(column, unknown, lambda row: f"{texts[row].as_py()!r} is not a split"),
            BadCells.at(column, unlabelled, lambda row: f"a {lower[row].as_py()} node needs a label"),
            remedy="use train, val, test or nothing, and nothing for a node without a label.",
        )
    return numbers


def _graph_of(nodes: Table, column: str, rows: EdgeRows | None) -> np.ndarray:
    texts = nodes.texts(column, f"the graph is missing; fill it in, or train with `ignore={[column]}`.")
    graph_of = texts.dictionary_encode().indices.to_numpy()
    if rows is None:
        return graph_of

    def fault(row: int) -> str:
        names = " and ".join(repr(texts[int(end[row])].as_py()) for end in (rows.sources, rows.targets))
        return f"the edge is between the graphs {names}"

    if bad := BadCells.at(rows.ends[0], graph_of[rows.sources] != graph_of[rows.targets], fault):
        raise rows.table.bad_cells(bad, remedy="remove such edges.")
    return graph_of

"""A graph in tables: one of nodes, one of edges and, for sparse features, one of features."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.columns import Column, announce, column_facts
from ngcn.data.feature_columns import NO_NODE, feature_blocks, plan_columns, sparse_features, too_many_values
from ngcn.data.parts import UNKNOWN, Block, Masks, Parts, log, one_way
from ngcn.data.table import MOST_LISTED, Table, as_integers
from ngcn.data.table_file import read_table
from ngcn.errors import DatasetError

IDS = ("id", "node_id", "nodeid", "node")  # names of the column of ids, and of the ends of an edge
ENDS = (
    ("source", "target"),
    *(("src", "dst"), ("from", "to"), ("source_id", "target_id"), ("from_id", "to_id"), ("src_id", "dst_id")),
    *(("id_1", "id_2"), ("id1", "id2"), ("node_1", "node_2"), ("node1", "node2"), ("u", "v")),
)
SPLITS = {"train": 1, "val": 2, "valid": 2, "validation": 2, "test": 3}  # and 0 for none


def read_tables(
    nodes: str | Path, edges: str | Path | None = None, feature_table: str | Path | None = None, **how: Any
) -> Parts:
    """Read two or three files, CSV, TSV or Parquet, gzipped or not; ``how`` as in :func:`parts_of_tables`."""
    if edges is None:
        raise DatasetError(f"{nodes} is a table of nodes; a graph needs a table of edges too, with `edges`.")
    tables = [read_table(path) if path else None for path in (nodes, edges, feature_table)]
    return parts_of_tables(*tables, **{"name": Path(nodes).name.split(".")[0], **how})  # type: ignore[arg-type]


def parts_of_tables(
    nodes: Table,
    edges: Table,
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
    columns: Sequence[Column] = (),
) -> Parts:
    """Return the graph that the tables describe.

    Args:
        nodes: has the columns ``id``; ``label``, empty for unknown; optionally ``split`` (train, val, test or empty)
            and ``graph`` (if there are several graphs). Every other column is a feature, see
            :func:`ngcn.data.columns.decide`.
        edges: has the columns ``source``, ``target``, both ids of nodes, and optionally ``weight``.
        feature_table: has the columns ``id``, ``feature`` and optionally ``value``: sparse features, such as words.
        name: the name of the graph.
        id, source, target: the columns of ids; by default those of the names above, or of other usual ones.
        label: the column with the labels.
        one_hot: columns of text; each value becomes a feature.
        text: columns of free text; each of the frequent words becomes a feature, its TF-IDF.
        ignore: columns to ignore; ``split`` and ``graph`` may be among them.
        multilabel: whether a label is a list separated by ``|``; ``|`` alone is an empty list.
        columns: how a model reads the columns of nodes.
    """
    special, training_error = special_columns(nodes, id, label, ignore)
    ids = _node_ids(nodes, special["id"])
    ends = end_columns(edges, source, target)
    (sources, unknown), (targets, more) = (edges.places(end, ids, nodes.name) for end in ends)
    if unknown or more:
        raise edges.bad_cells(unknown + more, NO_NODE)
    blocks: list[Block] = []
    plan: list[Column] = []
    feature_error = None
    try:
        plan = plan_columns(nodes, list(special.values()), one_hot, text, columns)
        if not (columns or training_error):
            announce(nodes, [column for column in plan if column.name not in (*one_hot, *text)])
        blocks += feature_blocks(nodes, plan)
        if feature_table is not None:
            column = id_column(feature_table, id and feature_table.find(id))
            blocks.append(sparse_features(feature_table, column, nodes, ids))
        training_error = training_error or too_many_values(nodes, blocks)
    except DatasetError as error:  # a missing label column matters more: this may be the text of the labels
        feature_error = error
    labels = _labels(nodes, special["label"], multilabel) if "label" in special else {}
    masks = split_error = None
    if "split" in special:
        try:
            masks = _masks(nodes, special["split"], labels.get("labelled", np.zeros(len(ids), bool)))
        except DatasetError as error:
            split_error = error
    problems = [error for error in (training_error, feature_error, split_error) if error]
    return Parts(
        adjacency=_adjacency(edges, ends, sources, targets, len(ids)),
        features=blocks,
        masks=masks,
        graph_of=_graph_of(nodes, special["graph"], edges, ends, sources, targets) if "graph" in special else None,
        node_ids=as_integers(ids),
        name=name,
        node_columns=sum(block.matrix.shape[1] for block in blocks if not block.sparse),
        columns=plan,
        column_facts=partial(column_facts, nodes, plan, special),
        error=feature_error,
        training_error=next(iter(problems), None),
        problems=problems,
        **labels,
    )


def id_column(table: Table, given: str | None = None) -> str:
    """Return the column of ids: the one ``given``, ``id``, or one of another usual name."""
    if given:
        return table.need(given, "use one of these for `id`.")
    found = next(filter(None, map(table.find, IDS)), None)
    return found or table.need("id", "add it, or use another column with `id='COLUMN'`.")


def end_columns(edges: Table, source: str | None = None, target: str | None = None) -> tuple[str, str]:
    """Return the columns of the two ends of an edge: those given, ``source`` and ``target``, or other usual names."""
    if source or target:
        first = edges.need(source or "source", "use one of these for `source`.")
        return first, edges.need(target or "target", "use one of these for `target`.")
    for names in ENDS:
        ends = edges.find(names[0]), edges.find(names[1])
        if ends[0] and ends[1]:
            if names != ENDS[0]:
                log.warning(
                    f"{edges.name}: edges are from {ends[0]!r} to {ends[1]!r}; `source` and `target` name others."
                )
            return ends[0], ends[1]
    remedy = "rename the right one, or use it with `{}='COLUMN'`."
    return edges.need("source", remedy.format("source")), edges.need("target", remedy.format("target"))


def _node_ids(nodes: Table, column: str) -> pa.Array:
    ids = nodes.ids(column)
    if not len(ids):
        raise DatasetError(f"{nodes.name} has no rows, so the graph has no nodes.")
    codes = ids.dictionary_encode().indices.to_numpy()
    before = np.unique(codes, return_index=True)[1][codes]  # the row where each id occurs first
    if again := np.flatnonzero(before != np.arange(len(ids))).tolist():
        there = {row: nodes.row_number(int(before[row])) for row in again[:MOST_LISTED]}
        bad = [(row, column, f"the id {ids[row].as_py()!r} is in row {there.get(row)} already") for row in again]
        raise nodes.bad_cells(bad, "ids must differ.")
    return ids


def special_columns(
    nodes: Table, id: str | None, label: str, ignore: Sequence[str]
) -> tuple[dict[str, str], DatasetError | None]:
    """Return the columns that are not features, by their purpose, and an error if training lacks one of them."""
    missing = None
    found = {"id": id_column(nodes, id)}
    wanted = [(f"ignored {column}", column, "use one of these for `ignore`.") for column in ignore]
    for purpose, column, remedy in (*wanted, ("label", label, "add it, or use another column with `label='COLUMN'`.")):
        try:
            found[purpose] = nodes.need(column, remedy)
        except DatasetError as error:
            missing = missing or error
    ignored = [column for purpose, column in found.items() if purpose.startswith("ignored ")]
    for purpose in ("id", "label"):
        if found.get(purpose) in ignored:
            column = found[purpose]
            raise DatasetError(f"The column {column!r} of {nodes.name} is needed; remove `ignore={[column]}`.")
    for purpose in ("split", "graph"):
        if (there := nodes.find(purpose)) and there not in ignored:
            found[purpose] = there
    return found, missing


def _adjacency(edges: Table, ends: tuple[str, str], source: np.ndarray, target: np.ndarray, nodes: int) -> sp.csr_array:
    column = edges.find("weight")
    if unused := [name for name in edges.column_names if name not in (*ends, column)]:
        log.warning(f"{edges.name}: only source, target and weight of an edge are used, not {', '.join(unused)}.")
    if not len(edges):
        log.warning(f"{edges.name} has no edges, so no node has a neighbour.")
    if not column:
        return one_way(source, target, nodes)
    weights = edge_weights(edges, column)
    warn_about_weights(edges.name, weights.mean() if len(weights) else 1.0)
    return one_way(source, target, nodes, weights)


def edge_weights(edges: Table, column: str) -> np.ndarray:
    """The weights of edges, all above 0."""
    weights = edges.numbers(column, "correct the weight, or remove the edge.")
    if (weights <= 0).any():
        row = int(np.argmax(weights <= 0))
        raise edges.error(row, column, f"the weight {weights[row]:g} is not above 0; correct or remove the edge.")
    return weights


def warn_about_weights(name: str, mean: float) -> None:
    if not 0.1 <= mean <= 10:
        log.warning(
            f"{name}: the mean weight is {mean:.3g}, but self-loops have weight 1; scale them to a mean near 1 unless "
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
    bad = [(row, column, f"{texts[row].as_py()!r} is not a split") for row in np.flatnonzero(unknown).tolist()]
    bad += [(row, column, f"a {lower[row].as_py()} node needs a label") for row in np.flatnonzero(unlabelled).tolist()]
    if bad:
        raise nodes.bad_cells(bad, "use train, val, test or nothing, and nothing for a node without a label.")
    return numbers


def _graph_of(
    nodes: Table, column: str, edges: Table, ends: tuple[str, str], source: np.ndarray, target: np.ndarray
) -> np.ndarray:
    texts = nodes.texts(column, f"the graph is missing; fill it in, or train with `ignore={[column]}`.")
    graph_of = texts.dictionary_encode().indices.to_numpy()
    across = graph_of[source] != graph_of[target]
    if across.any():
        row = int(np.argmax(across))
        names = " and ".join(repr(texts[int(end[row])].as_py()) for end in (source, target))
        raise edges.error(row, ends[0], f"the edge is between the graphs {names}; remove it.")
    return graph_of

"""A user's own graph: a table of nodes, a table of edges and, for sparse features, a table of those."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.assemble import Masks, Trained, assemble, log
from ngcn.data.catalog import DatasetError
from ngcn.data.table import Table, as_integers, read_table
from ngcn.data.table_features import table_features
from ngcn.graph import UNKNOWN, Graph

SPLITS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}


def read_tables(
    nodes: str | Path,
    edges: str | Path,
    feature_table: str | Path | None = None,
    *,
    name: str | None = None,
    **how: object,
) -> Graph:
    """The graph in two or three files: CSV, TSV or Parquet, gzipped or not. See :func:`graph_from_tables`."""
    tables = [read_table(path) if path else None for path in (nodes, edges, feature_table)]
    return graph_from_tables(*tables, name=name or Path(nodes).name.split(".")[0], **how)  # type: ignore[arg-type]


def graph_from_tables(
    nodes: Table,
    edges: Table,
    feature_table: Table | None = None,
    *,
    name: str = "graph",
    label: str = "label",
    one_hot: Sequence[str] = (),
    ignore: Sequence[str] = (),
    multilabel: bool = False,
    split: str = "planetoid",
    seed: int = 0,
    trained: Trained | None = None,
) -> Graph:
    """The graph that the tables describe.

    Args:
        nodes: ``id``; ``label``, empty where unknown; optionally ``split`` (train, val, test or empty) and ``graph``
            (which of several graphs); every other column is a feature.
        edges: ``source``, ``target``, both ids of nodes, and optionally ``weight``.
        feature_table: ``id``, ``feature`` and optionally ``value``: sparse features, such as words.
        label: the column with the labels.
        one_hot: columns of text to make a feature of each value of.
        ignore: columns to leave out, as if they were not there; ``split`` and ``graph`` may be among them.
        multilabel: a label is several with ``|`` between them; ``|`` alone says that none holds.
        split, seed, trained, name: as in :func:`~ngcn.data.assemble.assemble`.
    """
    id_column = nodes.need("id")
    ids = nodes.ids(id_column)
    if not len(ids):
        raise DatasetError(f"{nodes.name} has no rows, so the graph has no nodes.")
    _refuse_duplicates(nodes, id_column, ids)
    if trained:  # what was left out of the graph trained on may be missing here
        ignore = [column for column in ignore if nodes.find(column)]
    ignored = [nodes.need(column, "name one of these after --ignore.") for column in ignore]
    special = {key: None if (found := nodes.find(key)) in ignored else found for key in ("split", "graph")}
    special["label"] = nodes.find(label) if trained else nodes.need(label, "add it, or name another with --label COL.")
    for column in (id_column, special["label"]):
        if column in ignored:
            raise DatasetError(f"The column {column!r} of {nodes.name} is needed; leave out --ignore {column}.")
    given = [column for column in (id_column, *special.values(), *ignored) if column]
    adjacency, ends = _adjacency(edges, nodes, ids)
    features, names, columns = table_features(nodes, given, ids, feature_table, one_hot, trained)

    labels, label_at = None, None
    labelled, class_names = np.zeros(len(ids), bool), trained.class_names if trained else None
    if special["label"]:
        texts, label_at = nodes.texts(special["label"]), partial(nodes.at, special["label"])
        labelled = texts.is_valid().to_numpy(zero_copy_only=False)
        labels, class_names = _classes(texts, multilabel, class_names)
        if not trained:
            _remark_on_names(class_names, label_at(), multilabel)
        elif labels.ndim == 1:
            new = labelled & (labels == UNKNOWN)
            if new.any():
                what = f"{new.sum()} label(s) are no class of the model's, such as {texts[int(new.argmax())].as_py()!r}"
                log.warning(f"{label_at()}: {what}, and count as unknown.")
            labelled = labels != UNKNOWN
    masks = _masks(nodes, special["split"], labelled) if special["split"] and not trained else None
    graph_of = _graphs(nodes, special["graph"], edges, ends) if special["graph"] else None
    return assemble(
        adjacency,
        features,
        labels,
        masks,
        labelled=labelled,
        graph_of=graph_of,
        feature_names=names,
        class_names=class_names,
        node_ids=as_integers(ids),
        name=name,
        node_columns=columns,
        split=split,
        seed=seed,
        trained=trained,
        label_at=label_at,
    )


def _refuse_duplicates(nodes: Table, column: str, ids: pa.Array) -> None:
    codes = ids.dictionary_encode().indices.to_numpy()
    first = np.unique(codes, return_index=True)[1]
    if len(first) < len(codes):
        again = np.setdiff1d(np.arange(len(codes)), first)[0]
        before = nodes.number(first[codes[again]])
        raise nodes.wrong(
            int(again), column, f"the id {ids[int(again)].as_py()!r} is in row {before} already; ids must differ."
        )


def _adjacency(edges: Table, nodes: Table, ids: pa.Array) -> tuple[sp.csr_array, tuple[np.ndarray, np.ndarray]]:
    """The weights, and the ends of each row."""
    columns = [edges.need("source"), edges.need("target")]
    ends = [edges.places(column, ids, nodes.name) for column in columns]
    weight = edges.find("weight")
    if unused := [column for column in edges.column_names if column not in (*columns, weight)]:
        log.warning(f"{edges.name}: of an edge, only source, target and weight count, not {', '.join(unused)}.")
    if not len(edges):
        log.warning(f"{edges.name} has no edges, so every node is on its own.")
    weights = np.ones(len(edges), np.float32)
    if weight:
        weights = edges.numbers(weight, "give the edge a weight, or remove it.")
        if (weights <= 0).any():
            row = int(np.argmax(weights <= 0))
            raise edges.wrong(row, weight, f"the weight {weights[row]:g} is not above 0; correct or remove the edge.")
        if len(weights) and not 0.1 <= weights.mean() <= 10:
            log.warning(
                f"{edges.name}: the weights are {weights.mean():.3g} on average, beside a node's connection to itself "
                "of 1; scale them so that the average is near 1 unless this is meant."
            )
    adjacency = sp.csr_array((weights, tuple(ends)), shape=(len(ids), len(ids)))
    adjacency.sum_duplicates()
    if not weight:
        adjacency.data[:] = 1  # an edge that is listed twice is one edge
    return adjacency, (ends[0], ends[1])


def _classes(texts: pa.Array, multilabel: bool, known: Sequence[str] | None) -> tuple[np.ndarray, Sequence[str]]:
    """Class numbers or the 0/1 matrix, and the names of the classes: those ``known``, or all there are, in order."""
    lists = pc.split_pattern(pc.fill_null(texts, ""), "|") if multilabel else None
    flat = pc.utf8_trim_whitespace(lists.flatten()) if lists is not None else texts
    names = known
    if names is None:
        values = [value for value in pc.unique(flat).to_pylist() if value]
        names = [str(value) for value in np.sort(as_integers(pa.array(values, pa.string())))]
    numbers = pc.fill_null(pc.index_in(flat, value_set=pa.array(list(names), pa.string())), UNKNOWN).to_numpy()
    if lists is None:
        return numbers.astype(np.int64), names
    rows = np.repeat(np.arange(len(texts)), lists.value_lengths().to_numpy())
    matrix = np.zeros((len(texts), len(names)), np.float32)
    matrix[rows[numbers >= 0], numbers[numbers >= 0]] = 1
    return matrix, names


def _remark_on_names(names: Sequence[str], at: str, multilabel: bool) -> None:
    """Names of classes that may not be meant as such."""
    if unknown := [name for name in names if name.lower() in ("na", "nan", "null", "none", "unknown", "?", "-1")]:
        log.warning(f"{at}: {unknown[0]!r} is taken as a class; leave the cell empty where the label is unknown.")
    if not multilabel and (several := [name for name in names if "|" in name]):
        log.warning(f"{at}: {several[0]!r} is taken as one class; --multilabel would make several labels of it.")


def _masks(nodes: Table, column: str, labelled: np.ndarray) -> Masks | None:
    texts = nodes.texts(column)
    if texts.null_count == len(texts):
        return None
    parts = pc.utf8_lower(texts).to_pylist()
    for row, part in enumerate(parts):
        if part is not None and part not in SPLITS:
            raise nodes.wrong(row, column, f"{texts[row].as_py()!r} is no split; use train, val, test or nothing.")
        if part is not None and not labelled[row]:
            raise nodes.wrong(row, column, f"a {part} node needs a label; label it, or leave its split empty.")
    numbers = np.array([UNKNOWN if part is None else SPLITS[part] for part in parts])
    return numbers == 0, numbers == 1, numbers == 2


def _graphs(nodes: Table, column: str, edges: Table, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    texts = nodes.texts(column)
    if texts.null_count:
        row = pc.index(texts.is_null(), True).as_py()
        raise nodes.wrong(row, column, f"the graph of the node is missing; fill it in, or --ignore {column}.")
    graph_of = texts.dictionary_encode().indices.to_numpy()
    across = graph_of[ends[0]] != graph_of[ends[1]]
    if across.any():
        row = int(np.argmax(across))
        names = [repr(texts[int(end[row])].as_py()) for end in ends]
        raise edges.wrong(
            row, edges.need("source"), f"the edge is between the graphs {' and '.join(names)}; remove it."
        )
    return graph_of

"""Features from a user's tables: columns of numbers, one-hot columns, and (id, feature, value) rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.columns import MOST_LISTED, NUMBERS, Column, decide, instructed, numbers
from ngcn.data.node_ids import places
from ngcn.data.parts import Block, log
from ngcn.data.table import Table
from ngcn.data.words import tf_idf
from ngcn.errors import DatasetError, Problems

ONE_HOT_VALUES = 1000  # a column with more values belongs into a table of features
WIDE = 32  # columns; a table with fewer is never a bag of words


def plan_columns(
    nodes: Table, other: Sequence[str], one_hot: Sequence[str], text: Sequence[str], known: Sequence[Column] = ()
) -> list[Column]:
    """Return how the features in a table of nodes are read: all columns but ``other``, with instructions for some.

    ``known`` are the columns of a model: what it knows is read in the same way, and others are ignored.
    """
    if known:
        return _as_known(nodes, other, known)
    problems = Problems()
    given: dict[str, list[str]] = {"one_hot": [], "text": []}
    for option, wanted in {"one_hot": one_hot, "text": text}.items():
        for name in wanted:
            with problems:
                given[option].append(nodes.need(name, f"use one of these for `{option}`."))
    for name in (*given["one_hot"], *given["text"]):
        if name in other or (name in given["one_hot"] and name in given["text"]):
            what = "one-hot" if name in given["one_hot"] else "text"
            with problems:
                raise DatasetError(f"The column {name!r} of {nodes.name} cannot be {what} and something else at once.")
    problems.check()
    names = [name for name in nodes.column_names if name not in (*other, *given["one_hot"], *given["text"])]
    return decide(nodes, names) + instructed(nodes, **given)


def _as_known(nodes: Table, other: Sequence[str], known: Sequence[Column]) -> list[Column]:
    problems = Problems()
    for column in known:
        if column.kind != "ignored":
            with problems:
                nodes.need(column.name, "add the column, which the model was trained with.")
    problems.check()
    there = [column for column in known if column.name in nodes.column_names and column.name not in other]
    names = {*other, *(column.name for column in there)}
    if new := [name for name in nodes.column_names if name not in names]:
        listed = ", ".join(map(repr, new[:MOST_LISTED]))
        more = f" and {len(new) - MOST_LISTED} more" if len(new) > MOST_LISTED else ""
        log.warning(f"{nodes.name}: columns that the model does not know are ignored: {listed}{more}.")
    return there


def feature_blocks(nodes: Table, columns: Sequence[Column], *, known: bool = False) -> list[Block]:
    """Return the features in a table of nodes: those of numbers first, then of one-hot columns, then of text."""
    plain = [column for column in columns if column.kind in NUMBERS]
    blocks = dense_features(numbers(nodes, plain, known=known), [column.name for column in plain]) if plain else []
    blocks += [_encode(nodes, column.name) for column in columns if column.kind == "one-hot"]
    for column in columns:
        if column.kind == "text":
            texts = nodes.known(column.name)
            blocks.append(Block(tf_idf(texts, column.words, column.idf), column.features))
    return blocks


def sparse_features(table: Table, id_column: str, nodes: Table, ids: pa.Array | None, *, known: bool = False) -> Block:
    """Return the features in a table with a row for each (id, feature, value)."""
    problems = Problems()
    with problems:
        (rows,) = places(table, [id_column], ids, nodes.name, known=known)
    with problems:
        feature_column = table.need("feature")
        if not len(table):
            raise DatasetError(f"{table.has} no rows; remove the file if there are no sparse features.")
        features = table.texts(feature_column, "the name of the feature is missing; fill it in or remove the row.")
    with problems:
        value = table.find("value")
        values = table.numbers(value, "correct it or remove the row.") if value else np.ones(len(table), np.float32)
    problems.check()
    names = sorted(pc.unique(features).to_pylist())
    columns = pc.index_in(features, value_set=pa.array(names, pa.string())).to_numpy()
    matrix = sp.csr_array((values, (rows, columns)), shape=(len(nodes), len(names)))
    if again := len(table) - matrix.nnz:
        repeat = f"{again:,} rows repeat" if again > 1 else "1 row repeats"
        log.warning(f"{table.name}: {repeat} a feature of a node; the values are added.")
    return Block(matrix, names, sparse=True)


def check_one_hot(nodes: Table, blocks: Sequence[Block]) -> None:
    """Raise an error about one-hot columns that cannot be trained on. A model may know fewer of their values."""
    problems = Problems()
    for column, values in ((block.one_hot, block.matrix.shape[1]) for block in blocks):
        if column and values > ONE_HOT_VALUES:
            with problems:
                raise DatasetError(
                    f"{nodes.name}: the column {column!r} has {values} different values, too many for `one_hot`; put "
                    f"them into a table of features (id, feature), or use `ignore={[column]}`."
                )
    problems.check()


def dense_features(given: Any, names: Sequence[str] | None = None) -> list[Block]:
    """Return the block of an array, if there is one; sparse if it looks like counts of words."""
    if given is None:
        return []
    if np.iscomplexobj(given):  # NumPy would drop their imaginary parts
        raise DatasetError("Features must be real numbers, and these are complex.")
    columns = np.asarray(given, np.float32)
    return [Block(sp.csr_array(columns) if _is_bag(columns) else columns, names)]


def _is_bag(columns: np.ndarray) -> bool:
    if columns.ndim != 2 or columns.shape[1] < WIDE or np.fmin.reduce(columns, axis=None, initial=0) < 0:
        return False
    if np.isnan(columns).any():
        return False  # missing values are filled in, and then few are 0
    filled = np.count_nonzero(columns, axis=0)
    return bool(filled.max() <= len(columns) / 2 and filled.mean() <= len(columns) / 4)


def _encode(nodes: Table, column: str) -> Block:
    texts = nodes.known(column)
    values = sorted(pc.unique(texts.drop_null()).to_pylist())
    found = pc.index_in(texts, value_set=pa.array(values, pa.string()))
    rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    entries = np.ones(len(rows), np.float32), (rows, found.drop_null().to_numpy())
    matrix = sp.csr_array(entries, shape=(len(nodes), len(values)))
    return Block(matrix, [f"{column}={value}" for value in values], one_hot=column)

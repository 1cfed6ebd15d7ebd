"""Features from a user's tables: columns of numbers, one-hot columns, and (id, feature, value) rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.parts import Block
from ngcn.data.table import Table, first_true, has_comma
from ngcn.errors import DatasetError

ONE_HOT_VALUES = 1000  # a column with more values belongs into a table of features
WIDE = 32  # columns; a table with fewer is never a bag of words


def feature_columns(nodes: Table, other: Sequence[str], one_hot: Sequence[str]) -> list[Block]:
    """Return the features in a table of nodes: all columns but ``other``, of which ``one_hot`` hold text."""
    one_hot = [nodes.need(column, "use one of these for `one_hot`.") for column in one_hot]
    for column in one_hot:
        if column in other:
            raise DatasetError(f"The column {column!r} of {nodes.name} cannot be one-hot and something else at once.")
    plain = [column for column in nodes.column_names if column not in (*other, *one_hot)]
    _check_no_text(nodes, plain)
    columns = np.empty((len(nodes), len(plain)), np.float32)
    for place, column in enumerate(plain):
        columns[:, place] = nodes.numbers(column, f"correct it, or train with `ignore={[column]}`.")
    blocks = dense_features(columns, plain) if plain else []
    return blocks + [_encode(nodes, column) for column in one_hot]


def sparse_features(table: Table, nodes: Table, ids: pa.Array) -> Block:
    """Return the features in a table with a row for each (id, feature, value)."""
    id_column, feature_column, value = table.need("id"), table.need("feature"), table.find("value")
    if not len(table):
        raise DatasetError(f"{table.name} has no rows; remove the file if there are no sparse features.")
    places = table.places(id_column, ids, nodes.name)
    features = table.texts(feature_column, "the name of the feature is missing; fill it in or remove the row.")
    values = table.numbers(value, "correct it or remove the row.") if value else np.ones(len(table), np.float32)
    names = sorted(pc.unique(features).to_pylist())
    columns = pc.index_in(features, value_set=pa.array(names, pa.string())).to_numpy()
    return Block(sp.csr_array((values, (places, columns)), shape=(len(ids), len(names))), names, sparse=True)


def too_many_values(nodes: Table, blocks: Sequence[Block]) -> DatasetError | None:
    """Return the error about a one-hot column that cannot be trained on. A model may know fewer of its values."""
    for column, values in ((block.one_hot, block.matrix.shape[1]) for block in blocks):
        if column and values > ONE_HOT_VALUES:
            return DatasetError(
                f"{nodes.name}: the column {column!r} has {values} different values, too many for `one_hot`; put them "
                f"into a table of features (id, feature), or use `ignore={[column]}`."
            )
    return None


def dense_features(given: Any, names: Sequence[str] | None = None) -> list[Block]:
    """Return the block of an array, if there is one; sparse if it looks like counts of words."""
    if given is None:
        return []
    columns = np.asarray(given, np.float32)
    return [Block(sp.csr_array(columns) if _is_bag(columns) else columns, names)]


def _is_bag(columns: np.ndarray) -> bool:
    if columns.ndim != 2 or columns.shape[1] < WIDE or np.fmin.reduce(columns, axis=None, initial=0) < 0:
        return False
    if np.isnan(columns).any():
        return False  # missing values are filled in, and then few are 0
    filled = np.count_nonzero(columns, axis=0)
    return bool(filled.max() <= len(columns) / 2 and filled.mean() <= len(columns) / 4)


def _check_no_text(nodes: Table, columns: list[str]) -> None:
    texts = {}  # the first text of each column of text, and its row
    for column in filter(nodes.is_text, columns):
        cells = nodes.texts(column)
        row = first_true(cells.is_valid())
        text = cells[row].as_py()
        texts[column] = f"{text!r} in row {nodes.row_number(row)}"
        if has_comma(text):
            raise nodes.error(row, column, f"{text!r} is a number with a comma; write all with a decimal point.")
    if texts:
        first = next(iter(texts))
        which = f"column {first!r} holds" if len(texts) == 1 else f"columns {', '.join(map(repr, texts))} hold"
        raise DatasetError(
            f"{nodes.name}: the {which} text ({texts[first]}), but features are numbers; encode each value as a "
            f"feature with `one_hot={list(texts)}`, or drop an irrelevant column with `ignore={[first]}`."
        )


def _encode(nodes: Table, column: str) -> Block:
    texts = nodes.texts(column)
    values = sorted(pc.unique(texts.drop_null()).to_pylist())
    found = pc.index_in(texts, value_set=pa.array(values, pa.string()))
    rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    entries = np.ones(len(rows), np.float32), (rows, found.drop_null().to_numpy())
    matrix = sp.csr_array(entries, shape=(len(nodes), len(values)))
    return Block(matrix, [f"{column}={value}" for value in values], one_hot=column)

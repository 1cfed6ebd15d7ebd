"""The features of a user's tables: columns of numbers, columns of text one-hot, and rows of id, feature, value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.assemble import Trained, log
from ngcn.data.catalog import DatasetError
from ngcn.data.table import Table, has_comma

ONE_HOT_VALUES = 1000  # more are better kept as rows of a table of features
DENSE_CELLS = 200_000_000
WIDE = 32  # columns from which on a table may be a bag of words

Matrix = Any  # dense or sparse


def table_features(
    nodes: Table,
    not_features: Sequence[str],
    ids: pa.Array,
    feature_table: Table | None,
    one_hot: Sequence[str],
    trained: Trained | None,
) -> tuple[Matrix | None, list[str] | None, int]:
    """The features and their names, None where there are none, and how many of the first are of the nodes' columns.

    For a ``trained`` model they are put in its order; what it does not know of an open list (the values of a one-hot
    column, the rows of the table of features) is left out.
    """
    one_hot = [nodes.need(column, "name one of these after --one-hot.") for column in one_hot]
    for column in one_hot:
        if column in not_features:
            raise DatasetError(f"The column {column!r} of {nodes.name} cannot be one-hot and something else at once.")
    plain = [c for c in nodes.column_names if c not in (*not_features, *one_hot)]
    _refuse_text(nodes, plain)
    blocks: list[Matrix] = []
    names: list[str] = []
    if plain:
        columns = np.empty((len(nodes), len(plain)), np.float32)
        for place, column in enumerate(plain):
            remedy = "correct it" + ("." if trained else f", or leave the column out with --ignore {column}.")
            columns[:, place] = nodes.numbers(column, remedy)
        blocks.append(bag_or_not(columns))
        names += plain
    known = None if trained is None else set(trained.feature_names)
    for column in one_hot:
        block, values = _one_hot(nodes, column, known)
        blocks.append(block)
        names += values
    node_columns = len(names)
    if feature_table is not None:
        may_lack = None if trained is None else set(trained.feature_names[trained.node_columns :]) - set(names)
        block, words = _long(feature_table, nodes, ids, may_lack)
        blocks.append(block)
        names += words
    if not blocks:
        return None, None, 0
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DatasetError(f"The feature {twice!r} of {nodes.name} is there twice; rename one, or --ignore the column.")
    return *_ordered(_joined(blocks, nodes), names, trained), node_columns


def _refuse_text(nodes: Table, columns: list[str]) -> None:
    texts = [column for column in columns if nodes.is_text(column)]
    if not texts:
        return
    for column in reversed(texts):  # backwards, so that the example is of the first
        cells = nodes.texts(column)
        row = pc.index(cells.is_valid(), True).as_py()
        text = cells[row].as_py()
        example = f"{text!r} in row {nodes.number(row)}"
        if has_comma(text):
            raise DatasetError(
                f"{nodes.name}: the column {column!r} holds numbers with a comma ({example}); write them with a point."
            )
    which = f"the column {texts[0]!r} holds" if len(texts) == 1 else f"the columns {', '.join(map(repr, texts))} hold"
    raise DatasetError(
        f"{nodes.name}: {which} text ({example}), and features are numbers; make a feature of each value with "
        f"{' '.join(f'--one-hot {c}' for c in texts)}, or leave out what says nothing with --ignore {texts[0]}."
    )


def _one_hot(nodes: Table, column: str, known: set[str] | None) -> tuple[sp.csr_array, list[str]]:
    texts = nodes.texts(column)
    values = sorted(pc.unique(texts.drop_null()).to_pylist())
    if known is not None:
        trained = sorted(name for name in known if name.startswith(f"{column}="))
        new = [value for value in values if f"{column}={value}" not in known]
        if new:
            log.warning(f"{nodes.name}: the model does not know the {column} {new[0]!r}, so it counts as none.")
        values = [name.removeprefix(f"{column}=") for name in trained]
    if len(values) > ONE_HOT_VALUES:
        raise DatasetError(
            f"{nodes.name}: the column {column!r} has {len(values)} different values, too many for --one-hot; put them "
            "into a table of features (id, feature), or --ignore the column."
        )
    found = pc.index_in(texts, value_set=pa.array(values, pa.string()))
    rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    numbers = found.drop_null().to_numpy()
    block = sp.csr_array((np.ones(len(rows), np.float32), (rows, numbers)), shape=(len(nodes), len(values)))
    return block, [f"{column}={value}" for value in values]


def _long(table: Table, nodes: Table, ids: pa.Array, known: set[str] | None) -> tuple[sp.csr_array, list[str]]:
    id_column, feature_column, value = table.need("id"), table.need("feature"), table.find("value")
    if not len(table):
        raise DatasetError(f"{table.name} has no rows; remove it where there are no such features.")
    places = table.places(id_column, ids, nodes.name)
    features = table.texts(feature_column)
    if features.null_count:
        row = pc.index(features.is_null(), True).as_py()
        raise table.wrong(row, feature_column, "the name of the feature is missing; fill it in or remove the row.")
    values = table.numbers(value, "correct it or remove the row.") if value else np.ones(len(table), np.float32)
    names = sorted(known) if known is not None else sorted(pc.unique(features).to_pylist())
    columns = pc.index_in(features, value_set=pa.array(names, pa.string()))
    there = columns.is_valid().to_numpy(zero_copy_only=False)
    if not there.all():
        log.warning(
            f"{table.name}: {(~there).sum()} rows are of features that the model does not know, and do not count."
        )
    entries = values[there], (places[there], columns.drop_null().to_numpy())
    return sp.csr_array(entries, shape=(len(ids), len(names))), names


def bag_or_not(columns: np.ndarray) -> Matrix:
    """Sparse where a wide table holds nothing negative and mostly zeros in every column: counts of words, say."""
    if columns.ndim != 2 or columns.shape[1] < WIDE or columns.min(initial=0) < 0:
        return columns
    filled = np.count_nonzero(columns, axis=0)
    if filled.max() > len(columns) / 2 or filled.mean() > len(columns) / 4:
        return columns
    return sp.csr_array(columns)


def _joined(blocks: list[Matrix], nodes: Table) -> Matrix:
    if all(sp.issparse(block) for block in blocks):
        return sp.hstack(blocks, format="csr") if len(blocks) > 1 else sp.csr_array(blocks[0])
    if len(nodes) * sum(block.shape[1] for block in blocks) > DENSE_CELLS:
        raise DatasetError(
            f"{nodes.name}: there are too many features to keep together with columns of numbers; put those into the "
            "table of features too, or leave them out with --ignore."
        )
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def _ordered(features: Matrix, names: list[str], trained: Trained | None) -> tuple[Matrix, list[str]]:
    """In the model's order, if it has these features; else as they are, for the sentence that refuses them."""
    if trained is None or set(names) != set(trained.feature_names):
        return features, names
    place = {name: number for number, name in enumerate(names)}
    return features[:, [place[name] for name in trained.feature_names]], list(trained.feature_names)

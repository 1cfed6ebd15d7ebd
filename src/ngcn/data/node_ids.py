"""Ids of nodes in a table of edges or features: where the nodes are, and an error about those that are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data.cells import MOSTLY
from ngcn.data.table import MOST_LISTED, NO_ID, BadCells, Table
from ngcn.errors import DatasetError

NO_NODE = "add it there, or remove the row"
OLD_TOO = "tables with new nodes need the old nodes and edges, too: see the guide `New nodes and other graphs`"


def places(
    table: Table, columns: Sequence[str], ids: pa.Array | None, home: str, *, known: bool = False
) -> list[np.ndarray]:
    """Return, for each column, the positions of its cells in ``ids``, the ids of the nodes in the table ``home``.

    Raise an error about missing and unknown ids. If ids cannot be read, they are None, and no cell is unknown.
    ``known`` is for tables that a model is used on.
    """
    found, bad = [], []
    for column in columns:
        texts = table.texts(column)
        place = pc.index_in(texts, value_set=texts.unique().drop_null() if ids is None else ids)
        found.append(pc.fill_null(place, -1).to_numpy())
        absent = place.is_null().to_numpy(zero_copy_only=False)
        bad.append(BadCells.at(column, absent, partial(_fault, texts, home)))
    if any(bad):
        raise _error(table, bad, ids, home, known)
    return found


def _fault(texts: pa.Array, home: str, row: int) -> str:
    name = texts[row].as_py()
    return NO_ID if name is None else f"there is no node {name!r} in {home}"


def _error(table: Table, bad: Sequence[BadCells], ids: pa.Array | None, home: str, known: bool) -> DatasetError:
    texts = {of.column: table.texts(of.column) for of in bad}
    unknown = pa.concat_arrays([texts[of.column].take(pa.array(of.rows)) for of in bad]).drop_null()
    if not len(unknown):
        return table.bad_cells(*bad, remedy="fill it in or remove the row.")
    given = sum(len(cells) - cells.null_count for cells in texts.values())
    if ids is not None and len(ids) and len(unknown) > MOST_LISTED and len(unknown) >= MOSTLY * given:
        rows = len(np.unique(np.concatenate([of.rows for of in bad])))
        have = f"all {rows:,} rows have" if rows == len(table) else f"{rows:,} of {len(table):,} rows have"
        difference = _difference(unknown, ids, table.name, home, known)
        return DatasetError(f"{table.name}: {have} ids that are not in {home}; {difference}.")
    different = len(unknown.unique())
    remedy = f"{different:,} different ids are unknown: add them there, or remove the rows"
    remedy = NO_NODE if different == 1 else remedy
    return table.bad_cells(*bad, remedy=f"{remedy}; {OLD_TOO}." if known else f"{remedy}.")


def _difference(unknown: pa.Array, ids: pa.Array, name: str, home: str, known: bool) -> str:
    """How the unknown ids of a table differ from those of the nodes, and what to do."""
    here, there = unknown[0].as_py(), ids[0].as_py()
    remedy = f"write them alike; {OLD_TOO}" if known else "write them alike, or use another column with `id='COLUMN'`"
    place = pc.index_in(pc.utf8_ltrim(unknown, "0"), value_set=pc.utf8_ltrim(ids, "0"))  # without leading zeros
    if len(place.drop_null()) >= MOSTLY * len(unknown):
        first = pc.index(place.is_valid(), True).as_py()
        here, there = unknown[first].as_py(), ids[place[first].as_py()].as_py()
        lost = home if len(there) < len(here) else name
        remedy = f"{lost} lost the leading zeros; in pandas, read ids with dtype=str"
    return f"ids look like {there!r} there, and like {here!r} here: {remedy}"

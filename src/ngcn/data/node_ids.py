"""Ids of nodes in a table of edges or features: where the nodes are, and an error about those that are unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data.cells import MOSTLY
from ngcn.data.parts import log
from ngcn.data.table import MOST_LISTED, NO_ID, BadCells, Table
from ngcn.errors import DatasetError

MOST_FORMS = 1000  # ids whose form is looked at
DROP = "drop such edges with `unknown_nodes='drop'`"
OLD_TOO = "tables with new nodes need the old nodes and edges, too: see the guide `New nodes and other graphs`"


def places(
    table: Table,
    columns: Sequence[str],
    ids: pa.Array | None,
    home: str,
    *,
    known: bool = False,
    droppable: bool = False,
) -> list[np.ndarray]:
    """Return, for each column, the positions of its cells in ``ids``, the ids of the nodes in the table ``home``.

    Raise an error about missing and unknown ids. If ids cannot be read, they are None, and no cell is unknown.
    ``known`` is for tables that a model is used on, ``droppable`` for edges that an option could drop.
    """
    found, bad = [], []
    for column in columns:
        texts = table.texts(column)
        place = pc.index_in(texts, value_set=texts.unique().drop_null() if ids is None else ids)
        found.append(pc.fill_null(place, -1).to_numpy())
        absent = place.is_null().to_numpy(zero_copy_only=False)
        bad.append(BadCells.at(column, absent, partial(_fault, texts, home)))
    if any(bad):
        raise _error(table, bad, ids, home, known, droppable)
    return found


def without_unknown(edges: Table, ends: Sequence[str], ids: pa.Array, home: str) -> Table:
    """Return the table without edges to nodes that are not in the table ``home``, with a warning. If that is all edges,
    return all of them."""
    texts = [edges.texts(end) for end in ends]
    unknown = [pc.and_(cells.is_valid(), pc.invert(pc.is_in(cells, value_set=ids))) for cells in texts]
    dropped = np.flatnonzero(pc.or_(*unknown).to_numpy(zero_copy_only=False))
    if len(dropped) in (0, len(edges)):
        return edges
    first = [
        cells[row].as_py()
        for row in dropped[:MOST_LISTED].tolist()
        for cells, of in zip(texts, unknown, strict=True)
        if of[row].as_py()
    ]
    warn_about_dropped(edges.name, home, len(dropped), len(edges), first)
    return edges.without(dropped)


def warn_about_dropped(name: str, home: str, dropped: int, rows: int, ids: Sequence[str]) -> None:
    """Count the rows of a table of edges that are dropped, and list the ids of the first unknown nodes."""
    listed = ", ".join(map(repr, list(dict.fromkeys(ids))[:MOST_LISTED]))
    log.warning(f"{name}: {dropped:,} of {rows:,} rows are left out: their ids are not in {home}, first {listed}.")


def no_node(different: int = 1, *, droppable: bool = False) -> str:
    """The remedy for rows with so many different ids of nodes that are unknown.

    Example:
        >>> no_node(), no_node(1234)
        ('add it there, or remove the row', '1,234 different ids are unknown: add them there, or remove the rows')
        >>> no_node(droppable=True)
        "add it there, remove the row, or drop such edges with `unknown_nodes='drop'`"
    """
    add, row = (f"{different:,} different ids are unknown: add them", "rows") if different > 1 else ("add it", "row")
    return f"{add} there, {f'remove the {row}, or {DROP}' if droppable else f'or remove the {row}'}"


def _fault(texts: pa.Array, home: str, row: int) -> str:
    name = texts[row].as_py()
    return NO_ID if name is None else f"there is no node {name!r} in {home}"


def _error(
    table: Table, bad: Sequence[BadCells], ids: pa.Array | None, home: str, known: bool, droppable: bool
) -> DatasetError:
    texts = {of.column: table.texts(of.column) for of in bad}
    unknown = pa.concat_arrays([texts[of.column].take(pa.array(of.rows)) for of in bad]).drop_null()
    if not len(unknown):
        return table.bad_cells(*bad, remedy="fill it in or remove the row.")
    given = pa.concat_arrays(list(texts.values())).drop_null()
    end = f"; {OLD_TOO}." if known else "."
    if ids is not None and len(ids) and len(unknown) > MOST_LISTED and len(unknown) >= MOSTLY * len(given):
        rows = len(np.unique(np.concatenate([of.rows for of in bad])))
        have = f"all {rows:,} rows have" if rows == len(table) else f"{rows:,} of {len(table):,} rows have"
        what = f"{table.name}: {have} ids that are not in {home}"
        different = given.unique()
        both = different.filter(pc.is_in(different, value_set=ids))
        if lost := _lost_zeros(unknown, ids, table.name, home):
            return DatasetError(f"{what}; {lost}.")
        if _form(unknown[0].as_py()) in map(_form, both[:MOST_FORMS].to_pylist()):
            what += f", which has {len(both):,} of the {len(different):,} ids here"
            remedy = "add a row for each node, its label empty if it is unknown" + (f", or {DROP}" if droppable else "")
            return DatasetError(f"{what}; {remedy}{end}")
        remedy = "write them alike" + ("" if known else ", or use another column with `id='COLUMN'`")
        return DatasetError(f"{what}; {_looks(unknown[0].as_py(), ids[0].as_py())}: {remedy}{end}")
    return table.bad_cells(*bad, remedy=no_node(len(unknown.unique()), droppable=droppable) + end)


def _lost_zeros(unknown: pa.Array, ids: pa.Array, name: str, home: str) -> str:
    """Which of two tables lost the leading zeros of ids, and what to do; empty if none did."""
    place = pc.index_in(pc.utf8_ltrim(unknown, "0"), value_set=pc.utf8_ltrim(ids, "0"))  # without leading zeros
    if len(place.drop_null()) < MOSTLY * len(unknown):
        return ""
    first = pc.index(place.is_valid(), True).as_py()
    here, there = unknown[first].as_py(), ids[place[first].as_py()].as_py()
    lost = home if len(there) < len(here) else name
    return f"{_looks(here, there)}: {lost} lost the leading zeros; in pandas, read ids with dtype=str"


def _looks(here: str, there: str) -> str:
    return f"ids look like {there!r} there, and like {here!r} here"


def _form(id: str) -> str:
    """The kinds of characters of an id in their order.

    Example:
        >>> _form("Node-12"), _form("x7")
        ('Aa-0', 'a0')
    """
    for kind, one in (("[0-9]+", "0"), ("[A-Z]+", "A"), ("[a-z]+", "a")):
        id = re.sub(kind, one, id)
    return id

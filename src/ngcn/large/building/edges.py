"""The table of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ngcn.data.large_table import LargeTable
from ngcn.data.node_edge_tables import edge_weights
from ngcn.data.node_ids import no_node
from ngcn.data.table import MOST_LISTED, Table
from ngcn.engine import Cluster
from ngcn.errors import DatasetError
from ngcn.large.building.buckets import NO_WEIGHTS, Buckets, Entries, bits_of
from ngcn.large.building.ids import Ids
from ngcn.large.building.work import Work


@dataclass(frozen=True)
class EdgeTable:
    """A table of edges, what its columns are, and whether to drop edges to unknown nodes."""

    table: LargeTable
    ends: tuple[str, str]
    weight: str | None
    drop: bool = False

    @property
    def columns(self) -> list[str]:
        return [*self.ends, *([self.weight] if self.weight else [])]

    def read(self, chunk: Table, ids: Ids) -> Entries:
        """The numbers of the nodes at both ends, and the weights."""
        (source, unknown), (target, more) = (ids.places(chunk, end) for end in self.ends)
        if (unknown or more) and not self.drop:
            raise chunk.bad_cells(unknown, more, remedy=f"{no_node(droppable=True)}.")
        weights = edge_weights(chunk, self.weight) if self.weight else NO_WEIGHTS
        if not (unknown or more):
            return Entries(source, target, weights)
        kept = np.ones(len(chunk), bool)
        kept[unknown.rows] = kept[more.rows] = False
        cells = [(row, of.column) for of in (unknown, more) for row in of.rows[:MOST_LISTED].tolist()]
        first = [str(chunk.columns[column][row]).strip() for row, column in sorted(cells)]
        return Entries(source[kept], target[kept], weights[kept] if self.weight else NO_WEIGHTS, first)


def write_adjacency(
    edges: EdgeTable, ids: Ids, memory: int, inputs: str, work: Work, cluster: Cluster | None = None
) -> dict[str, Any]:
    """Write the adjacency and the degrees; return its ``entries``, and what :meth:`Buckets.fill` found."""
    bits, weighted = bits_of(ids.nodes, 2 * edges.table.rows), edges.weight is not None
    buckets = Buckets(work, "edges-", ids.nodes, bits, weighted, both=True, cluster=cluster)
    read = partial(edges.read, ids=ids)
    fill = partial(buckets.fill, edges.table, edges.columns, read, inputs, "Reading edges")
    filled = work.stage("edges", inputs, fill)
    if filled["rows"] == filled["dropped"] > 0:
        first = ", ".join(map(repr, filled["unknown"]))
        raise DatasetError(
            f"{edges.table.files[0]}: all {filled['rows']:,} rows have ids that are not in {ids.home}, first {first}; "
            "write them alike."
        )
    names = "indptr", "indices", "weights" if edges.weight else "", "degrees"
    sort = partial(buckets.sort, filled["entries"], names, memory, inputs, "Sorting edges")
    return {**filled, **work.stage("adjacency", inputs, sort)}

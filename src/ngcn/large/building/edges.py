"""The table of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ngcn.data.large_table import LargeTable
from ngcn.data.node_edge_tables import edge_weights
from ngcn.data.node_ids import NO_NODE
from ngcn.data.table import Table
from ngcn.engine import Cluster
from ngcn.large.building.buckets import NO_WEIGHTS, Buckets, Entries, bits_of
from ngcn.large.building.ids import Ids
from ngcn.large.building.work import Work


@dataclass(frozen=True)
class EdgeTable:
    """A table of edges, and what its columns are."""

    table: LargeTable
    ends: tuple[str, str]
    weight: str | None

    @property
    def columns(self) -> list[str]:
        return [*self.ends, *([self.weight] if self.weight else [])]

    def read(self, chunk: Table, ids: Ids) -> Entries:
        """The numbers of the nodes at both ends, and the weights."""
        (source, unknown), (target, more) = (ids.places(chunk, end) for end in self.ends)
        if unknown or more:
            raise chunk.bad_cells(unknown, more, remedy=f"{NO_NODE}.")
        return source, target, edge_weights(chunk, self.weight) if self.weight else NO_WEIGHTS


def write_adjacency(
    edges: EdgeTable, ids: Ids, memory: int, inputs: str, work: Work, cluster: Cluster | None = None
) -> dict[str, Any]:
    """Write the adjacency and the degrees; return its ``entries``, the ``rows`` of the table, and their ``weight``."""
    bits, weighted = bits_of(ids.nodes, 2 * edges.table.rows), edges.weight is not None
    buckets = Buckets(work, "edges-", ids.nodes, bits, weighted, both=True, cluster=cluster)
    read = partial(edges.read, ids=ids)
    fill = partial(buckets.fill, edges.table, edges.columns, read, inputs, "Reading edges")
    filled = work.stage("edges", inputs, fill)
    names = "indptr", "indices", "weights" if edges.weight else "", "degrees"
    sort = partial(buckets.sort, filled["entries"], names, memory, inputs, "Sorting edges")
    return {**filled, **work.stage("adjacency", inputs, sort)}

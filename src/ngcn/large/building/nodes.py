"""The table of nodes: ids, labels and split in a first pass, features in a second one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ngcn.data.columns import NUMBERS, Column
from ngcn.data.feature_columns import ONE_HOT_VALUES
from ngcn.data.large_table import LargeTable
from ngcn.data.node_edge_tables import label_texts, split_numbers
from ngcn.data.parts import UNKNOWN
from ngcn.data.table import Table, as_integers
from ngcn.errors import DatasetError
from ngcn.large.building.ids import IdWriter
from ngcn.large.building.work import GrowingArray, Work, append_to

MOST_CLASSES = 10_000
CHUNK = 1 << 20


@dataclass(frozen=True)
class NodeTable:
    """A table of nodes, and what its columns are.

    Attributes:
        table: the table.
        special: the columns that are not features, by purpose: id, label and split.
        plan: how the other columns are read.
        multilabel: whether a label is a list.
    """

    table: LargeTable
    special: dict[str, str]
    plan: Sequence[Column]
    multilabel: bool

    @property
    def one_hot(self) -> list[str]:
        return [column.name for column in self.plan if column.kind == "one-hot"]

    @property
    def numbers(self) -> list[Column]:
        return [column for column in self.plan if column.kind in NUMBERS]

    def names(self, values: dict[str, list[str]]) -> list[str]:
        """The names of the features; ``values`` are those of the one-hot columns."""
        return [c.name for c in self.numbers] + [f"{name}={value}" for name in self.one_hot for value in values[name]]


def read_nodes(nodes: NodeTable, work: Work) -> dict[str, Any]:
    """Write ids, labels and split; return their sizes and names, and the values of one-hot columns."""
    table, special, one_hot = nodes.table, nodes.special, nodes.one_hot
    ids, labels = IdWriter(work.folder), Labels(work.folder, nodes.multilabel)
    values: dict[str, set[str]] = {name: set() for name in one_hot}
    columns = [special[purpose] for purpose in ("id", "label", "split") if purpose in special]
    with GrowingArray(work, "split", np.uint8) as split:
        for chunk in table.chunks(columns + one_hot):
            ids.append(chunk, special["id"])
            labelled = labels.append(chunk, special.get("label"))
            none = np.zeros(len(chunk), np.uint8)
            split.append(split_numbers(chunk, special["split"], labelled) if "split" in special else none)
            for name, known in values.items():
                known |= set(pc.unique(chunk.known(name).drop_null()).to_pylist())
                if len(known) > ONE_HOT_VALUES:
                    raise DatasetError(
                        f"{chunk.name}: the column {name!r} has more than {ONE_HOT_VALUES} different values, too many "
                        f"for `one_hot`; put them into a table of features (id, feature), or use `ignore={[name]}`."
                    )
            work.on_progress("Reading nodes", ids.nodes, max(table.rows, ids.nodes))
    if not ids.nodes:
        raise DatasetError(f"{table.files[0]} has no rows, so the graph has no nodes.")
    return {"ids": ids.found(), "classes": labels.close(work), "values": {n: sorted(v) for n, v in values.items()}}


class Labels:
    """Numbers labels as they come; sorts the classes by name at the end."""

    def __init__(self, folder: Path, multilabel: bool) -> None:
        self.multilabel = multilabel
        self.number: dict[str, int] = {}
        self.nodes = 0
        self.codes, self.lengths = folder / "labels.codes", folder / "labels.lengths"
        for path in (self.codes, self.lengths):
            path.unlink(missing_ok=True)

    def append(self, table: Table, column: str | None) -> np.ndarray:
        """Write the labels; return which of the nodes are labelled."""
        self.nodes += len(table)
        if not column:
            append_to(self.codes, np.full(len(table), UNKNOWN, np.int32))
            return np.zeros(len(table), bool)
        texts, flat, lengths = label_texts(table, column, self.multilabel)
        if lengths is not None:
            append_to(self.lengths, lengths.astype(np.int32))
            flat = pc.if_else(pc.equal(flat, ""), None, flat)
        found = flat.dictionary_encode()
        numbers = [self.number.setdefault(name, len(self.number)) for name in found.dictionary.to_pylist()]
        if len(self.number) > MOST_CLASSES:
            raise DatasetError(f"{table.at(column)}: there are more than {MOST_CLASSES:,} different labels.")
        codes = pc.fill_null(found.indices, len(numbers)).to_numpy()
        append_to(self.codes, np.array([*numbers, UNKNOWN], np.int32)[codes])
        labelled: np.ndarray = texts.is_valid().to_numpy(zero_copy_only=False)
        return labelled

    def close(self, work: Work) -> list[str]:
        """Write labels.npy, and return the names of the classes."""
        given = list(self.number)
        names = [given[i] for i in np.argsort(as_integers(pa.array(given, pa.string())), kind="stable")]
        place = {name: i for i, name in enumerate(names)}
        order = np.array([*(place[name] for name in self.number), UNKNOWN])
        with GrowingArray(work, "labels", *((np.float32, (len(names),)) if self.multilabel else (np.int64,))) as out:
            codes = np.memmap(self.codes, np.int32, "r")
            for rows, of_rows in self._rows():
                labels = order[codes[of_rows]]
                if self.multilabel:
                    known, matrix = labels != UNKNOWN, np.zeros((rows.max(initial=-1) + 1, len(names)), np.float32)
                    matrix[rows[known], labels[known]] = 1
                    labels = matrix
                out.append(labels)
        return names

    def _rows(self) -> Iterator[tuple[np.ndarray, slice]]:
        """Nodes, by their place in a chunk, and where their codes are."""
        if not self.multilabel:
            yield from ((np.empty(0), slice(at, at + CHUNK)) for at in range(0, self.nodes, CHUNK))
            return
        lengths, end = np.memmap(self.lengths, np.int32, "r"), 0
        step = max(1, CHUNK // max(1, len(self.number)))
        for at in range(0, self.nodes, step):
            rows = np.repeat(np.arange(len(lengths[at : at + step])), lengths[at : at + step])
            yield rows, slice(end, end + len(rows))
            end += len(rows)

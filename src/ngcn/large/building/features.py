"""Features: columns of the table of nodes, a matrix in a file, rows of (id, feature, value), or the structure."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ngcn.data.columns import Column, numbers
from ngcn.data.large_table import LargeTable, Position
from ngcn.data.node_edge_tables import id_column
from ngcn.data.node_ids import no_node
from ngcn.data.npz import map_array
from ngcn.data.parts import MOST_FEATURES, log
from ngcn.data.table import Table
from ngcn.engine import Cluster
from ngcn.errors import DatasetError
from ngcn.graph import HOPS, IDENTITY_NODES, structural_names
from ngcn.large.building.buckets import Buckets, Entries, bits_of
from ngcn.large.building.ids import Ids
from ngcn.large.building.nodes import NodeTable
from ngcn.large.building.spread import in_files
from ngcn.large.building.work import GrowingArray, Work
from ngcn.large.links import Links
from ngcn.large.products import powers_of
from ngcn.large.rows import Prepared, chunks

SPARSE = ("features_indptr", "features_indices", "features_data", "")
CHUNK = 1 << 22  # numbers that are copied together
Names = dict[str, Any]  # {"names": of the features; or their number, if they have none}


@dataclass(frozen=True)
class Features:
    """Where the features of a graph come from.

    Attributes:
        nodes: the table of nodes.
        values: of its one-hot columns.
        file: a dense matrix in .npy, or a sparse one in .npz as SciPy writes it.
        table: rows of (id, feature, value).
        half: whether to write half precision.
        cluster: reads the tables; this machine if None.
    """

    nodes: NodeTable
    values: dict[str, list[str]]
    file: Path | None
    table: LargeTable | None
    half: bool
    cluster: Cluster | None = None

    def write(self, ids: Ids, memory: int, inputs: str, work: Work) -> Names:
        """Write the arrays of features; return their names."""
        columns = self.nodes.names(self.values)
        sparse = self.table is not None or (self.file is not None and self.file.suffix == ".npz")
        if columns and sparse:
            raise DatasetError(
                f"{self.nodes.table.files[0]} has features in columns, such as {columns[0]!r}, which a graph on disk "
                "cannot combine with sparse features; put them into the table of features too, or drop them with "
                f"`ignore={[column.name for column in self.nodes.plan][:3]}`."
            )
        if self.table is not None:
            return _write_table(self.table, ids, memory, inputs, work, self.cluster)
        if sparse and self.file:
            return _write_sparse(self.file, ids.nodes, work)
        if columns or self.file:
            return self._write_dense(columns, ids.nodes, work)
        if ids.nodes <= IDENTITY_NODES:
            log.warning(f"{self.nodes.table.files[0]} has no features: every node is a feature of its own.")
            one = sp.eye_array(ids.nodes, dtype=np.float32, format="csr")
            with _Csr(work) as out:
                out.append(one)
            return {"names": ids.nodes}
        log.warning(f"{self.nodes.table.files[0]} has no features: degrees and random walks are used.")
        return _write_structure(memory, self.half, work)

    def _write_dense(self, columns: list[str], nodes: int, work: Work) -> Names:
        given = None if self.file is None else _matrix(self.file, nodes)
        width = len(columns) + (0 if given is None else given.shape[1])
        with GrowingArray(work, "features", np.float16 if self.half else np.float32, (width,)) as out:
            for X in self._columns(columns, work) if columns else _nothing(nodes, width):
                if given is not None:
                    X = np.hstack([X, _finite(given, out.rows, len(X), self.file)])
                out.append(X)
                work.on_progress("Reading features", out.rows, nodes)
        more = range(width - len(columns))
        return {"names": [*columns, *map(str, more)] if columns else len(more)}

    def _columns(self, names: list[str], work: Work) -> Iterator[np.ndarray]:
        """The features in the table of nodes, some rows at a time."""
        read = partial(_read_columns, self.nodes.numbers, self.values, len(names))
        table, columns = self.nodes.table, [column.name for column in self.nodes.numbers] + list(self.values)
        if self.cluster is None or not table.exact:  # text is one piece
            return map(read, table.chunks(columns))
        tasks = [partial(_read_piece, table, columns, read, *cut) for cut in table.pieces(CHUNK // len(names))]
        return chain.from_iterable(in_files(tasks, self.cluster, work))


def _read_piece(
    table: LargeTable, columns: Sequence[str], read: Callable[[Table], np.ndarray], start: Position, stop: Position
) -> Iterator[np.ndarray]:
    """What ``read`` makes of the chunks of a piece of a table."""
    return map(read, table.chunks(columns, start, stop))


def _read_columns(plain: Sequence[Column], values: dict[str, list[str]], width: int, chunk: Table) -> np.ndarray:
    """The columns of numbers, then those of one-hot columns, which have these values."""
    X = np.zeros((len(chunk), width), np.float32)
    X[:, : len(plain)] = numbers(chunk, plain)
    at = len(plain)
    for name, known in values.items():
        place = pc.index_in(chunk.known(name), value_set=pa.array(known, pa.string()))
        rows = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
        X[rows, at + place.drop_null().to_numpy()] = 1
        at += len(known)
    return X


def _nothing(nodes: int, width: int) -> Iterator[np.ndarray]:
    return (np.empty((stop - start, 0), np.float32) for start, stop in chunks(nodes, width))


def _matrix(path: Path, nodes: int) -> np.ndarray:
    """A dense matrix as a memory map."""
    try:
        matrix = map_array(path)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} is no matrix in the format .npy or .npz ({error}).") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DatasetError(f"{path} should be a matrix of numbers, but has shape {matrix.shape}, type {matrix.dtype}.")
    _check_shape(matrix.shape, path, nodes)
    return matrix


def _check_shape(shape: tuple[int, int], path: Path, nodes: int) -> None:
    if shape[0] != nodes or not 0 < shape[1] <= MOST_FEATURES:
        raise DatasetError(
            f"{path} has {shape[0]:,} rows and {shape[1]:,} columns, and there are {nodes:,} nodes; it needs a row for "
            "each, in the order of the table of nodes."
        )


def _finite(matrix: np.ndarray, start: int, rows: int, path: Path | None) -> np.ndarray:
    with np.errstate(over="ignore"):
        X = matrix[start : start + rows].astype(np.float32)
    if (bad := np.isinf(X)).any():
        row, column = np.argwhere(bad)[0].tolist()
        raise DatasetError(f"{path}, row {start + row}, column {column} (from 0) is infinite, or too large a number.")
    return X


def _write_sparse(path: Path, nodes: int, work: Work) -> Names:
    """Copy a matrix that ``scipy.sparse.save_npz`` wrote, some rows at a time."""
    try:
        with zipfile.ZipFile(path) as archive, _Csr(work) as out:
            shape = tuple(_Member(archive, "shape").read(2).tolist())
            _check_shape(shape, path, nodes)
            indptr, indices, data = (_Member(archive, name) for name in ("indptr", "indices", "data"))
            rows = max(1, CHUNK * nodes // max(nodes, indices.entries))
            before = indptr.read(1)
            for at in range(0, nodes, rows):
                starts = np.concatenate([before, indptr.read(min(rows, nodes - at))]).astype(np.int64)
                if (np.diff(starts) < 0).any():
                    raise ValueError("its rows do not ascend in indptr")
                entries = int(starts[-1] - starts[0])
                arrays = data.read(entries), indices.read(entries), starts - starts[0]
                some = sp.csr_array(arrays, shape=(len(starts) - 1, shape[1]), dtype=np.float32)
                some.check_format(full_check=True)
                some.sum_duplicates()
                if not np.isfinite(some.data).all():
                    raise ValueError("it has values that are no finite numbers")
                out.append(some)
                before = starts[-1:]
                work.on_progress("Reading features", at + len(starts) - 1, nodes)
    except DatasetError:
        raise
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if getattr(error, "errno", None):
            raise
        what = str(error).rstrip(".")
        raise DatasetError(f"{path} is no CSR matrix that SciPy wrote ({what}); save it with save_npz.") from None
    return {"names": shape[1]}


class _Member:
    """An array in an .npz file, which is read from its start to its end."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.file = archive.open(f"{name}.npy")
        if np.lib.format.read_magic(self.file) != (1, 0):
            raise ValueError("it was written by an unknown version of NumPy")
        shape, _, self.dtype = np.lib.format.read_array_header_1_0(self.file)
        if len(shape) != 1 or self.dtype.kind not in "iuf":
            raise ValueError(f"{name} is no list of numbers")
        self.entries = shape[0]

    def read(self, entries: int) -> np.ndarray:
        """The next entries."""
        found = self.file.read(max(0, entries) * self.dtype.itemsize)
        if entries < 0 or len(found) < entries * self.dtype.itemsize:
            raise ValueError("it is inconsistent, or too short")
        return np.frombuffer(found, self.dtype)


class _Csr(ExitStack):
    """The three files of a sparse matrix that is written by rows."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        kinds = zip(SPARSE, (np.int64, np.int32, np.float32), strict=False)
        arrays = (self.enter_context(GrowingArray(work, name, kind)) for name, kind in kinds)
        self.indptr, self.indices, self.data = arrays
        self.indptr.append(np.zeros(1, np.int64))

    def append(self, rows: Any) -> None:
        self.indptr.append(self.data.rows + rows.indptr[1:])
        self.indices.append(rows.indices)
        self.data.append(rows.data)


def _write_table(
    table: LargeTable, ids: Ids, memory: int, inputs: str, work: Work, cluster: Cluster | None = None
) -> Names:
    """Write the sparse features in rows of (id, feature, value)."""
    head = table.head()
    id_, feature, value = id_column(head), head.need("feature"), head.find("value")
    names: set[str] = set()
    missing = "the name of the feature is missing; fill it in or remove the row."
    for chunk in table.chunks([feature]):
        names |= set(pc.unique(chunk.texts(feature, missing)).to_pylist())
        if len(names) > MOST_FEATURES:
            raise DatasetError(f"{table.files[0]} has more than {MOST_FEATURES:,} features.")
    if not names:
        raise DatasetError(f"{table.files[0]} has no rows; leave it out if there are no sparse features.")
    known = pa.array(sorted(names), pa.string())

    def read(chunk: Table) -> Entries:
        places, unknown = ids.places(chunk, id_)
        if unknown:
            raise chunk.bad_cells(unknown, remedy=f"{no_node()}.")
        columns = pc.index_in(chunk.texts(feature), value_set=known).to_numpy().astype(np.int64)
        ones = np.ones(len(chunk), np.float32)
        return Entries(places, columns, chunk.numbers(value, "correct it or remove the row.") if value else ones)

    bits = bits_of(ids.nodes, table.rows)
    buckets = Buckets(work, "features-", ids.nodes, bits, weighted=True, both=False, cluster=cluster)
    columns = [id_, feature, *([value] if value else [])]
    filled = buckets.fill(table, columns, read, inputs, "Reading features")
    buckets.sort(filled["entries"], SPARSE, memory, inputs, "Sorting features")
    return {"names": known.to_pylist()}


def _write_structure(memory: int, half: bool, work: Work) -> Names:
    """Write what :func:`ngcn.graph.structural_features` computes, from the adjacency that is on disk already."""
    load = {name: np.load(path, mmap_mode="r") for path in work.folder.glob("*.npy") if (name := path.stem)}
    indptr, indices, degrees = load["indptr"], load["indices"], load["degrees"]
    weights = load.get("weights", np.ones(1, np.float32))
    links = Links(indptr, indices, weights, degrees)
    squares = weights
    if links.weighted:
        with GrowingArray(work, "squares", np.float32) as out:
            for at in range(0, len(weights), CHUNK):
                out.append(np.square(weights[at : at + CHUNK]))
        squares = np.load(work.folder / "squares.npy", mmap_mode="r")
    inverse = np.divide(1.0, degrees, out=np.zeros(len(degrees)), where=degrees > 0).astype(np.float32)
    back = Links(indptr, indices, squares, degrees).multiply("walk", inverse[:, None])
    with GrowingArray(work, "structure", np.float32, (2,)) as seen:
        seen.append(np.hstack([np.log1p(degrees)[:, None], back]))
    X = Prepared(np.load(work.folder / "structure.npy", mmap_mode="r"))
    hops = powers_of(links, "walk", X, range(HOPS + 1), folder=work.folder / "hops", memory=memory)
    with GrowingArray(work, "features", np.float16 if half else np.float32, (2 * (HOPS + 1),)) as features:
        for start, stop in chunks(links.nodes, 2 * (HOPS + 1)):
            features.append(np.hstack([hops[k][start:stop] for k in range(HOPS + 1)]))
    for name in ("squares", "structure"):
        (work.folder / f"{name}.npy").unlink(missing_ok=True)
    return {"names": structural_names()}

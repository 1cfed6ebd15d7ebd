"""Matrices with a row per node that are read by rows, from files or from memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.graph import Graph, StoredGraph, open_graph

CHUNK = 1 << 24  # bytes, about, of rows that are looked at together


class Prepared:
    """The features of a graph, prepared row by row as they are read.

    Args:
        features: ``(nodes, features)``, dense or sparse; or a graph, whose features are taken.
        preparation: what makes X of rows of features, such as that of a model; nothing if None.

    Example:
        >>> X = Prepared(np.eye(3), lambda rows: 2 * rows)
        >>> X.shape, X[1:2].tolist(), X[np.array([2, 2])].tolist()
        ((3, 3), [[0.0, 2.0, 0.0]], [[0.0, 0.0, 2.0], [0.0, 0.0, 2.0]])
    """

    def __init__(self, features: Any, preparation: Any = None) -> None:
        self.folder = features.folder if isinstance(features, StoredGraph) else None
        self.features = features.features if isinstance(features, Graph) else features
        self.preparation: Any = preparation
        self.shape: tuple[int, int] = self.features.shape

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """Some rows, dense in float32."""
        X = take_rows(self.features, rows)
        X = X if self.preparation is None else self.preparation(X)
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, np.float32)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.folder is not None:  # a memory map would be pickled as its content
            return _open, (self.folder, self.preparation)
        return Prepared, (self.features, self.preparation)


class Slabs:
    """A matrix in pieces: slabs of columns, each cut into blocks of rows. Reads rows as an array does.

    Args:
        pieces: for each slab its blocks, from top to bottom.

    Example:
        >>> S = Slabs([[np.zeros((2, 1)), np.ones((1, 1))], [np.full((2, 2), 2.0), np.full((1, 2), 3.0)]])
        >>> S.shape, S[1:3].tolist(), S[np.array([2, 0])].tolist()
        ((3, 3), [[0.0, 2.0, 2.0], [1.0, 3.0, 3.0]], [[1.0, 3.0, 3.0], [0.0, 2.0, 2.0]])
    """

    def __init__(self, pieces: Sequence[Sequence[np.ndarray]]) -> None:
        self.pieces = pieces
        self.starts = np.cumsum([0, *map(len, pieces[0])])
        self.shape = int(self.starts[-1]), sum(blocks[0].shape[1] for blocks in pieces)
        self.dtype = pieces[0][0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        if all(isinstance(block, np.memmap) for blocks in self.pieces for block in blocks):
            files = [[str(getattr(block, "filename", "")) for block in blocks] for blocks in self.pieces]
            return _open_slabs, (files,)  # a memory map would be pickled as its content
        return Slabs, (self.pieces,)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """Some rows, in float32."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            assert step == 1
            return self.columns(slice(0, len(self.pieces)), start, stop)
        rows = np.asarray(rows)
        order = None
        if len(rows) and (np.diff(rows) < 0).any():
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
        out = np.empty((len(rows), self.shape[1]), np.float32)
        ends = np.searchsorted(rows, self.starts)
        for block, (first, last) in enumerate(pairwise(ends)):
            if first < last:
                at, inside = 0, rows[first:last] - self.starts[block]
                for blocks in self.pieces:
                    width = blocks[block].shape[1]
                    out[first:last, at : at + width] = blocks[block][inside]
                    at += width
        if order is None:
            return out
        unsorted = np.empty_like(out)
        unsorted[order] = out
        return unsorted

    def columns(self, slabs: slice, start: int, stop: int) -> np.ndarray:
        """Consecutive rows of some of the slabs."""
        pieces = self.pieces[slabs]
        out = np.empty((stop - start, sum(blocks[0].shape[1] for blocks in pieces)), np.float32)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for block in range(first, int(np.searchsorted(self.starts, stop))):
            top = int(self.starts[block])
            a, b = max(start, top), min(stop, int(self.starts[block + 1]))
            at = 0
            for blocks in pieces:
                width = blocks[block].shape[1]
                out[a - start : b - start, at : at + width] = blocks[block][a - top : b - top]
                at += width
        return out


def chunks(nodes: int, columns: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about 16 MB of float32 each."""
    rows = max(1, CHUNK // (4 * max(1, columns)))
    return ((start, min(nodes, start + rows)) for start in range(0, nodes, rows))


def take_rows(features: Any, rows: slice | np.ndarray) -> Any:
    """Some rows of a dense or sparse matrix, of memory maps too; float16 becomes float32."""
    if sp.issparse(features):
        return _rows(features, rows)
    X = features[rows]
    return X.astype(np.float32) if X.dtype == np.float16 else X


def _rows(matrix: sp.csr_array, rows: slice | np.ndarray) -> sp.csr_array:
    """Rows of a CSR matrix whose arrays may be memory maps of different types of integers."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(matrix.shape[0])
        begin, end = matrix.indptr[start], matrix.indptr[stop]
        arrays = matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[start : stop + 1] - begin
        return sp.csr_array(arrays, shape=(stop - start, matrix.shape[1]))
    lengths = matrix.indptr[rows + 1] - matrix.indptr[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(indptr[-1]) + np.repeat(matrix.indptr[rows] - indptr[:-1], lengths)
    return sp.csr_array((matrix.data[at], matrix.indices[at], indptr), shape=(len(rows), matrix.shape[1]))


def _open(folder: Path, preparation: Any) -> Prepared:
    return Prepared(open_graph(folder), preparation)


def _open_slabs(files: Sequence[Sequence[str]]) -> Slabs:
    return Slabs([[np.load(file, mmap_mode="r") for file in row] for row in files])

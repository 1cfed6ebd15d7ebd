"""Graphs in .npz files, in the two forms that benchmarks are published in. Nothing in them is unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.data.assemble import Masks, Trained, assemble, numbered
from ngcn.data.catalog import DatasetError
from ngcn.data.table_features import bag_or_not
from ngcn.graph import Graph, GraphError

# What zipfile and numpy raise: RuntimeError is for what looks like encryption or a later version of zip
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, SyntaxError, MemoryError, zlib.error, zipfile.BadZipFile)


def read_npz(
    path: str | Path,
    *,
    name: str | None = None,
    split: str = "planetoid",
    seed: int = 0,
    trained: Trained | None = None,
) -> Graph:
    """The graph in an .npz file.

    The two forms:
        - ``adj_{data,indices,indptr,shape}``, ``attr_{data,indices,indptr,shape}`` or ``attr_matrix``, ``labels``
        - ``edges`` (pairs of nodes), ``node_features``, ``node_labels``, and ``{train,val,test}_masks``, of which the
          first row is taken where there are several; the first column if only that has an entry per node

    Arrays of Python objects, as some files have them for names, would have to be unpickled; they are passed over where
    they are not needed.
    """
    path = Path(path)
    arrays = _Arrays(path)
    try:
        if "adj_indptr" in arrays:
            adjacency = arrays.matrix("adj")
            features = arrays.matrix("attr") if "attr_indptr" in arrays else _dense(arrays.find("attr_matrix"))
            labels, masks = arrays["labels"], None
        elif "edges" in arrays:
            labels, features = arrays["node_labels"], _dense(arrays.find("node_features"))
            adjacency = _from_pairs(arrays["edges"], len(labels))
            parts = [arrays.find(f"{part}_masks") for part in ("train", "val", "test")]
            masks = None if parts[0] is None else first_masks(parts, len(labels))
        else:
            raise DatasetError(
                f"{path} has neither adj_indptr nor edges among its arrays ({', '.join(arrays.names[:8])}); see "
                "docs/own-data.md for the two forms."
            )
        class_names = None
        if labels.ndim == 1 and labels.dtype.kind == "f":
            labels = np.where(np.isfinite(labels), labels, -1)
        elif labels.ndim == 1 and labels.dtype.kind == "U":
            labels, class_names = numbered(labels, trained and trained.class_names)
        how: dict[str, Any] = {"class_names": class_names, "split": split, "seed": seed, "trained": trained}
        return assemble(adjacency, features, labels, masks, name=name or path.stem, **how)
    except DatasetError:
        raise
    except (ValueError, IndexError, TypeError, KeyError, OverflowError) as trouble:
        raise DatasetError(
            f"The arrays of {path} do not fit together as a graph: {trouble}".rstrip(".") + "."
        ) from trouble


class _Arrays:
    """The arrays of a file, by name, with errors that say which is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self.names = [member.removesuffix(".npy") for member in archive.namelist()]
            self.file = np.load(path, allow_pickle=False)
        except DAMAGE as trouble:
            raise DatasetError(f"{path} is damaged, cut off or no .npz file: {trouble}.") from None

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise DatasetError(f"{self.path} has no array {name!r}; it has {', '.join(self.names[:12])}.")
        try:
            return self.file[name]
        except DAMAGE as trouble:
            if "allow_pickle" in str(trouble):
                raise DatasetError(
                    f"The array {name!r} of {self.path} is not of numbers or text but of Python objects, which could "
                    "run code when loaded; save it as plain numbers."
                ) from None
            raise DatasetError(f"The array {name!r} of {self.path} is damaged: {trouble}.") from None

    def find(self, name: str) -> Any:
        return self[name] if name in self.names else None

    def matrix(self, prefix: str) -> sp.csr_array:
        data, indices, indptr, shape = (self[f"{prefix}_{part}"] for part in ("data", "indices", "indptr", "shape"))
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(int(size) for size in shape))
        matrix.check_format(full_check=True)
        return matrix


def _dense(features: np.ndarray | None) -> Any:
    return None if features is None else bag_or_not(np.asarray(features, np.float32))


def _from_pairs(pairs: np.ndarray, nodes: int) -> sp.csr_array:
    ends = pairs if pairs.ndim == 2 and pairs.shape[1] == 2 else pairs.T
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(f"edges must be pairs of node numbers, but have shape {pairs.shape}")
    adjacency = sp.csr_array((np.ones(len(ends), np.float32), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    adjacency.sum_duplicates()
    adjacency.data[:] = 1
    return adjacency


def first_masks(parts: Sequence[np.ndarray | None], nodes: int) -> Masks:
    """The first of the training, validation and test masks, where there are several; none of a kind are no nodes."""
    train, val, test = (np.zeros(nodes, bool) if part is None else _first(part, nodes) for part in parts)
    return train, val, test


def _first(masks: np.ndarray, nodes: int) -> np.ndarray:
    rows = np.atleast_2d(masks)
    rows = rows if rows.shape[1] == nodes else rows.T
    if rows.ndim != 2 or rows.shape[1] != nodes:
        raise GraphError(f"A split has shape {masks.shape}; it needs a row with an entry for each of {nodes} nodes.")
    return rows[0].astype(bool)

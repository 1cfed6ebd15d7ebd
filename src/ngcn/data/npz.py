"""Graphs in .npz files, in the two formats that benchmarks are published in. Nothing is unpickled."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.data.feature_columns import dense_features
from ngcn.data.parts import Block, Parts, all_masks, checked_csr, number_classes, one_way
from ngcn.errors import DatasetError
from ngcn.files import open_regular, unpacks_too_far

# What zipfile and numpy raise for damaged files; RuntimeError is for encryption and for later versions of zip.
_OF_FORMAT = (OSError, EOFError, RuntimeError, SyntaxError, tokenize.TokenError, zlib.error, zipfile.BadZipFile)
DAMAGE = (*_OF_FORMAT, ValueError, MemoryError, TypeError, OverflowError, LookupError)


def read_npz(path: Path, name: str) -> Parts:
    """Read a graph from an .npz file.

    The two formats:
        - ``adj_{data,indices,indptr,shape}``, ``attr_{data,indices,indptr,shape}`` or ``attr_matrix``, ``labels``
        - ``edges`` (pairs of nodes), ``node_features``, ``node_labels``

    Both may have ``{train,val,test}_masks`` (or ``_mask``) for one split, or for several in the rows, or in the columns
    if only columns have an entry per node.

    Arrays of Python objects, which some files have for names, would need unpickling. They are not read.
    """
    arrays = _Arrays(path)
    try:
        if "adj_indptr" in arrays.names:
            parts = _matrices(arrays)
        elif "edges" in arrays.names:
            parts = _edge_list(arrays)
        else:
            raise DatasetError(
                f"{path} has neither adj_indptr nor edges among its arrays ({', '.join(arrays.names[:8])}); the "
                "guide `Your own graph` describes the two formats."
            )
        labels = parts["labels"]
        masks = [arrays.find(f"{part}_masks", f"{part}_mask") for part in ("train", "val", "test")]
        splits = all_masks(masks, len(labels))
        if labels.ndim == 1 and labels.dtype.kind == "f":
            parts["labels"] = np.where(np.isfinite(labels), labels, -1)
        elif labels.ndim == 1 and labels.dtype.kind == "U":
            parts["labels"], parts["class_names"] = number_classes(labels)
        return Parts(**parts, masks=splits[0] if splits else None, splits=splits, name=name, source=str(path))
    except DatasetError:
        raise
    except (ValueError, IndexError, TypeError, KeyError, OverflowError) as error:
        raise DatasetError(f"The arrays of {path} do not fit together as a graph: {str(error).rstrip('.')}.") from error


def map_array(path: Path) -> np.ndarray:
    """The array of an .npy file as a read-only memory map; a ValueError if it is damaged."""
    open_regular(path).close()
    try:
        array: np.ndarray = np.lib.format.open_memmap(path, mode="r")  # an array of Python objects is an error
    except OSError:
        raise
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged or too short") from error
    return array


def _matrices(arrays: _Arrays) -> dict[str, Any]:
    sparse = "attr_indptr" in arrays.names
    features = [Block(arrays.matrix("attr"))] if sparse else dense_features(arrays.find("attr_matrix"))
    return {"adjacency": arrays.matrix("adj"), "features": features, "labels": arrays["labels"]}


def _edge_list(arrays: _Arrays) -> dict[str, Any]:
    pairs, labels = arrays["edges"], arrays["node_labels"]
    ends = pairs if pairs.ndim == 2 and pairs.shape[1] == 2 else pairs.T
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(f"edges must be pairs of node numbers, but have shape {pairs.shape}")
    return {
        "adjacency": one_way(ends[:, 0], ends[:, 1], len(labels)),
        "features": dense_features(arrays.find("node_features")),
        "labels": labels,
    }


class _Arrays:
    """The arrays of a file, by name, with errors that name a missing one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            open_regular(path).close()
            with zipfile.ZipFile(path) as archive:
                self.names = [member.removesuffix(".npy") for member in archive.namelist()]
                packed, unpacked = path.stat().st_size, sum(member.file_size for member in archive.infolist())
            if unpacks_too_far(unpacked, packed):
                raise ValueError(f"it unpacks to {unpacked:,} bytes from {packed:,}")
            self.file = np.load(path, allow_pickle=False)
        except DAMAGE as error:
            raise DatasetError(f"{path} is damaged, truncated or not an .npz file: {error}.") from None

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise DatasetError(f"{self.path} has no array {name!r}; it has {', '.join(self.names[:12])}.")
        try:
            return self.file[name]
        except DAMAGE as error:
            what = f"is damaged: {error}."
            if "allow_pickle" in str(error):
                what = "holds Python objects, which could run code when loaded; save it as plain numbers."
            raise DatasetError(f"The array {name!r} of {self.path} {what}") from None

    def find(self, *names: str) -> Any:
        """The first array that there is."""
        return next((self[name] for name in names if name in self.names), None)

    def matrix(self, prefix: str) -> sp.csr_array:
        data, indices, indptr, shape = (self[f"{prefix}_{part}"] for part in ("data", "indices", "indptr", "shape"))
        if data.dtype.kind not in "biuf":
            raise ValueError(f"{prefix}_data are not numbers, but of type {data.dtype}")
        return checked_csr(sp.csr_array((data, indices, indptr), shape=tuple(int(size) for size in shape)))

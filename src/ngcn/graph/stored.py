"""A graph in a folder of memory-mapped arrays, for graphs that do not fit into memory.

FOLDER/meta.json      sizes, names and a fingerprint of the arrays
FOLDER/indptr.npy     (nodes + 1,) int64: CSR of the undirected graph, without self-loops and repeated edges
FOLDER/indices.npy    (entries,) int32, ascending in each row
FOLDER/weights.npy    (entries,) float32, of a weighted graph
FOLDER/degrees.npy    (nodes,) float64, the sum of the weights of each row
FOLDER/features.npy   (nodes, features) float32 or float16; of sparse features, features_{indptr,indices,data}.npy
FOLDER/labels.npy     (nodes,) int64, -1 for unknown; for multi-label, a float32 matrix of zeros and ones
FOLDER/split.npy      (nodes,) uint8: 1 for training, 2 for validation, 3 for test, 0 for none
FOLDER/ids.npy        (nodes,) int64, or text
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ngcn.data.columns import READ_WITH, STORED, Column, columns_from_json, columns_to_json, options_from_json
from ngcn.data.npz import map_array
from ngcn.data.parts import MOST_FEATURES, UNKNOWN
from ngcn.errors import DatasetError, GraphError
from ngcn.files import atomic, write_json
from ngcn.graph.graph import Graph
from ngcn.json_file import Schema, read_json
from ngcn.memory import check_memory
from ngcn.version import __version__

META, FORMAT = "meta.json", 1  # the format is raised when older versions of ngcn would misread it
CHUNK = 1 << 24  # numbers that are looked at together
SURROGATES = 0xD800 >> 11  # code points that are no characters
MOST_NODES = 2**31 - 1  # numbers of nodes are int32
SPLITS = ("train", "val", "test")  # 1, 2 and 3 in split.npy
SCHEMA: Schema = {
    "format": int,
    "version": str,
    "name": str,
    "nodes": int,
    "edges": int,
    "entries": int,
    "features": int,
    "weighted": bool,
    "sparse": bool,
    "multilabel": bool,
    "class_names": list[str],
    "feature_names": int | list[str],
    "node_columns": int,
    "columns?": [STORED],
    "read_with?": READ_WITH,
    "fingerprint": str,
}


@dataclass(frozen=True, eq=False, repr=False)
class StoredGraph(Graph):
    """A graph whose arrays are memory maps of the files in a folder. :func:`open_graph` makes one.

    The adjacency is symmetric, without self-loops: every normalisation replaces or removes them.

    Attributes:
        folder: the folder.
        meta: the content of its ``meta.json``.
    """

    folder: Path = Path()
    meta: Mapping[str, Any] = None  # type: ignore[assignment]  # never None

    def __post_init__(self) -> None:
        """The files were validated when they were written, and their structure when they were opened."""

    @property
    def edges(self) -> int:
        """The number of undirected edges, without self-loops."""
        return int(self.meta["edges"])

    @property
    def weighted(self) -> bool:
        return bool(self.meta["weighted"])

    @property
    def degrees(self) -> np.ndarray:
        """``(nodes,)`` the sum of the weights of each node's edges."""
        return _array(self.folder, "degrees", (np.float64,), (self.nodes,))

    def ids(self, start: int, stop: int) -> pa.Array:
        """The ids of some consecutive nodes."""
        return pa.array(np.asarray(self.node_ids[start:stop]))

    def in_memory(self) -> Graph:
        """The same graph in memory."""
        A = self.adjacency
        X: Any = self.features
        needed = 8 * A.nnz + (8 * X.nnz if sp.issparse(X) else 4 * X.size)
        check_memory(needed, f"The whole graph {self.folder}", "use `batch='sampled'`", GraphError)
        fields = {name: getattr(self, name) for name in ("labels", *SPLITS, "node_ids", "class_names", "feature_names")}
        fields |= {name: getattr(self, name) for name in ("name", "node_columns", "source", "columns", "read_with")}
        features = _copied(X) if sp.issparse(X) else np.array(X, np.float32)
        return Graph(_copied(A), features, **fields)

    def __reduce__(self) -> tuple[Any, ...]:
        """Memory maps would be pickled as their content: pickle the folder, and what may be different from it."""
        changed = {name: getattr(self, name) for name in ("class_names", "source")}
        changed |= {name: np.packbits(getattr(self, name)) for name in SPLITS}
        if not isinstance(self.labels, np.memmap):
            changed["labels"] = self.labels
        return _reopened, (self.folder, changed)

    def reordered(self, order: np.ndarray) -> NoReturn:
        raise GraphError(f"{self.folder} is a graph on disk, which keeps its order of nodes.")

    def fingerprint(self) -> str:
        """Return a hash of everything that affects training, without reading the files again."""
        digest = sha256(repr((self.meta["fingerprint"], self.class_names, self.feature_names)).encode())
        for split in SPLITS:
            digest.update(np.packbits(getattr(self, split)).data)
        return digest.hexdigest()[:32]


def in_memory(graph: Graph) -> Graph:
    """The graph, copied to memory if it is on disk."""
    return graph.in_memory() if isinstance(graph, StoredGraph) else graph


def _reopened(folder: Path, changed: dict[str, Any]) -> StoredGraph:
    graph = open_graph(folder)
    masks = {name: np.unpackbits(changed[name], count=graph.nodes).astype(bool) for name in SPLITS}
    return replace(graph, **changed | masks)


def _copied(matrix: Any) -> sp.csr_array:
    """A CSR matrix of memory maps, in memory."""
    arrays = tuple(np.array(getattr(matrix, name)) for name in ("data", "indices", "indptr"))
    return sp.csr_array(arrays, shape=matrix.shape)


def is_stored(path: Path) -> bool:
    """Whether this is a folder that :func:`open_graph` reads."""
    return (path / META).is_file() and (path / "indptr.npy").is_file()


def open_graph(folder: Path | str) -> StoredGraph:
    """The graph in a folder that ``ngcn build`` wrote.

    Sizes, types and the structure of the adjacency are checked; nothing is copied to memory but the split.
    """
    folder = Path(folder)
    try:
        meta = read_json(folder / META, SCHEMA)
        columns = columns_from_json(meta.get("columns") or ())
    except OSError as error:
        raise DatasetError(f"{folder / META} cannot be read: {error.strerror}; is {folder} a graph?") from None
    except ValueError as error:
        raise DatasetError(f"{folder / META} is damaged ({error}); build the graph again.") from None
    if meta["format"] > FORMAT:
        raise DatasetError(
            f"{folder} was built by ngcn {meta['version']}, a newer version than this, {__version__}; upgrade ngcn."
        )
    nodes, entries = meta["nodes"], meta["entries"]
    if not 0 < nodes <= MOST_NODES:
        raise DatasetError(f"{folder / META} is damaged ({nodes:,} nodes); build the graph again.")
    indptr, indices = _structure(folder, "", nodes, entries, nodes)
    weights = _array(folder, "weights", (np.float32,), (entries,)) if meta["weighted"] else None
    split = _array(folder, "split", (np.uint8,), (nodes,))
    labels = _labels(folder, meta, split)
    numbered = isinstance(meta["feature_names"], int)
    return StoredGraph(
        adjacency=_csr(indptr, indices, _ones(entries) if weights is None else weights, nodes),
        features=_features(folder, meta),
        labels=labels,
        train=split == 1,
        val=split == 2,
        test=split == 3,
        node_ids=_ids(folder, nodes),
        class_names=tuple(meta["class_names"]),
        feature_names=tuple(map(str, range(meta["features"]))) if numbered else tuple(meta["feature_names"]),
        name=meta["name"],
        node_columns=meta["node_columns"],
        columns=columns,
        read_with=options_from_json(meta.get("read_with")),
        folder=folder,
        meta=meta,
    )


def store_graph(graph: Graph, folder: Path | str) -> StoredGraph:
    """Write a graph in memory to a folder; see :func:`ngcn.large.build` for one that does not fit into memory.

    Example:
        >>> from ngcn import load_dataset
        >>> folder = getfixture("tmp_path") / "cora"
        >>> store_graph(load_dataset("cora"), folder)
        Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, train=140, val=500, test=1000)
        >>> load_dataset(str(folder)).folder == folder
        True
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    both_ways: Any = graph.adjacency.maximum(graph.adjacency.T)
    A = sp.csr_array(both_ways - sp.diags_array(both_ways.diagonal()))
    A.eliminate_zeros()
    A.sort_indices()
    split = sum((number * getattr(graph, name).astype(np.uint8) for number, name in enumerate(SPLITS, start=1)))
    arrays = {
        "indptr": A.indptr.astype(np.int64),
        "indices": A.indices.astype(np.int32),
        "degrees": np.asarray(A.sum(axis=1, dtype=np.float64)),
        "labels": graph.labels,
        "split": split,
        "ids": graph.node_ids,
    }
    weighted = bool((A.data != 1).any())
    if weighted:
        arrays["weights"] = A.data.astype(np.float32)
    X: Any = graph.features
    if sp.issparse(X):
        arrays |= {f"features_{part}": getattr(X, part) for part in ("indptr", "indices", "data")}
        arrays["features_indptr"] = X.indptr.astype(np.int64)
        arrays["features_indices"] = X.indices.astype(np.int32)
    else:
        arrays["features"] = X
    for name, array in arrays.items():
        with atomic(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, array)
    meta = {"name": graph.name, "nodes": graph.nodes, "edges": A.nnz // 2, "entries": A.nnz, "weighted": weighted}
    names = graph.class_names, graph.feature_names, graph.node_columns, graph.columns, graph.read_with
    write_meta(folder, meta, graph.features.shape[1], *names)
    return open_graph(folder)


def write_meta(
    folder: Path,
    sizes: Mapping[str, Any],
    features: int,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    node_columns: int,
    columns: Sequence[Column],
    read_with: Mapping[str, Any],
) -> None:
    """Write ``meta.json``, which makes a folder of arrays a graph."""
    names = list(feature_names)
    numbered = names == list(map(str, range(features)))
    labels = map_array(folder / "labels.npy")
    meta = {
        "format": FORMAT,
        "version": __version__,
        **sizes,
        "features": features,
        "sparse": (folder / "features_indptr.npy").exists(),
        "multilabel": labels.ndim == 2,
        "class_names": list(class_names),
        "feature_names": features if numbered else names,
        "node_columns": node_columns,
        "columns": columns_to_json(columns),
        "read_with": dict(read_with),
        "fingerprint": _fingerprint(folder),
    }
    write_json(folder / META, meta)


def _fingerprint(folder: Path) -> str:
    """A hash of all arrays but the split."""
    whole = sha256()
    for path in sorted(folder.glob("*.npy")):
        digest = blake2b(digest_size=16)
        with path.open("rb") as file:
            while part := file.read(1 << 24):
                digest.update(part)
        if path.stem != "split":
            whole.update(f"{path.stem} {digest.hexdigest()}\n".encode())
    return whole.hexdigest()[:32]


def _array(folder: Path, name: str, kinds: Sequence[Any] | None, shape: tuple[int, ...]) -> np.ndarray:
    """A file as a read-only memory map; an error if it has another type or shape than expected."""
    path = folder / f"{name}.npy"
    try:
        array = map_array(path)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}; build the graph again.") from None
    except ValueError as error:
        raise DatasetError(f"{error}; build the graph again.") from None
    fits = array.dtype in kinds if kinds is not None else array.dtype.kind in "iU"
    if array.shape != shape or not fits or not array.flags.c_contiguous:
        raise DatasetError(
            f"{path} has type {array.dtype} and shape {array.shape}, which do not belong to this graph; build it again."
        )
    return array


def _structure(folder: Path, prefix: str, rows: int, entries: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """``indptr`` and ``indices`` of a sparse matrix; an error if they would lead outside of it."""
    indptr = _array(folder, f"{prefix}indptr", (np.int64,), (rows + 1,))
    indices = _array(folder, f"{prefix}indices", (np.int32,), (entries,))
    ascends = indptr[0] == 0 and indptr[-1] == entries
    for start in range(0, rows, CHUNK):
        ascends = ascends and bool((np.diff(indptr[start : start + CHUNK + 1]) >= 0).all())
    if not ascends or not all(_rows_ascend(indptr, indices, at, columns) for at in range(0, entries, CHUNK)):
        which = "indices" if ascends else "indptr"
        raise DatasetError(f"{folder / (prefix + which)}.npy is damaged; build the graph again.")
    return indptr, indices


def _rows_ascend(indptr: np.ndarray, indices: np.ndarray, at: int, columns: int) -> bool:
    """Whether the indices of each row ascend, and name columns, in the chunk from this entry on."""
    chunk = indices[at : at + CHUNK + 1]
    first, last = np.searchsorted(indptr, (at, at + len(chunk)))
    starts = np.zeros(len(chunk), bool)
    starts[indptr[first:last] - at] = True
    return bool(chunk.view(np.uint32).max() < columns and (starts[1:] | (chunk[1:] > chunk[:-1])).all())


def _features(folder: Path, meta: Mapping[str, Any]) -> Any:
    nodes, features = meta["nodes"], meta["features"]
    if not 1 <= features <= MOST_FEATURES or (
        isinstance(meta["feature_names"], list) and len(meta["feature_names"]) != features
    ):
        raise DatasetError(f"{folder / META} is damaged (names of features); build the graph again.")
    if not meta["sparse"]:
        return _array(folder, "features", (np.float32, np.float16), (nodes, features))
    header = _array(folder, "features_indptr", (np.int64,), (nodes + 1,))
    indptr, indices = _structure(folder, "features_", nodes, int(header[-1]), features)
    return _csr(indptr, indices, _array(folder, "features_data", (np.float32,), indices.shape), nodes, features)


def _ids(folder: Path, nodes: int) -> np.ndarray:
    ids = _array(folder, "ids", None, (nodes,))
    for at in range(0, nodes if ids.dtype.kind == "U" else 0, CHUNK):
        codes = ids[at : at + CHUNK].view(np.uint32)
        if ((codes > sys.maxunicode) | (codes >> 11 == SURROGATES)).any():
            raise DatasetError(f"{folder / 'ids.npy'} has characters that do not exist; build the graph again.")
    return ids


def _labels(folder: Path, meta: Mapping[str, Any], split: np.ndarray) -> np.ndarray:
    """The labels; an error if they are no classes, or if a node of the split has none."""
    nodes, classes = meta["nodes"], len(meta["class_names"])
    if meta["multilabel"]:
        labels = _array(folder, "labels", (np.float32,), (nodes, classes))
    else:
        labels = _array(folder, "labels", (np.int64,), (nodes,))
    for at in range(0, nodes, CHUNK):
        some, least = labels[at : at + CHUNK], np.where(split[at : at + CHUNK], 0, UNKNOWN)
        if (((some == 0) | (some == 1)) if meta["multilabel"] else ((some >= least) & (some < classes))).all():
            continue
        raise DatasetError(f"{folder / 'labels.npy'} has labels that are no classes; build the graph again.")
    return labels


def _csr(indptr: Any, indices: Any, data: Any, rows: int, columns: int | None = None) -> sp.csr_array:
    """A matrix of these arrays as they are; SciPy's constructor would copy them to have indices of one type."""
    matrix = sp.csr_array((rows, rows if columns is None else columns), dtype=data.dtype)
    matrix.indptr, matrix.indices, matrix.data = indptr, indices, data
    matrix.has_canonical_format = True
    return matrix


def _ones(entries: int) -> np.ndarray:
    """Ones that take no memory."""
    return np.broadcast_to(np.float32(1), (entries,))

"""Read the files of Planetoid (Yang et al., 2016): Cora, Citeseer and Pubmed as the papers use them.

``ind.NAME.{x,y}`` hold features and one-hot labels of the training nodes, ``{allx,ally}`` those of all but the test
nodes, ``{tx,ty}`` those of the test nodes in the order of ``test.index``, and ``graph`` the neighbours of each node.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.data.catalog import find
from ngcn.data.parts import UNKNOWN, Block, Parts, both_ways
from ngcn.errors import DatasetError
from ngcn.files import read_bytes

VALIDATION_NODES = 500


def read_planetoid(folder: str | Path, name: str, *, labels: bool = True) -> Parts:
    """Read ``folder/ind.NAME.*``, with Planetoid's order of the nodes and its split; ``labels=False`` skips the labels.

    The first nodes are for training, the next 500 for validation, those in the test index for test. Some nodes are in
    the graph but in none of the other files (15 in Citeseer). They have no features and no known label. ``folder`` may
    also be one of the files.
    """
    folder = Path(folder).parent if Path(folder).is_file() else Path(folder)
    files = folder / f"ind.{name}.*"
    X_train, X, X_test = (unpickle(files.with_suffix(part), _CSR) for part in (".x", ".allx", ".tx"))
    neighbours = unpickle(files.with_suffix(".graph"), dict)
    one_hots = [unpickle(files.with_suffix(part), _Array) for part in (".ally", ".ty")] if labels else []
    try:
        X_train, X, X_test = X_train.build(), X.build(), X_test.build()
        lines = read_bytes(files.with_suffix(".test.index")).decode("ascii").split()
        test_index = np.array(list(map(int, lines)), np.int64)
        row_nodes = np.concatenate([np.arange(X.shape[0]), test_index])  # of (allx, tx) and of (ally, ty)
        stacked = sp.vstack([X, X_test], format="coo")
        shape = (len(neighbours), X.shape[1])
        features = sp.csr_array((stacked.data, (row_nodes[stacked.row], stacked.col)), shape=shape)
        node = np.arange(len(neighbours))
        train = node < X_train.shape[0]
        val = ~train & (node < min(X_train.shape[0] + VALIDATION_NODES, X.shape[0]))
        classes: Any = None
        if labels:
            classes = np.full(len(node), UNKNOWN)
            one_hot = np.concatenate([each.build() for each in one_hots])
            classes[row_nodes] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNKNOWN)
        adjacency = _adjacency(neighbours)
    except (ValueError, LookupError, TypeError, AttributeError, OSError, OverflowError, MemoryError) as error:
        raise DatasetError(f"The files {files} do not fit together as a Planetoid dataset: {error}.") from error
    return Parts(
        adjacency=adjacency,
        features=[Block(features)],
        labels=classes,
        masks=(train, val, np.isin(node, test_index)),
        name=name,
        source=str(files),
        published=True,
    )


def read_cora(folder: Path, name: str) -> Parts:
    """Read the Cora of the package, which equals Planetoid's files. ``tools/build_cora.py`` writes ``cora.npz``.

    It stores the positions of the ones of two 0/1 matrices, the features and the upper triangle of the adjacency, as
    differences of successive positions, which compress well.
    """
    cora = find("cora")
    with np.load(folder / "cora.npz", allow_pickle=False) as file:
        features = _matrix(file["feature_steps"], (cora.nodes, cora.features))
        upper = _matrix(file["edge_steps"], (cora.nodes, cora.nodes))
        labels, split = file["labels"], file["split"]
    masks = (split == 1, split == 2, split == 3)
    blocks = [Block(features)]
    return Parts(adjacency=upper + upper.T, features=blocks, labels=labels, masks=masks, name=name, published=True)


def _matrix(apart: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    rows, columns = np.divmod(np.cumsum(apart, dtype=np.int64), shape[1])
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def _adjacency(neighbours: dict[int, list[int]]) -> sp.csr_array:
    """Return the symmetric adjacency; some pairs are repeated, some are listed in one direction only."""
    nodes = len(neighbours)
    sources = np.repeat(np.fromiter(neighbours, np.int64, nodes), [len(ends) for ends in neighbours.values()])
    targets = np.fromiter((end for ends in neighbours.values() for end in ends), np.int64, len(sources))
    return both_ways(sources, targets, nodes)


def unpickle(path: Path, kind: type = object) -> Any:
    """Read one of Planetoid's pickles, of this kind. Raise an error if it refers to anything but arrays and containers.

    Unpickling can call any function that a file names. This unpickler knows six types, by their old and new names, and
    looks up nothing else.
    """
    try:
        content = read_bytes(path)
        _check_memo(content)
        value = _Unpickler(io.BytesIO(content), encoding="latin1").load()  # strings as Python 2 wrote them
    except FileNotFoundError as error:
        raise DatasetError(f"The file {path} is missing.") from error
    except DatasetError as error:
        raise DatasetError(f"{path} is unsafe to load: {error}") from error
    except Exception as error:  # a broken pickle can fail in any way
        raise DatasetError(f"{path} is damaged or not a pickle: {error}.") from error
    if not isinstance(value, kind):
        raise DatasetError(f"{path} holds a {type(value).__name__}, which is not what Planetoid stores there.")
    return value


# Stand-ins for the types in the files. They only store what a file says: a file that may call, or set the state of, a
# real ndarray or dtype can make it point anywhere in memory. `build` checks the content first.


class _Dtype:
    def __init__(self, kind: str, *_: object) -> None:
        self.dtype = np.dtype(str(kind))
        if self.dtype.kind not in "biuf":
            raise DatasetError(f"it holds an array of {kind!r}, not of numbers.")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def build(self) -> np.ndarray:
        _, shape, kind, by_columns, content = self.state
        raw = content.encode("latin1") if isinstance(content, str) else content
        return np.frombuffer(raw, kind.dtype).reshape(shape, order="F" if by_columns else "C")


class _CSR:
    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def build(self) -> sp.csr_array:
        parts = vars(self)
        arrays = tuple(parts[part].build() for part in ("data", "indices", "indptr"))
        matrix = sp.csr_array(arrays, shape=parts["_shape"] if "_shape" in parts else parts["shape"])
        matrix.check_format(full_check=True)
        return matrix


_ALLOWED = {
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _CSR,
    ("scipy.sparse._csr", "csr_matrix"): _CSR,
}


def _check_memo(content: bytes) -> None:
    """Raise an error for a position in the memo that the file cannot need: the unpickler would fill memory up to it."""
    positions = (int.from_bytes(found[1], "little") for found in re.finditer(rb"(?s)(?=r(....))", content))
    if max(positions, default=0) > len(content):  # else no need to go through the opcodes
        for opcode, position, _ in pickletools.genops(content):
            if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(position or 0) > len(content):
                raise ValueError(f"it refers to position {position} of its memo")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise DatasetError(f"it refers to {module}.{name}, which no Planetoid file needs.")
        return _ALLOWED[module, name]

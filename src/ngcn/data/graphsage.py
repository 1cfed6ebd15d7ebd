"""Read the format of GraphSAGE (Hamilton et al., 2017), in which PPI is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ngcn.data.npz import DAMAGE
from ngcn.data.parts import Block, Parts, both_ways
from ngcn.errors import DatasetError
from ngcn.files import open_regular, read_bytes


def read_graphsage(folder: str | Path, name: str = "ppi") -> Parts:
    """Read ``folder/NAME-{G.json,feats.npy,class_map.json,id_map.json}``.

    Several graphs (PPI has 24) form one block-diagonal graph. Features are standardised with the mean and the standard
    deviation of the training nodes. ``folder`` may also be one of the files:

    - ``G.json``: networkx's node-link format. A node is in the validation or test split if its ``val`` or ``test`` is
      true, else in the training split. The ends of a link are positions in the list of nodes, as in networkx 1; if one
      is not a valid position, they are ids of nodes, as in networkx 2 and later.
    - ``id_map.json``: the row of each node's features; ``feats.npy``: the features.
    - ``class_map.json``: for each node a list of zeros and ones, one per class, or a class number.
    """
    folder = Path(folder).parent if Path(folder).is_file() else Path(folder)

    def path(part: str) -> Path:
        return folder / f"{name}-{part}"

    G, row_of, classes_of = (_read_json(path(part)) for part in ("G.json", "id_map.json", "class_map.json"))
    try:
        with open_regular(path("feats.npy")) as file:
            X = np.load(file, allow_pickle=False)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError("it is not a matrix of real numbers")
    except DAMAGE as error:
        raise DatasetError(f"{path('feats.npy')} cannot be read as an array of numbers: {error}.") from error
    try:
        ids = [node["id"] for node in G["nodes"]]
        val, test = (np.array([node[part] for node in G["nodes"]], bool) for part in ("val", "test"))
        features = X[[row_of[str(node)] for node in ids]]
        labels = np.array([classes_of[str(node)] for node in ids])
        train = ~(val | test)
        features = standardised(features, train)
        adjacency = _adjacency(G["links"], ids)
    except KeyError as error:
        raise DatasetError(f"{error} is missing in {path('*.json')}; GraphSAGE's format requires it.") from error
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise DatasetError(f"The files {path('*')} do not fit together: {error}.") from error
    return Parts(
        adjacency=adjacency,
        features=[Block(features)],
        labels=labels,
        masks=(train, val, test),
        node_ids=np.array(ids),
        name=name,
        source=str(path("*")),
        published=True,
    )


def standardised(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1 over the training nodes."""
    X = X.astype(np.float64)
    deviation = X[train].std(axis=0)
    return np.asarray((X - X[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def _adjacency(links: list[dict[str, Any]], ids: list[Any]) -> sp.csr_array:
    ends = [link[end] for end in ("source", "target") for link in links]
    if not all(type(end) is int and 0 <= end < len(ids) for end in ends):
        position = {node: number for number, node in enumerate(ids)}
        ends = [position[end] for end in ends]
    sources, targets = np.array(ends, np.int64).reshape(2, -1)
    return both_ways(sources, targets, len(ids))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{path} cannot be read as JSON: {error}.") from error

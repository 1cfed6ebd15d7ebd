"""Load a graph by its name or path."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngcn.data.files import read
from ngcn.data.parts import log
from ngcn.data.splits import per_class
from ngcn.graph.assemble import Schema, for_model, for_training
from ngcn.graph.graph import Graph


def load_dataset(name: str, *, split: str = "given", seed: int = 0, **files: Any) -> Graph:
    """Load a dataset of the catalog, or a user's own files, for training. Downloads a dataset if necessary.

    Args:
        name: "cora" (included in the package), "citeseer", "pubmed", "ppi", "ppi-synthetic"; or the path of a folder or
            a file. A name with a slash is a path, even if there is a dataset of that name.
        split: "given" for the split that the data come with (if they have none, half of the labels of each class are
            for training), or "random:N" for N training nodes per class with 500 validation and 1000 test nodes
            (proportionally fewer if the graph is too small).
        seed: for random splits only.
        files: options for reading a path: ``edges``, ``feature_table``, ``label``, ``one_hot``, ``ignore``,
            ``multilabel``, see :func:`~ngcn.data.files.read_files`.

    Example:
        >>> load_dataset("cora")
        Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, train=140, val=500, test=1000)
        >>> load_dataset("cora", split="random:5", seed=3).train.sum()
        np.int64(35)
    """
    per_class(split)  # an invalid value must not wait for the files
    return for_training(read(name, **files), split, seed)


def load_for_model(name: str, schema: Schema, **files: Any) -> Graph:
    """Load a dataset or a user's own files for a trained model; see :func:`~ngcn.graph.for_model`."""
    return for_model(read(name, **files), schema)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings about a user's data."""
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)

"""Where graphs come from: datasets by name, readers of their formats, and splits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ngcn.data.catalog import DatasetError, DatasetInfo, describe_datasets, fetch
from ngcn.data.load import load_dataset

if TYPE_CHECKING:
    from ngcn.data.knn import knn_graph
    from ngcn.data.planetoid import read_planetoid
    from ngcn.data.ppi import read_graphsage
    from ngcn.data.splits import random_split

__all__ = [
    "DatasetError",
    "DatasetInfo",
    "describe_datasets",
    "fetch",
    "knn_graph",
    "load_dataset",
    "random_split",
    "read_graphsage",
    "read_planetoid",
]

_LATER = {"knn_graph": "knn", "random_split": "splits", "read_graphsage": "ppi", "read_planetoid": "planetoid"}


def __getattr__(name: str) -> object:
    """Imports what needs scipy when it is asked for, so that a list of datasets does not wait for it."""
    if name in _LATER:
        return getattr(import_module(f"ngcn.data.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Read datasets and files as :class:`Parts`; :mod:`ngcn.graph` turns those into graphs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ngcn.data.catalog import DatasetInfo, describe_datasets, fetch, is_path
from ngcn.errors import DatasetError

if TYPE_CHECKING:
    from ngcn.data.files import read, read_files
    from ngcn.data.graphsage import read_graphsage
    from ngcn.data.knn import knn_graph
    from ngcn.data.parts import Block, Parts
    from ngcn.data.planetoid import read_planetoid
    from ngcn.data.splits import per_class, random_split

__all__ = [
    "Block",
    "DatasetError",
    "DatasetInfo",
    "Parts",
    "describe_datasets",
    "fetch",
    "is_path",
    "knn_graph",
    "per_class",
    "random_split",
    "read",
    "read_files",
    "read_graphsage",
    "read_planetoid",
]

_HOMES = {
    "files": ("read", "read_files"),
    "graphsage": ("read_graphsage",),
    "knn": ("knn_graph",),
    "parts": ("Block", "Parts"),
    "planetoid": ("read_planetoid",),
    "splits": ("per_class", "random_split"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import numpy and scipy only when they are needed: the list of datasets must be quick."""
    if name in _HOME:
        return getattr(import_module(f"ngcn.data.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

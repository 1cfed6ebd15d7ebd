"""Read datasets and files as :class:`Parts`; :mod:`ngcn.graph` turns those into graphs."""

from importlib import import_module
from typing import Any

from ngcn.data.catalog import DatasetInfo, describe_datasets, fetch, is_path
from ngcn.errors import DatasetError

_HOMES = {
    "files": ("read", "read_files"),
    "graphsage": ("read_graphsage",),
    "knn": ("knn_graph",),
    "parts": ("Block", "Parts"),
    "planetoid": ("read_planetoid",),
    "splits": ("per_class", "random_split"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["DatasetError", "DatasetInfo", "describe_datasets", "fetch", "is_path"]
__all__ += list(_HOME)


def __getattr__(name: str) -> Any:
    """Import numpy and scipy only when they are needed: the list of datasets must be quick."""
    if name in _HOME:
        return getattr(import_module(f"ngcn.data.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

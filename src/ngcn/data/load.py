"""From the name of a dataset, or the path of a user's own files, to its graph."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngcn.data.catalog import DATASETS, DatasetError, fetch, find, whereabouts

if TYPE_CHECKING:
    from ngcn.data.assemble import Trained
    from ngcn.graph import Graph


def is_path(name: str) -> bool:
    """Whether a name is a path: it has a slash, or it is no dataset and leads somewhere.

    >>> is_path("cora"), is_path("cora/"), is_path("./cora"), is_path("no such thing")
    (False, True, True, False)
    """
    return "/" in name or (name not in DATASETS and Path(name).expanduser().exists())


@contextmanager
def quietly() -> Iterator[None]:
    """Without the remarks on what was missing in a user's files."""
    log = logging.getLogger("ngcn.data")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def load_dataset(
    name: str, *, split: str = "planetoid", seed: int = 0, trained: Trained | None = None, **files: Any
) -> Graph:
    """A dataset of the catalog, or the graph in a user's own files; downloads the first if need be.

    Args:
        name: "cora" (in the package), "citeseer", "pubmed", "ppi", "ppi-synthetic"; or a path: a folder or a file. What
            has a slash is a path, even if a dataset is called the same.
        split: "planetoid" for the split that the data come with (where they have none, half of the labels of each
            class train), or "random:N" for N training nodes per class with 500 validation and 1000 test nodes (fewer,
            in proportion, where the graph is too small for that).
        seed: draws the random split; has no part in anything else.
        trained: names of the classes and features of a model that the graph is read for.
        files: how to read a path: ``edges``, ``feature_table``, ``label``, ``one_hot``, ``ignore``, ``multilabel``, see
            :func:`~ngcn.data.files.read_files`.

    Example:
        >>> load_dataset("cora")
        Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, train=140, val=500, test=1000)
        >>> load_dataset("cora", split="random:5", seed=3).train.sum()
        np.int64(35)
    """
    from ngcn.data.splits import per_class, with_split

    per_class(split)  # before what takes time
    if is_path(name):
        from ngcn.data.files import read_files

        return read_files(Path(name).expanduser(), split=split, seed=seed, trained=trained, **files)
    dataset = find(name)
    if given := [option for option, value in files.items() if value and value != "label"]:
        raise DatasetError(f"{name} is a dataset of the catalog, so there is no use for {', '.join(given)}.")
    graph: Graph
    if dataset.embedded:
        from ngcn.data.embedded import load_cora

        graph = load_cora()
    elif name == "ppi":
        from ngcn.data.ppi import read_graphsage

        graph = read_graphsage(fetch(name), name)
    elif name == "ppi-synthetic":
        from ngcn.data.synthetic import make_ppi_like

        generated = whereabouts(dataset)[0] == "generated"
        graph = make_ppi_like(None if generated else fetch(name) / "topology.npz")
    else:
        from ngcn.data.planetoid import read_planetoid

        graph = read_planetoid(fetch(name), name, dataset.class_names)
    if trained is not None:
        from ngcn.data.assemble import for_model

        return for_model(graph, trained)
    return with_split(graph, split, seed)

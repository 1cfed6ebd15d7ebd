"""From the name of a dataset to its graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ngcn.data.catalog import DatasetError, fetch, find, whereabouts

if TYPE_CHECKING:
    from ngcn.graph import Graph


def load_dataset(name: str, *, split: str = "planetoid", seed: int = 0) -> Graph:
    """A dataset of the catalog as a :class:`~ngcn.graph.Graph`; downloads it on first use if need be.

    Args:
        name: "cora" (in the package), "citeseer", "pubmed", "ppi", or "ppi-synthetic".
        split: "planetoid" for the split that the dataset comes with, or "random:N" for N training nodes per class
            with 500 validation and 1000 test nodes (fewer, in proportion, where the graph is too small for that).
        seed: draws the random split; has no part in anything else.

    Example:
        >>> load_dataset("cora")
        Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, train=140, val=500, test=1000)
        >>> load_dataset("cora", split="random:5", seed=3).train.sum()
        np.int64(35)
    """
    dataset = find(name)
    per_class = _per_class(split)
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
    if per_class is None:
        return graph
    from ngcn.data.splits import random_split

    return graph.with_split(*random_split(graph.labels, per_class, seed=seed))


def _per_class(split: str) -> int | None:
    if split == "planetoid":
        return None
    if found := re.fullmatch(r"random:([1-9][0-9]*)", split):
        return int(found[1])
    raise DatasetError(
        f"There is no split {split!r}; use planetoid (the dataset's own) or random:N (N training nodes per class)."
    )

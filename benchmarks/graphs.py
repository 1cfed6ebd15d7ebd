"""The graphs that the default is measured on: published ones, tables of scikit-learn, and three that are generated.

None of them is in the repository but town; `NGCN_DATA` names the folder of the published ones. And what the benchmarks
that fill a store of cells on these graphs share: the command line, and how a cell is stored.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.own_data import neighbours
from ngcn import Graph, load_dataset
from ngcn.data.splits import draw_split, random_split

LEAST = 40  # a class with fewer nodes counts as unlabelled: 20 train, and some must be left


def published(name: str) -> Graph:
    """A file with sparse features, as `x_indptr`, `x_indices`, perhaps `x_data`, and `x_shape`."""
    folder = Path(os.environ["NGCN_DATA"]) / "graphs"
    with np.load(folder / f"{name}.npz") as arrays:
        y, (source, target) = arrays["y"].astype(np.int64), arrays["edges"].T
        data = arrays["x_data"] if "x_data" in arrays else np.ones(len(arrays["x_indices"]))
        X = sp.csr_array((data, arrays["x_indices"], arrays["x_indptr"]), shape=tuple(arrays["x_shape"]))
    sizes = np.bincount(y[y >= 0])
    kept = np.flatnonzero(sizes >= LEAST)
    number = np.full(len(sizes) + 1, -1)
    number[kept] = np.arange(len(kept))
    adjacency = sp.csr_array((np.ones(len(source)), (source, target)), shape=(len(y), len(y)))
    return Graph.from_scipy(adjacency, X.astype(np.float32), number[y], name=name)


def table(name: str, data: object) -> Graph:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        folder.mkdir()
        neighbours(folder, data)
        return load_dataset(f"{folder}/")


def linked(name: str, step: int, signal: float, nodes: int = 3000, classes: int = 5, degree: int = 8) -> Graph:
    """Nodes of class c are linked to class c + step, less often to another; the class moves the mean of each
    feature by about ``signal`` standard deviations."""
    random = np.random.default_rng(1)
    y = random.integers(classes, size=nodes)
    source = random.integers(nodes, size=nodes * degree // 2)
    wanted = np.where(
        random.random(len(source)) < 0.7, (y[source] + step) % classes, random.integers(classes, size=len(source))
    )
    members = [np.flatnonzero(y == c) for c in range(classes)]
    target = np.array([random.choice(members[c]) for c in wanted])
    X = random.normal(size=(nodes, 32)) + signal * random.normal(size=(classes, 32))[y]
    adjacency = sp.csr_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes))
    return Graph.from_scipy(adjacency, X.astype(np.float32), y, name=name)


def degrees(nodes: int = 3000) -> Graph:
    """A node's class is whether it has few, some or many neighbours; features are noise."""
    random = np.random.default_rng(2)
    fame = random.pareto(2.5, size=nodes) + 0.5
    pairs = random.choice(nodes, size=(6 * nodes, 2), p=fame / fame.sum())
    adjacency = sp.csr_array((np.ones(len(pairs)), pairs.T), shape=(nodes, nodes))
    adjacency = ((adjacency + adjacency.T) != 0).astype(np.float32)
    degree = np.asarray(adjacency.sum(axis=1))
    y = np.digitize(degree, np.quantile(degree, [1 / 3, 2 / 3]))
    return Graph.from_scipy(adjacency, random.normal(size=(nodes, 16)).astype(np.float32), y, name="degrees")


GRAPHS: dict[str, Callable[[], Graph]] = {
    "town": lambda: load_dataset("examples/town/", one_hot=["trade"]),
    "cancer": lambda: table("cancer", load_breast_cancer()),
    "digits": lambda: table("digits", load_digits()),
    "degrees": degrees,
    "heterophilous": lambda: linked("heterophilous", step=1, signal=0.6),
    "noise": lambda: linked("noise", step=0, signal=0.0, degree=6),
    "cora": lambda: load_dataset("cora"),
    "citeseer": lambda: load_dataset("citeseer"),
    "pubmed": lambda: load_dataset("pubmed"),
    "amazon-photo": lambda: published("amazon-photo"),
    "coauthor-cs": lambda: published("coauthor-cs"),
    "debian-bookworm": lambda: published("debian-bookworm"),
}


def with_split(graph: Graph, split: str, seed: int) -> Graph:
    """A number: as many training nodes of each class (fewer where a class is small), 500 validation, 1000 test nodes.
    half: half of each class trains, a quarter each validates and tests."""
    labels = graph.labels
    if split == "half":
        return graph.with_split(*draw_split(labels >= 0, labels, seed))
    per_class = min(int(split), int(np.bincount(labels[labels >= 0]).min()) // 2)
    return graph.with_split(*random_split(labels, per_class, seed=seed))


def options(
    description: str | None, *, graphs: Iterable[str], methods: Iterable[str], default: Iterable[str], seeds: int
) -> argparse.ArgumentParser:
    """A command line with the store, the graphs (by default these), the methods (by default some) and the seeds."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--graphs", nargs="+", default=list(graphs), choices=list(GRAPHS))
    parser.add_argument("--methods", nargs="+", default=list(default), choices=list(methods))
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--show", action="store_true")
    return parser


def append(store: Path, row: dict[str, Any]) -> None:
    with store.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)

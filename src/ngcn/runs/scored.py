"""Which labelled nodes of another graph a run can be scored on: not those it was trained or validated on."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.errors import RunError
from ngcn.graph import Graph
from ngcn.large.rows import take_rows
from ngcn.runs.run import Run
from ngcn.text import count


class Scored(NamedTuple):
    """A graph whose training and validation nodes are those of a run; the split to score, None if there is none; and
    what its nodes are, for people."""

    graph: Graph
    split: Literal["test", "val"] | None
    nodes: str


def scored(run: Run | None, graph: Graph) -> Scored:
    """Another graph than that of the run, with the labelled nodes to score it on; ``run`` is None for a model alone.

    A node was trained or validated on if the graph of the run has one with its id and its features. If there are no
    other labelled nodes, those validated on are scored.
    """
    if not graph.test.any():
        return Scored(graph, None, "no node has a label that the model knows")
    labelled = count(int(graph.test.sum()), "labelled node")
    unknown = "which of them were trained on is not known, because"
    if run is None and graph.train.any():
        return Scored(graph, "test", count(int(graph.test.sum()), "test node"))
    if run is None:
        return Scored(graph, "test", f"{labelled}; {unknown} a model alone does not store them")
    try:
        own = run.graph()
    except RunError:
        return Scored(graph, "test", f"{labelled}; {unknown} the graph of the run is missing or has changed")
    refit = run.config.refit
    trained = _same(graph, own, own.train | own.val if refit else own.train)
    validated = _same(graph, own, own.val & (not refit))
    rest = graph.test & ~trained & ~validated
    graph = graph.with_split(graph.train | trained, graph.val | validated, rest)
    if rest.any():
        what = count(int(rest.sum()), "labelled node")
        return Scored(graph, "test", f"{what} that {_were(rest)} neither trained nor validated on")
    if validated.any():
        what = count(int(graph.val.sum()), "validation node")
        return Scored(graph, "val", f"{what}, which chose the model: all other labelled nodes were trained on")
    return Scored(graph, None, "all labelled nodes were trained on")


def _were(nodes: np.ndarray) -> str:
    return "was" if nodes.sum() == 1 else "were"


def _same(graph: Graph, own: Graph, of: np.ndarray) -> np.ndarray:
    """``(nodes,)`` mask of the test nodes of a graph that have the id and the features of some nodes of another."""
    same = np.zeros(graph.nodes, bool)
    if graph.features.shape[1] != own.features.shape[1]:
        return same  # the model raises an error that says so
    _, here, there = np.intersect1d(graph.node_ids, own.node_ids, return_indices=True)
    both = graph.test[here] & of[there]
    here, there = here[both], there[both]
    differ = abs(sp.csr_array(take_rows(graph.features, here)) - sp.csr_array(take_rows(own.features, there)))
    differ.data = np.nan_to_num(differ.data)  # a value that is missing in one of them may be that of the other
    same[here[np.asarray(differ.sum(axis=1)).ravel() == 0]] = True
    return same

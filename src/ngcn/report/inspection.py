"""`inspect_graph`: what training would see: columns, missing values, edges, classes, problems and suggestions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ngcn.config import FILE_SETTINGS, Config
from ngcn.data.catalog import is_path
from ngcn.data.columns import ColumnFacts
from ngcn.data.files import read
from ngcn.data.parts import UNKNOWN, Parts, log
from ngcn.errors import GraphError, NGCNError
from ngcn.files import user_path, write_text
from ngcn.graph import Facts, Graph, facts, for_training, is_identity, is_stored, missing_per_column
from ngcn.large import needs_build
from ngcn.model import prepare
from ngcn.report.page import render
from ngcn.report.suggestions import Suggestion, explicit, suggestions, with_option
from ngcn.runs import load_graph
from ngcn.version import __version__

PREPARED = {
    "bag": "1 where a node has the feature, rows sum to 1",
    "unit": "1 where a node has the feature, rows of length 1",
    "row": "rows sum to 1",
    "standard": "mean 0 and standard deviation 1, 0/1 columns and text as they are",
    "none": "as they are",
}
FEW = 3  # labelled nodes: one to train with, one for validation and one to test


class ClassCounts(NamedTuple):
    """The nodes of a class in each split; ``other`` have the label and are in none."""

    name: str
    train: int
    val: int
    test: int
    other: int


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The result of :func:`inspect_graph`.

    Attributes:
        name: the name of the graph.
        problems: what would stop training, each in a sentence with its remedy.
        warnings: what training would warn about, classes with few labels, and what a model without features cannot do.
        suggestions: settings to consider, and why.
        settings: the settings that the graph was read with, and those that make the treatment of each column explicit.
        columns: the columns of a table of nodes, and how they are used.
        facts: sizes, degrees, components and homophily; None if the edges cannot be read.
        classes: how many nodes of each class are in which split.
        features: how many features there are, and how they are prepared.
        missing: the features with missing values, and the number of nodes without them; those with most first.

    Example:
        >>> from ngcn import load_dataset
        >>> found = inspect_graph(load_dataset("cora"))
        >>> found.ok, found.problems, found.facts.nodes
        (True, (), 2708)
    """

    name: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    settings: dict[str, Any]
    columns: tuple[ColumnFacts, ...] = ()
    facts: Facts | None = None
    classes: tuple[ClassCounts, ...] = ()
    features: str = ""
    missing: tuple[tuple[str, int], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether training would begin."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        found: dict[str, Any] = {"ok": self.ok, **{field.name: getattr(self, field.name) for field in fields(self)}}
        rows = {name: [row._asdict() for row in found[name]] for name in ("suggestions", "columns", "classes")}
        summary = [] if self.facts is None else str(self.facts).splitlines()
        return {**found, **rows, "facts": self.facts and self.facts._asdict(), "summary": summary}

    def write_html(self, path: Path | str) -> None:
        """Write a page: one file that needs no network connection."""
        write_text(Path(path), page(self.to_dict()))


def page(found: dict[str, Any], command: str = "") -> str:
    """The page about an :class:`Inspection`, given as a dict, and the command that trains on the graph."""
    of = found["facts"]
    about = {
        "title": f"{found['name']} before training",
        "rows": of["nodes"] if of else 0,
        "component_text": _components(of) if of else "",
        "has_split": any(row["train"] for row in found["classes"]),
        "classes": [row | {"all": row["train"] + row["val"] + row["test"] + row["other"]} for row in found["classes"]],
    }
    return render("inspection.html", version=__version__, command=command, **found | about)


def _components(of: dict[str, Any]) -> str:
    """The sizes of the components, in a sentence; empty if they were not counted, or have a node each."""
    number, sizes = of["components"], [f"{size:,}" for size in of["component_sizes"]]
    if number == 1:
        return "The graph is connected."
    if sizes[:1] in ([], ["1"]):
        return ""
    which = f"The {number}" if len(sizes) == number else f"The largest of {number:,}"
    return f"{which} components have {', '.join(sizes)} nodes."


def inspect_graph(graph: Graph | Path | str, **settings: Any) -> Inspection:
    """Describe what training would see in a graph, without training: how columns are used, missing values, degrees,
    components, homophily, classes, problems, and settings to consider.

    Args:
        graph: a graph; or a name, a folder or a file as for :func:`~ngcn.load_dataset`.
        settings: settings of :class:`~ngcn.Config` about the data, such as ``label``, ``one_hot`` and ``split``.

    Example:
        >>> from ngcn import load_dataset
        >>> found = inspect_graph(load_dataset("cora"))
        >>> found.ok, found.facts.components, found.classes[0].train, found.features
        (True, 78, 20, '1,433 features: 1 where a node has the feature, rows of length 1')
    """
    parts: Parts | None = None
    problems: list[str] = []
    known: Graph | None = None
    with _captured() as warnings:
        if isinstance(graph, Graph):
            config, known = Config(dataset=graph.name, **settings), graph
        else:
            config = Config(dataset=f"{graph.absolute()}" if isinstance(graph, Path) else graph, **settings)
            parts, known = _load(config, problems)
    return _inspection(config, known, parts, problems, warnings)


def _load(config: Config, problems: list[str]) -> tuple[Parts | None, Graph | None]:
    """The parts and the graph, as far as they can be read; ``problems`` gets why they cannot."""
    files = {name: getattr(config, name) for name in FILE_SETTINGS}
    how: dict[str, Any] = {"split": config.split, "seed": config.seed}
    parts = graph = None
    with _noting(problems):
        stored = is_path(config.dataset) and is_stored(user_path(config.dataset))
        if stored or needs_build(config.dataset, **files):  # too large for memory: training uses the same folder
            return None, load_graph(config)
        parts = read(config.dataset, **files)
    if parts is None:
        return None, None
    problems += map(str, parts.problems)
    if parts.labels is not None:
        with _captured() as notes, _noting(problems):
            graph = for_training(replace(parts, errors=(), training_errors=()), **how)
        if not problems:  # else they may be about a split that is not used
            for note in notes:
                log.warning(note)
    return parts, graph


def _inspection(
    config: Config, graph: Graph | None, parts: Parts | None, problems: list[str], warnings: list[str]
) -> Inspection:
    edges = parts is None or parts.adjacency.nnz > 0 or not problems  # else they may be those that cannot be read
    name = graph.name if graph else parts.name if parts else config.graph_name
    columns = tuple(map(with_option, parts.column_facts())) if parts else ()
    features = ""
    missing: tuple[tuple[str, int], ...] = ()
    if graph and not (parts and parts.errors):
        with _noting(problems):
            features = _features(graph, config)
        missing = _missing(graph)
    if graph is None and parts:
        graph = _bare(parts)
    known = facts(graph) if graph and edges else None
    classes = tuple(_classes(graph)) if graph else ()
    return Inspection(
        name=name,
        problems=tuple(dict.fromkeys(problems)),
        warnings=(*dict.fromkeys(warnings), *_notes(graph, classes)),
        suggestions=tuple(suggestions(graph, config, columns, known)) if graph and known and not problems else (),
        settings=explicit(config, columns),
        columns=columns,
        facts=known,
        classes=classes,
        features=features,
        missing=missing,
    )


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except (NGCNError, OSError) as error:
        problems += map(_sentence, getattr(error, "errors", [error]))


@contextmanager
def _captured() -> Iterator[list[str]]:
    """The warnings about a user's data, in place of printing them."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    before, log.handlers, propagates, log.propagate = log.handlers, [Keep()], log.propagate, False
    try:
        yield found
    finally:
        log.handlers, log.propagate = before, propagates


def _bare(parts: Parts) -> Graph:
    """The edges, and the labels if they can be read, without a split."""
    none, nothing = np.zeros(parts.nodes, bool), np.zeros((parts.nodes, 1))
    if parts.labels is not None:
        with suppress(GraphError):
            return Graph(parts.adjacency, nothing, parts.labels, none, none, none, class_names=parts.class_names)
    return Graph(parts.adjacency, nothing, np.full(parts.nodes, UNKNOWN), none, none, none)


def _notes(graph: Graph | None, classes: Sequence[ClassCounts]) -> Iterator[str]:
    """What training does not print."""
    few = [of.name for of in classes if 0 < sum(of[1:]) < FEW]
    if few and graph and not graph.multilabel:
        have = "1 class has" if len(few) == 1 else f"{len(few):,} classes have"
        those = "it" if len(few) == 1 else "them"
        yield (
            f"{have} fewer than {FEW} labelled nodes, such as {few[0]!r}: merge {those}, leave {those} empty, or label "
            "more nodes."
        )
    if graph and is_identity(graph):
        yield "Every node is a feature of its own, so a model can only predict its own graph."


def _classes(graph: Graph) -> Iterator[ClassCounts]:
    for number, name in enumerate(graph.class_names):
        of = graph.labels[:, number] > 0 if graph.multilabel else graph.labels == number
        train, val, test = (int((of & mask).sum()) for mask in (graph.train, graph.val, graph.test))
        yield ClassCounts(name, train, val, test, int(of.sum()) - train - val - test)


def _features(graph: Graph, config: Config) -> str:
    number = graph.features.shape[1]
    return f"{number:,} {'feature' if number == 1 else 'features'}: {PREPARED[prepare(graph, config).how]}"


def _missing(graph: Graph) -> tuple[tuple[str, int], ...]:
    missing = missing_per_column(graph.features)
    worst = np.argsort(-missing, kind="stable")[: np.count_nonzero(missing)]
    return tuple((graph.feature_names[c], int(missing[c])) for c in worst)

"""Load a graph: turn `Parts` into a `Graph`, for training or for a trained model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ngcn import checks
from ngcn.data.adapters import from_objects
from ngcn.data.catalog import is_path
from ngcn.data.columns import Column
from ngcn.data.files import read
from ngcn.data.parts import MOST_FEATURES, UNKNOWN, Block, Masks, Parts, log, without_defaults
from ngcn.data.splits import draw_graphs, draw_split, hold_out, random_split
from ngcn.errors import DatasetError, GraphError, Problems
from ngcn.files import user_path
from ngcn.graph._checks import check_labels, check_training_classes
from ngcn.graph._features import features_for_model, features_for_training
from ngcn.graph.graph import Graph
from ngcn.graph.stored import StoredGraph, is_stored, open_graph

FEW = 100  # validation nodes; with fewer, a score of about one half has a standard error above 5 points


class Schema(NamedTuple):
    """The names that a trained model knows."""

    class_names: Sequence[str]
    feature_names: Sequence[str]
    multilabel: bool = False
    node_columns: int = 0  # of the graph that it was trained on; 0 if unknown
    columns: Sequence[Column] = ()  # of a table of nodes, as they were read for training


def load_dataset(name: str | Path, *, split: str | int = "given", seed: int = 0, **files: Any) -> Graph:
    """Load a dataset of the catalog, or a user's own files, for training. Downloads a dataset if necessary.

    Args:
        name: "cora" (included in the package), "citeseer", "pubmed", "ppi", "ppi-rebuilt", "ppi-synthetic"; or the path
            of a folder or a file. A name with a slash is a path, even if there is a dataset of that name.
        split: "given" for the split that the data come with (the first of several; if they have none, half of the
            labels of each class are for training), the number of one of several splits of an .npz file, from 0, or
            "random:N" for N training nodes per class with 500 validation and 1000 test nodes (proportionally fewer if
            the graph is too small).
        seed: for random splits only.
        files: options for reading a path: ``edges``, ``feature_table``, ``id``, ``source``, ``target``, ``label``,
            ``one_hot``, ``text``, ``ignore``, ``multilabel``, ``unknown_nodes``, see :func:`~ngcn.data.files.read`.

    Example:
        >>> load_dataset("cora")
        Graph('cora', nodes=2708, edges=5278, features=1433, classes=7, train=140, val=500, test=1000)
        >>> load_dataset("cora", split="random:5", seed=3).train.sum()
        np.int64(35)
    """
    split = checks.split("split", split)  # an invalid value must not wait for the files
    seed = checks.whole(0, 2**70)("seed", seed)
    name = f"{name.absolute()}" if isinstance(name, Path) else checks.text("name", name)
    graph: Graph
    if stored := _stored(name, files):
        graph = stored.with_split(*_masks(_parts_of(stored), split, seed))
    else:
        graph = for_training(read(name, **files), split, seed)
    if is_path(name):
        vars(graph).update(source=checks.path("name", name))
    return graph


def load_for_model(given: Any, schema: Schema, **options: Any) -> Graph:
    """Load a dataset, a user's own files, data frames or a networkx graph for a trained model; see
    :func:`~ngcn.graph.for_model`."""
    if not isinstance(given, str | Path):
        return for_model(from_objects(given, columns=schema.columns, **options), schema)
    graph: Graph
    name = str(given)
    if stored := _stored(name, options):
        graph = _stored_for_model(stored, schema)
    else:
        graph = for_model(read(name, columns=schema.columns, **options), schema)
    if is_path(name):
        named = {option: options.get(option) for option in ("edges", "feature_table")}
        tables = {option: checks.path(option, file) for option, file in named.items() if file}
        vars(graph).update(source=checks.path("name", name), tables=tables)
    return graph


def for_training(parts: Parts, split: str | int = "given", seed: int = 0) -> Graph:
    """Make a graph to train on; ``split`` and ``seed`` as in :func:`~ngcn.graph.load_dataset`.

    Add structural features and draw a split if there are none, with a warning.
    """
    split = checks.split("split", split)
    if problems := parts.problems:
        with problems, quietly():  # what else is wrong, as far as can be seen
            if parts.labels is not None:
                features = parts.features or [Block(np.ones((parts.nodes, 1), np.float32))]  # structural ones take long
                for_training(replace(parts, features=features, errors=(), training_errors=()), split, seed)
        problems.check()
    with _naming(parts):
        _check_lengths(parts)
        X, names = features_for_training(parts)
        if parts.labels is None:
            raise DatasetError(f"{parts.name} has no labels, so there is nothing to train on.")
        return _graph(parts, X, names, _masks(parts, split, seed))


def for_model(parts: Parts, schema: Schema) -> Graph:
    """Make a graph to use a trained model on. All labelled nodes are test nodes.

    Features get the model's order, by name. Values of one-hot columns, sparse features and columns of a table of nodes
    that the model does not know are dropped with a warning; values and sparse features that the graph lacks are 0. Any
    other missing or extra feature is an error.
    Labels that are not classes of the model are unknown, with a warning.
    """
    Problems(parts.errors).check()
    with _naming(parts):
        _check_lengths(parts)
        X = features_for_model(parts, schema.feature_names, schema.node_columns)
        parts = replace(_with_classes(parts, schema), node_columns=schema.node_columns, columns=schema.columns)
        none = np.zeros(parts.nodes, bool)
        return _graph(parts, X, schema.feature_names, (none, none, _labelled(parts)))


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings about a user's data."""
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _naming(parts: Parts) -> Iterator[None]:
    """Let errors about the graph name its file."""
    try:
        yield
    except GraphError as error:
        if not parts.source:
            raise
        raise DatasetError(f"{parts.source} is not a valid graph: {error}") from error


def _check_lengths(parts: Parts) -> None:
    if not parts.nodes:
        raise GraphError("The graph has no nodes.")
    for block in parts.features:
        if np.ndim(block.matrix) != 2 and getattr(block.matrix, "ndim", 0) != 2:
            raise GraphError(f"The features of {parts.name} must be a matrix (nodes x features).")
        if block.matrix.shape[1] == 0:
            raise GraphError(f"{parts.name} has features without columns; leave them out, or add one.")
        if block.matrix.shape[1] > MOST_FEATURES:
            raise GraphError(
                f"{parts.name} has {block.matrix.shape[1]:,} features; at most {MOST_FEATURES:,} can be used."
            )
    if parts.labels is not None and (parts.labels.ndim not in (1, 2) or parts.labels.dtype.kind not in "biuf"):
        raise GraphError(f"The labels of {parts.name} must be class numbers or a 0/1 matrix, not {parts.labels.dtype}.")
    for array in (parts.labels, *(parts.masks or ())):
        if array is not None and len(array) != parts.nodes:
            raise GraphError(f"{parts.name} has {parts.nodes} nodes, but {len(array)} labels or entries of a mask.")


def _graph(parts: Parts, X: Any, feature_names: Any, masks: Masks) -> Graph:
    return Graph(
        parts.adjacency,
        X,
        parts.labels,
        *masks,
        node_ids=parts.node_ids,
        class_names=parts.class_names,
        feature_names=feature_names,
        name=parts.name,
        node_columns=parts.node_columns,
        columns=tuple(parts.columns),
        read_with=dict(parts.read_with),
    )


def _labelled(parts: Parts) -> np.ndarray:
    if parts.labels.ndim == 1:
        return parts.labels != UNKNOWN
    return np.ones(parts.nodes, bool) if parts.labelled is None else parts.labelled


def _masks(parts: Parts, split: str, seed: int) -> Masks:
    """The split to train with: that of the data, or a random one."""
    masks = _given(parts, split)
    parts = replace(parts, labelled=_labelled(parts))
    if not parts.published:
        check_labels(parts)
    if split.startswith("random:"):
        masks = random_split(parts.labels, int(split.removeprefix("random:")), seed=seed, names=parts.class_names)
    if not parts.published or masks is None:
        masks = _complete(parts, masks, split, seed)
        check_training_classes(parts, masks[0])
    return masks


def _stored(name: str, files: dict[str, Any]) -> StoredGraph | None:
    """The graph in a folder of memory-mapped arrays; None if `name` is anything else."""
    if not is_path(name) or not is_stored(folder := user_path(name)):
        return None
    if given := without_defaults(**files):
        listed = ", ".join(f"`{option}`" for option in given)
        raise DatasetError(f"{folder} was built from its files already, so it does not take {listed}.")
    return open_graph(folder)


def _parts_of(graph: StoredGraph) -> Parts:
    """What the split is drawn from."""
    masks = graph.train, graph.val, graph.test
    return Parts(
        adjacency=graph.adjacency,
        labels=graph.labels,
        labelled=~graph.unlabelled,
        masks=masks if any(mask.any() for mask in masks) else None,
        class_names=graph.class_names,
        name=graph.name,
        source=str(graph.folder),
    )


def _stored_for_model(graph: StoredGraph, schema: Schema) -> StoredGraph:
    """The same as :func:`for_model`. Features are not reordered: they must be those of the model."""
    if list(graph.feature_names) != list(schema.feature_names):
        raise DatasetError(
            f"{graph.folder} has {len(graph.feature_names)} features, which are not the {len(schema.feature_names)} of "
            "the model in the same order; build it from a table with these columns."
        )
    parts = _with_classes(_parts_of(graph), schema)
    none = np.zeros(graph.nodes, bool)
    graph = replace(graph, labels=parts.labels, class_names=tuple(schema.class_names))
    return replace(graph, train=none, val=none, test=_labelled(parts))


def _given(parts: Parts, split: str) -> Masks | None:
    """The split in the data, or the one of several with this number."""
    if split.isdecimal():
        splits = parts.splits or ([] if parts.masks is None else [parts.masks])
        if int(split) < len(splits):
            return splits[int(split)]
        have, remedy = f"{len(splits)} splits, numbered 0 to {len(splits) - 1}", "choose one of these"
        if len(splits) < 2:
            have, remedy = "one split" if splits else "no split", "use `split='given'`"
        raise DatasetError(f"{parts.name} has {have}, so there is no split {split}; {remedy}.")
    if split == "given" and len(parts.splits) > 1:
        last = len(parts.splits) - 1
        log.warning(
            f"{parts.name} has {last + 1} splits: the first, 0, is used; `split=N` uses another, with N up to {last}."
        )
    return parts.masks


def _complete(parts: Parts, masks: Masks | None, split: str, seed: int) -> Masks:
    """Draw a split, or its validation nodes, if there is none."""
    if masks is None:
        masks = _draw(parts, seed)
    elif masks is not parts.masks:
        log.warning(f"{parts.name}, split {split}: {_count(masks)}.")
    train, val, test = masks
    if not train.any():
        raise DatasetError(f"{parts.name} has no training nodes; label some, or add labelled nodes to the split.")
    if not val.any():
        train, val = hold_out(train, parts.labels, seed)
        if not val.any():
            raise DatasetError(
                f"{parts.name}: every label has one training node only, so none is left for validation; label more "
                "nodes, or use another column of labels with `label='COLUMN'`."
            )
        drawn = f"{val.sum()} training nodes, drawn with seed {seed}"
        log.warning(f"{parts.name} has no validation nodes: {drawn}, are used for validation.")
    if val.sum() < FEW:
        few = "1 validation node is" if val.sum() == 1 else f"{val.sum()} validation nodes are"
        log.warning(
            f"{few} few: a score on them has a standard error of up to {50 / val.sum() ** 0.5:.0f} points, so the "
            "chosen step and the confidences are uncertain; label or use more nodes for validation."
        )
    return train, val, test


def _draw(parts: Parts, seed: int) -> Masks:
    if parts.graph_of is not None and len(np.unique(parts.graph_of[parts.labelled])) > 1:
        masks, how = draw_graphs(parts.graph_of, parts.labelled, seed), "whole graphs"
    else:
        masks = draw_split(parts.labelled, parts.labels, seed)
        how = "half of the labels" if parts.labels.ndim == 2 else "half of each class"
    log.warning(f"{parts.name} has no split: {_count(masks)}; {how} drawn with seed {seed} for training.")
    return masks


def _count(masks: Masks) -> str:
    train, val, test = (int(mask.sum()) for mask in masks)
    return f"{train} training, {val} validation and {test} test nodes"


def _with_classes(parts: Parts, schema: Schema) -> Parts:
    """Number the labels as the model does. Class numbers without names are those of the model already."""
    known = {name: number for number, name in enumerate(schema.class_names)}
    labels = parts.labels
    if labels is None:
        labels = np.zeros((parts.nodes, len(known))) if schema.multilabel else np.full(parts.nodes, UNKNOWN)
        parts = replace(parts, labelled=np.zeros(parts.nodes, bool))
    elif parts.class_names is not None and not parts.published:
        if new := [str(name) for name in parts.class_names if str(name) not in known]:
            what = f"{len(new)} label(s), such as {new[0]!r}, are not classes of the model"
            log.warning(f"{parts.describe_labels()}: {what}; they are unknown.")
        number = np.array([known.get(str(name), UNKNOWN) for name in parts.class_names] + [UNKNOWN], int)
        if labels.ndim == 1:
            labels = number[labels]  # -1 is the last one, which is unknown
        else:
            mapped = np.zeros((parts.nodes, len(known)), np.float32)
            mapped[:, number[number != UNKNOWN]] = labels[:, number[:-1] != UNKNOWN]
            labels = mapped
    return replace(parts, labels=labels, class_names=schema.class_names)

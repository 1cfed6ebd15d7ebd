"""From what a file or a Python object says to a `Graph`: missing features, the split, and checks that need both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ngcn.data.catalog import DatasetError
from ngcn.data.splits import draw_graphs, draw_split, hold_out, per_class, random_split
from ngcn.data.structure import structural_features
from ngcn.graph import UNKNOWN, Graph, GraphError
from ngcn.names import count, percent

log = logging.getLogger("ngcn.data")  # its warnings are printed on stderr unless somebody arranges otherwise
FEW = 30  # validation nodes, below which the choice of a step is a matter of luck
Masks = tuple[np.ndarray, np.ndarray, np.ndarray]


class Trained(NamedTuple):
    """The names of the classes and features of a model, for a graph that is read to be used with it.

    ``node_columns`` as in :class:`~ngcn.Graph`; 0 where it is not known.
    """

    class_names: Sequence[str]
    feature_names: Sequence[str]
    multilabel: bool = False
    node_columns: int = 0


def assemble(
    adjacency: sp.sparray,
    features: sp.csr_array | np.ndarray | None,
    labels: np.ndarray | None,
    masks: Masks | None = None,
    *,
    labelled: np.ndarray | None = None,
    graph_of: np.ndarray | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    node_ids: np.ndarray | None = None,
    name: str = "graph",
    node_columns: int = 0,
    split: str = "planetoid",
    seed: int = 0,
    trained: Trained | None = None,
    label_at: Callable[[int | None], str] | None = None,
) -> Graph:
    """The graph, with structural features and a drawn split where there are none, said aloud.

    Args:
        labels: class numbers with -1 for unknown, a 0/1 matrix for multi-label, or None where nothing is known.
        masks: training, validation and test nodes, if the data say who they are.
        labelled: ``(nodes,)`` whose row of a 0/1 matrix is known; all of them if not given.
        graph_of: ``(nodes,)`` the graph a node belongs to, where there are several.
        split, seed: as in :func:`~ngcn.data.load_dataset`.
        trained: names of a model; then nothing is drawn, and all labelled nodes are test nodes.
        label_at: how to name the place of the labels, or of the label of a node, in messages; the graph if not given.
    """
    adjacency = sp.csr_array(adjacency)
    nodes = adjacency.shape[0]
    if not nodes:
        raise GraphError("The graph has no nodes.")
    if features is None:
        features, feature_names = _without_features(adjacency, name, trained)
    else:
        features = sp.csr_array(features) if sp.issparse(features) else features
        if trained is None:
            _warn_of_constants(features, feature_names, name)
    if trained is not None:
        names = tuple(feature_names or map(str, range(features.shape[1])))
        if names != tuple(trained.feature_names):
            raise _other_features(names, trained.feature_names, name)
    if labels is None:
        if trained is None:
            raise DatasetError(f"{name} has no labels to learn from.")
        labels = np.zeros((nodes, len(trained.class_names))) if trained.multilabel else np.full(nodes, UNKNOWN)
        labelled = np.zeros(nodes, bool)
    for array in (labels, *(masks or ())):
        if len(array) != nodes:
            raise GraphError(f"{name} has {nodes} nodes, but a label or a split for {len(array)}.")
    classes = labels if labels.ndim == 1 else None
    if labelled is None:
        labelled = np.ones(nodes, bool) if classes is None else classes != UNKNOWN
    if trained is not None:
        none = np.zeros(nodes, bool)
        masks, class_names = (none, none, labelled), trained.class_names
    else:
        label_at = label_at or (lambda node: name)
        _check_classes(labels, labelled, class_names, label_at(None))
        _remark_on_imbalance(labels, labelled, class_names, name)
        masks = _settle(labels, labelled, masks, graph_of, class_names, name, split, seed)
        _check_trained_classes(labels, masks, class_names, label_at)
    return Graph(
        adjacency,
        features,
        labels,
        *masks,
        node_ids=node_ids,
        class_names=class_names,
        feature_names=feature_names,
        name=name,
        node_columns=node_columns,
    )


def numbered(labels: np.ndarray, names: Sequence[str] | None = None) -> tuple[np.ndarray, list[str]]:
    """Class numbers for an array of text, and the names of the classes: those given, or all that there are.

    Other names, None, nan and empty text are unknown.

    Example:
        >>> numbered(np.array(["dog", "", "cat"]))
        (array([ 1, -1,  0]), ['cat', 'dog'])
    """
    labels = labels.astype(str) if labels.dtype.kind == "S" else labels
    texts = ["" if label is None or label != label else str(label) for label in labels.tolist()]
    names = sorted(set(texts) - {""}) if names is None else list(names)
    number = {name: number for number, name in enumerate(names)}
    return np.array([number.get(text, UNKNOWN) for text in texts], np.int64), names


def for_model(graph: Graph, trained: Trained) -> Graph:
    """A graph as one that a trained model is to be used on."""
    return assemble(
        graph.adjacency,
        graph.features,
        graph.labels,
        feature_names=graph.feature_names,
        node_ids=graph.node_ids,
        name=graph.name,
        trained=trained,
    )


def _without_features(adjacency: sp.csr_array, name: str, trained: Trained | None) -> tuple[Any, list[str] | None]:
    if trained is None:
        features, names = structural_features(adjacency)
        what = "degrees and random walks give it some" if names else "every node is a feature of its own"
        log.warning(f"{name} has no features: {what}.")
        return features, names
    features, names = structural_features(adjacency, identity=False)
    if names != list(trained.feature_names):
        raise DatasetError(
            f"{name} has no features, but the model was trained with {len(trained.feature_names)}; a model that was "
            "trained without any can only be used on its own graph, which is taken where none is named."
        )
    return features, names


def _warn_of_constants(features: Any, names: Sequence[str] | None, name: str) -> None:
    low, high = (np.asarray(end.toarray() if sp.issparse(end) else end).ravel() for end in _range(features))
    constant = np.flatnonzero(low == high)
    if len(constant) and features.shape[0] > 1:
        named = [repr(names[c]) if names else str(c) for c in constant[:5]]
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        log.warning(f"{name}: {', '.join(named)}{more} has the same value for every node, which says nothing.")


def _range(features: Any) -> tuple[Any, Any]:
    return features.min(axis=0), features.max(axis=0)


def _other_features(names: Sequence[str], wanted: Sequence[str], name: str) -> DatasetError:
    what = f"{name} has {len(names)} features, but the model was trained with {len(wanted)}"
    if missing := [repr(n) for n in wanted if n not in set(names)][:1]:
        what += f"; {missing[0]} is missing"
    if extra := [repr(n) for n in names if n not in set(wanted)][:1]:
        what += f"; {extra[0]} is not one of the model's"
    if not missing and not extra:
        what = f"The features of {name} are in another order than the model's"
    return DatasetError(f"{what}; give it the features that the model was trained with.")


def _check_classes(labels: np.ndarray, labelled: np.ndarray, names: Sequence[str] | None, at: str) -> None:
    if not labelled.any():
        raise DatasetError(f"{at}: no node has a label; training needs some of each class.")
    if labels.ndim == 1 and len(known := np.unique(labels[labelled])) < 2:
        only = names[known[0]] if names else known[0]
        raise DatasetError(f"{at}: all labels are {str(only)!r}; there must be two classes or more to tell apart.")


def _remark_on_imbalance(labels: np.ndarray, labelled: np.ndarray, names: Sequence[str] | None, name: str) -> None:
    if labels.ndim == 2:
        return
    classes, counts = np.unique(labels[labelled], return_counts=True)
    most, share = int(classes[counts.argmax()]), counts.max() / counts.sum()
    if share > 0.8:
        told = repr(str(names[most])) if names is not None else f"class {most}"
        log.warning(f"{name}: {percent(share)} of the labels are {told}, and to say so of every node scores as much.")


def _settle(
    labels: np.ndarray,
    labelled: np.ndarray,
    masks: Masks | None,
    graph_of: np.ndarray | None,
    class_names: Sequence[str] | None,
    name: str,
    split: str,
    seed: int,
) -> Masks:
    if number := per_class(split):
        masks = random_split(labels, number, seed=seed, class_names=class_names)
        log.warning(f"{name}, split {split}: {_count(masks)}.")
    elif masks is None:
        if graph_of is not None and len(np.unique(graph_of[labelled])) > 1:
            masks, how = draw_graphs(graph_of, labelled, seed), "whole graphs"
        else:
            masks = draw_split(labelled, labels, seed)
            how = "half of the labels" if labels.ndim == 2 else "half of each class"
        log.warning(f"{name} has no split: {_count(masks)}; {how} drawn with seed {seed} to train on.")
    train, val, test = masks
    if not train.any():
        raise DatasetError(f"{name} has no training nodes; label some, or put some that are into the training split.")
    if not val.any():
        train, val = hold_out(train, labels, seed)
        if not val.any():
            raise DatasetError(
                f"{name}: every label is on one training node alone, so that none is left to validate on; label more "
                "nodes, or name the column of labels, if it is another, with --label."
            )
        log.warning(
            f"{name} has no validation nodes: {val.sum()} of its training nodes, drawn with seed {seed}, do it."
        )
    if val.sum() < FEW:
        few = count(int(val.sum()), "validation node")
        log.warning(f"{few} can hardly tell a good step from a lucky one; label more, or let more of them validate.")
    return train, val, test


def _count(masks: Masks) -> str:
    train, val, test = (int(mask.sum()) for mask in masks)
    return f"{train} nodes train, {val} validate and {test} test"


def _check_trained_classes(
    labels: np.ndarray, masks: Masks, names: Sequence[str] | None, at: Callable[[int], str]
) -> None:
    used = np.flatnonzero(labels.any(axis=0)) if labels.ndim == 2 else np.unique(labels[labels != UNKNOWN])
    here = labels[masks[0]]
    learned = np.flatnonzero(here.any(axis=0)) if labels.ndim == 2 else np.unique(here)
    for c in np.setdiff1d(used, learned):
        what = str(names[c] if names else c)
        has = labels[:, c] if labels.ndim == 2 else labels == c
        raise DatasetError(
            f"{at(int(has.argmax()))}: the label {what!r} is on no training node, so it cannot be learned; put a node "
            "that has it into the training split, or take the label away."
        )

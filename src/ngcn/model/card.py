"""`Card`: what a model must know about the graph it was trained on, and its file, ``graph.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ngcn.config import Config
from ngcn.data.columns import READ_WITH, STORED, Column, columns_from_json, columns_to_json, options_from_json
from ngcn.errors import ModelError, RunError
from ngcn.files import write_json
from ngcn.graph import Graph, Schema
from ngcn.json_file import Schema as JSONSchema
from ngcn.json_file import read_json
from ngcn.model.preparation import Preparation, prepare
from ngcn.version import __version__

FORMAT = 2  # of graph.json; raised when older versions of ngcn would misread it
MOST_NUMBERED = 10**7  # features without names
MOST_IDS = 10**6  # nodes whose ids are stored
ARRAYS = ("mean", "deviation", "fill")  # of a preparation
SCHEMA: JSONSchema = {
    "format": int,
    "version": str,
    "name": str,
    "nodes": int,
    "multilabel": bool,
    "fingerprint": str,
    "class_names": list[str],
    "feature_names": int | list[str],
    "preparation": {
        "how": {"bag", "unit", "row", "standard", "none"},
        **{f"{name}?": [float] for name in ARRAYS},
        "missing?": {"propagate", "mean", "error"},
    },
    "node_columns?": int,
    "columns?": [STORED],
    "read_with?": READ_WITH,
    "node_ids?": int | list[str],
}


@dataclass(frozen=True)
class Card:
    """The names, sizes and feature preparation of the graph trained on.

    ``fingerprint`` identifies the graph; ``node_columns`` is that of :class:`~ngcn.Graph`. ``node_ids``, or their
    number if they are 0, 1, 2, ..., tell new nodes from those trained on; they are None in runs before 0.3.0, and if
    there are more than a million.
    ``columns`` are how the columns of a table of nodes were read, and ``read_with`` the options that name others.
    """

    version: str
    name: str
    nodes: int
    multilabel: bool
    fingerprint: str
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    preparation: Preparation
    node_columns: int = 0  # format 1 has none
    node_ids: tuple[str, ...] | int | None = None
    columns: tuple[Column, ...] = ()
    read_with: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, config: Config) -> Card:
        return cls(
            version=__version__,
            name=graph.name,
            nodes=graph.nodes,
            multilabel=graph.multilabel,
            fingerprint=graph.fingerprint(),
            class_names=tuple(graph.class_names),
            feature_names=tuple(graph.feature_names),
            preparation=prepare(graph, config),
            node_columns=graph.node_columns,
            node_ids=_ids(graph),
            columns=tuple(graph.columns),
            read_with=dict(graph.read_with),
        )

    @property
    def schema(self) -> Schema:
        """What a graph is read by that the model is used on."""
        return Schema(self.class_names, self.feature_names, self.multilabel, self.node_columns, self.columns)

    def new_nodes(self, graph: Graph) -> np.ndarray:
        """See :meth:`~ngcn.Model.new_nodes`."""
        if self.node_ids is None:
            raise ModelError(
                f"This model stores no ids of nodes, since it was trained by an older version or on more than "
                f"{MOST_IDS:,} nodes, so new nodes cannot be told from those trained on."
            )
        ids = map(str, graph.node_ids.tolist())
        if isinstance(self.node_ids, int):
            return np.array([not _below(self.node_ids, name) for name in ids])
        known = set(self.node_ids)
        return np.array([name not in known for name in ids])

    def save(self, path: Path) -> None:
        values: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        numbered = tuple(map(str, range(len(self.feature_names))))
        if self.feature_names == numbered:  # a graph without features has as many as nodes
            values["feature_names"] = len(numbered)
        if self.node_ids is None:
            del values["node_ids"]
        values["columns"] = columns_to_json(self.columns)
        given = {name: value for name, value in self.preparation._asdict().items() if value is not None}
        values["preparation"] = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in given.items()}
        write_json(path, values)

    @classmethod
    def read(cls, path: Path) -> Card:
        try:
            values = read_json(path, {"format": int, "version": str})
            if values["format"] > FORMAT:
                raise RunError(
                    f"{path.parent} was written by ngcn {values['version']}, a newer version than this, {__version__}; "
                    "upgrade ngcn to read it."
                )
            values = {
                key: value for key, value in read_json(path, SCHEMA).items() if key + "?" in SCHEMA or key in SCHEMA
            }
            del values["format"]
            names = values["feature_names"]
            if isinstance(names, int) and not 0 < names <= MOST_NUMBERED:
                raise ValueError
            values |= {
                "preparation": _preparation(values["preparation"]),
                "class_names": tuple(values["class_names"]),
                "feature_names": tuple(map(str, range(names))) if isinstance(names, int) else tuple(names),
            }
            if isinstance(values.get("node_ids"), list):
                values["node_ids"] = tuple(values["node_ids"])
            values["columns"] = columns_from_json(values.get("columns") or ())
            values["read_with"] = options_from_json(values.get("read_with"))
            card = cls(**values)
            ids = card.nodes if card.node_ids is None else card.node_ids
            if card.nodes != (ids if isinstance(ids, int) else len(ids)):
                raise ValueError
            if not card.preparation.fits(len(card.feature_names)) or not card.class_names:
                raise ValueError
            return card
        except RunError:
            raise
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror}.") from None
        except (ValueError, TypeError):
            raise RunError(f"{path} is damaged; train again to get a run that can be used.") from None


def _preparation(stored: dict[str, Any]) -> Preparation:
    arrays = {name: np.array(stored[name], np.float32) for name in ARRAYS if stored.get(name) is not None}
    return Preparation(**{**stored, **dict.fromkeys(ARRAYS), **arrays})


def _ids(graph: Graph) -> tuple[str, ...] | int | None:
    """The ids as text, or their number if they are 0, 1, 2, ...; None if they are too many to be kept twice."""
    ids = graph.node_ids
    if np.array_equal(ids, np.arange(len(ids))):
        return len(ids)
    return None if len(ids) > MOST_IDS else tuple(map(str, ids.tolist()))


def _below(end: int, name: str) -> bool:
    """Whether a name is one of 0, 1, ..., end - 1.

    >>> _below(8, "7"), _below(8, "8"), _below(8, "07"), _below(8, "-1")
    (True, False, False, False)
    """
    return name.isdecimal() and len(name) < 19 and str(int(name)) == name and int(name) < end

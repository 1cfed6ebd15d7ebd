"""`TrainedOn`: what a run folder remembers of its graph, so that its weights can be used on others."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ngcn import __version__
from ngcn.graph import Graph
from ngcn.training._files import write_json
from ngcn.training.checkpoint import RunError
from ngcn.training.setup import Preparation

FORMAT = 2  # of graph.json; one more when older versions of ngcn could not read it rightly


@dataclass(frozen=True)
class TrainedOn:
    """The file ``graph.json`` of a run.

    ``id_type`` is "integer", "number" or "text"; ``fingerprint`` tells whether a graph is the very one trained on.
    """

    version: str
    name: str
    nodes: int
    multilabel: bool
    id_type: str
    fingerprint: str
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    preparation: Preparation
    node_columns: int = 0  # as in `Graph`; graph.json of format 1 has none

    @classmethod
    def of(cls, graph: Graph, preparation: Preparation) -> TrainedOn:
        assert graph.node_ids is not None and graph.class_names is not None and graph.feature_names is not None
        return cls(
            version=__version__,
            name=graph.name,
            nodes=graph.nodes,
            multilabel=graph.multilabel,
            id_type={"i": "integer", "u": "integer", "f": "number"}.get(graph.node_ids.dtype.kind, "text"),
            fingerprint=graph.fingerprint(),
            class_names=tuple(graph.class_names),
            feature_names=tuple(graph.feature_names),
            preparation=preparation,
            node_columns=graph.node_columns,
        )

    def save(self, path: Path) -> None:
        values: dict[str, Any] = {"format": FORMAT} | {f.name: getattr(self, f.name) for f in fields(self)}
        numbered = tuple(map(str, range(len(self.feature_names))))
        if self.feature_names == numbered:  # as many as nodes, where there are no features
            values["feature_names"] = len(numbered)
        how, mean, deviation = self.preparation
        values["preparation"] = {"how": how}
        if mean is not None and deviation is not None:
            values["preparation"] |= {"mean": mean.tolist(), "deviation": deviation.tolist()}
        write_json(path, values)

    @classmethod
    def read(cls, path: Path) -> TrainedOn:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values.pop("format") > FORMAT:
                raise RunError(
                    f"{path.parent} was made by ngcn {values['version']}, and this is {__version__}, which does not "
                    "know that form; install the newer version."
                )
            how = values["preparation"].pop("how")
            arrays = {name: np.array(row, np.float32) for name, row in values["preparation"].items()}
            names = values["feature_names"]
            values |= {
                "preparation": Preparation(how, **arrays),
                "class_names": tuple(values["class_names"]),
                "feature_names": tuple(map(str, range(names))) if isinstance(names, int) else tuple(names),
            }
            return cls(**values)
        except RunError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RunError(f"{path} is damaged; train again to get a run that can be used.") from None

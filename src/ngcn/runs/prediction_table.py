"""Predictions as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngcn import checks
from ngcn.errors import GraphError
from ngcn.graph import Graph
from ngcn.model import Model
from ngcn.runs.run import Run, model_and_graph

if TYPE_CHECKING:
    import pandas as pd


def predict(
    run: Run | Model | Path | str,
    graph: Graph | None = None,
    *,
    nodes: np.ndarray | None = None,
    threshold: float = 0.5,
    coverage: float | None = None,
) -> pd.DataFrame:
    """Return a data frame with a row per node: id, prediction, confidence, disagreement, ``p_CLASS`` for each class.

    The confidence is the highest probability; `ngcn report` shows how often such predictions are right. The
    disagreement is the share of the towers, by weight, that predict another class; there is none where towers have no
    weights.

    Args:
        run: a run or its folder, whose best seed predicts; or a model.
        graph: the graph; that of the run if None.
        nodes: ``(nodes,)`` mask of the nodes to predict, such as ``graph.unlabelled``; all if None.
        threshold: for multi-label, the least probability of a predicted label. Predicted labels are joined by ``|``;
            the confidence is the mean of max(p, 1 - p) over all labels.
        coverage: add the column ``set``, the classes that the node may have, joined by ``|``: the true class is among
            them with this probability, see :meth:`ngcn.Model.predict_set`.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> graph = load_dataset("cora")
        >>> table = predict(train(graph, Config(model="gcn", steps=1)).model, graph, nodes=graph.unlabelled)
        >>> list(table.columns[:4])
        ['id', 'prediction', 'confidence', 'p_Theory']
    """
    import pandas as pd  # here: it takes half a second to import

    threshold = checks.share("threshold", threshold)
    model, graph = model_and_graph(run, graph)
    if nodes is not None and (np.shape(nodes) != (graph.nodes,) or np.asarray(nodes).dtype != bool):
        raise GraphError(
            f"nodes must be a boolean mask over the {graph.nodes} nodes; from positions, make it with "
            f"np.isin(np.arange({graph.nodes}), positions)."
        )
    rows = np.arange(graph.nodes) if nodes is None else np.flatnonzero(nodes)
    p = model.predict_proba(graph, rows)
    classes = np.array(model.class_names, dtype=object)
    if model.multilabel:
        predicted = np.array(["|".join(classes[row >= threshold]) for row in p], dtype=object)
        confidence = np.maximum(p, 1 - p).mean(axis=1)
    else:
        predicted, confidence = classes[p.argmax(axis=1)], p.max(axis=1)
    table = pd.DataFrame({"id": graph.node_ids[rows], "prediction": predicted, "confidence": confidence})
    if coverage is not None:
        table["set"] = ["|".join(classes[inside]) for inside in model.predict_set(graph, rows, coverage=coverage)]
    if (disagreement := model.disagreement(graph, rows)) is not None:
        table["disagreement"] = disagreement
    return table.join(pd.DataFrame(p, columns=[f"p_{name}" for name in classes]))

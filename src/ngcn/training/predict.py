"""The labels of the nodes of a graph, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ngcn.graph import Graph, GraphError
from ngcn.training.run import Run

if TYPE_CHECKING:
    import pandas as pd


def predict(
    run: Run, graph: Graph | None = None, *, nodes: np.ndarray | None = None, threshold: float = 0.5
) -> pd.DataFrame:
    """A row per node: id, prediction, confidence, and ``p_CLASS`` for each class, by the best seed of the run.

    The confidence is the highest probability; how often such predictions are right, the page of a run shows.

    Args:
        run: the run.
        graph: another graph than the one trained on, as :meth:`Run.read` reads it.
        nodes: ``(nodes,)`` mask of the nodes wanted, such as ``graph.unlabelled``; all if not given.
        threshold: for multi-label, the probability from which on a label is predicted. Predicted labels are joined
            with ``|``, and the confidence is the mean over all labels of how sure it is that they do or do not hold.
    """
    import pandas as pd

    graph = graph if graph is not None else run.graph()
    network = run.network(graph, run.best_seed)
    assert graph.class_names is not None and graph.node_ids is not None
    if nodes is not None and (np.shape(nodes) != (graph.nodes,) or np.asarray(nodes).dtype != bool):
        raise GraphError(
            f"nodes must be a mask, True or False for each of the {graph.nodes} nodes; where you have their places, "
            f"it is np.isin(np.arange({graph.nodes}), places)."
        )
    rows = np.arange(graph.nodes) if nodes is None else np.flatnonzero(nodes)
    with torch.no_grad():
        logits = network(*run.inputs(graph), torch.from_numpy(rows))
    chances = (logits.sigmoid() if graph.multilabel else logits.softmax(dim=1)).numpy()
    classes = np.array(graph.class_names, dtype=object)
    if graph.multilabel:
        decided = np.array(["|".join(classes[row >= threshold]) for row in chances], dtype=object)
        confidence = np.maximum(chances, 1 - chances).mean(axis=1)
    else:
        decided, confidence = classes[chances.argmax(axis=1)], chances.max(axis=1)
    table = pd.DataFrame({"id": graph.node_ids[rows], "prediction": decided, "confidence": confidence})
    return table.join(pd.DataFrame(chances, columns=[f"p_{name}" for name in classes]))

"""Predictions as a table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from ngcn import checks
from ngcn.errors import GraphError
from ngcn.files import atomic, remove_leftovers
from ngcn.graph import Graph, StoredGraph
from ngcn.model import Model
from ngcn.model.model import disagreement
from ngcn.runs.run import Run, model_and_graph
from ngcn.scoring import probabilities

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
        threshold: for multi-label, the least probability of a predicted label. Predicted labels are joined by ``|``,
            which stands alone where there are none, as in tables of labels; the confidence is the mean of
            max(p, 1 - p) over all labels.
        coverage: add the column ``set``, the classes that the node may have, joined by ``|``: the true class is among
            them with this probability, see :meth:`ngcn.Model.predict_set`.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> graph = load_dataset("cora")
        >>> table = predict(train(graph, Config(model="gcn", steps=1)).model, graph, nodes=graph.unlabelled)
        >>> list(table.columns[:4])
        ['id', 'prediction', 'confidence', 'p_Theory']
    """
    threshold = checks.share("threshold", threshold)
    model, graph = model_and_graph(run, graph)
    rows = _positions(graph, nodes)
    p, disagreement = model.predict_proba(graph, rows), model.disagreement(graph, rows)
    return _table(model, graph.node_ids[rows], p, disagreement, threshold, coverage)


def predict_to_parquet(
    model: Model,
    graph: StoredGraph,
    path: Path,
    *,
    nodes: np.ndarray | None = None,
    threshold: float = 0.5,
    coverage: float | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[pd.DataFrame]:
    """Write what :func:`predict` returns to a Parquet file, in bounded memory, and yield it in parts.

    What is computed on the way is kept in a folder beside the file: after an interruption, nothing is computed twice.

    Args:
        on_progress: called with the number of nodes that are written, and of all.
    """
    rows, weights = _positions(graph, nodes), sha256()
    for name, value in sorted(model.state().items()):
        weights.update(name.encode() + value.numpy().tobytes())
    weights.update(rows.tobytes() + graph.fingerprint().encode())
    parts = path.with_name(f".{path.name}.{weights.hexdigest()[:16]}")
    parts.mkdir(exist_ok=True)
    remove_leftovers(parts)
    with atomic(path) as temporary, ExitStack() as open_file:
        writer: Any = None
        for where, Z in model.exact(graph).stream(rows, parts):
            with torch.no_grad():
                p = probabilities(model.network.combine(Z), model.multilabel).numpy()
            ids = graph.node_ids[rows[where]]
            table = _table(model, ids, p, disagreement(model.network, Z), threshold, coverage)
            columns = pa.Table.from_pandas(table, preserve_index=False)
            writer = writer or open_file.enter_context(pq.ParquetWriter(temporary, columns.schema))
            writer.write_table(columns)
            yield table
            if on_progress:
                on_progress(where.stop, len(rows))
    shutil.rmtree(parts)


def _positions(graph: Graph, nodes: np.ndarray | None) -> np.ndarray:
    if nodes is not None and (np.shape(nodes) != (graph.nodes,) or np.asarray(nodes).dtype != bool):
        raise GraphError(
            f"nodes must be a boolean mask over the {graph.nodes} nodes; from positions, make it with "
            f"np.isin(np.arange({graph.nodes}), positions)."
        )
    return np.arange(graph.nodes) if nodes is None else np.flatnonzero(nodes)


def _table(
    model: Model, ids: Any, p: np.ndarray, disagreement: np.ndarray | None, threshold: float, coverage: float | None
) -> pd.DataFrame:
    import pandas as pd  # here: it takes half a second to import

    classes = np.array(model.class_names, dtype=object)
    if model.multilabel:
        predicted = np.array(["|".join(classes[row >= threshold]) or "|" for row in p], dtype=object)
        confidence = np.maximum(p, 1 - p).mean(axis=1)
    else:
        predicted, confidence = classes[p.argmax(axis=1)], p.max(axis=1)
    table = pd.DataFrame({"id": ids, "prediction": predicted, "confidence": confidence})
    if coverage is not None:
        table["set"] = ["|".join(classes[inside]) for inside in model.sets_of(p, coverage)]
    if disagreement is not None:
        table["disagreement"] = disagreement
    return table.join(pd.DataFrame(p, columns=[f"p_{name}" for name in classes]))

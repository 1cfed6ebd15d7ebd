"""`ngcn predict`: the label of every node, as a table."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngcn.cli import _screen

if TYPE_CHECKING:
    import numpy as np


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
) -> None:
    """Predict all nodes with the best seed of a run, and write them to a CSV file.

    Columns: id, prediction, confidence, and a probability per class.

    For multi-label, prediction is all labels with ; between, and confidence the mean over the labels.

    Example: [bold]ngcn predict runs/cora-ngcn-attention-K6-r4 --out predictions.csv[/bold]
    """
    with _screen.busy("Loading"):
        import torch

        from ngcn.training._files import atomic
        from ngcn.training.run import Run

        opened = Run.open(run)
        graph = opened.graph()
        network = opened.network(graph, opened.best_seed)
    with torch.no_grad():
        logits = network(*opened.inputs(graph))
    chances = (logits.sigmoid() if graph.multilabel else logits.softmax(dim=1)).numpy()

    assert graph.class_names is not None and graph.node_ids is not None
    names, confidence = _decide(chances, graph.class_names, graph.multilabel)
    with atomic(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("id", "prediction", "confidence", *(f"p_{name}" for name in graph.class_names)))
        for node, name, sure, row in zip(graph.node_ids, names, confidence, chances, strict=True):
            table.writerow((node, name, f"{sure:.6g}", *(f"{chance:.6g}" for chance in row)))
    _screen.note(f"{graph.nodes} predictions of seed {opened.best_seed} in {out}")


def _decide(chances: np.ndarray, classes: Sequence[str], multilabel: bool) -> tuple[list[str], np.ndarray]:
    """The predicted class (or classes) of each node, and how sure that is."""
    import numpy as np

    if multilabel:
        names = [";".join(classes[int(c)] for c in np.flatnonzero(row > 0.5)) for row in chances]
        return names, np.maximum(chances, 1 - chances).mean(axis=1)
    return [classes[int(c)] for c in chances.argmax(axis=1)], chances.max(axis=1)

"""`ngcn predict`: write predictions to a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ngcn.cli import _screen
from ngcn.cli._errors import check_place
from ngcn.cli.evaluate import graph_of
from ngcn.errors import ConfigError
from ngcn.files import atomic

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".tsv", ".parquet", ".json")
_GRAPH = "A graph to predict, such as a folder; the run's own if not given."


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .tsv, .parquet or .json.")],
    graph: Annotated[str | None, typer.Argument(metavar="[GRAPH]", help=_GRAPH)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All nodes, not only those without a label.")] = False,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="For multi-label: the least probability of a predicted label.")
    ] = 0.5,
    edges: Annotated[str | None, typer.Option(help="The table of edges, where GRAPH is a table of nodes.")] = None,
    feature_table: Annotated[str | None, typer.Option(help="The table of sparse features beside it.")] = None,
) -> None:
    """Predict the nodes without a label with the best seed of a run, and write them to a file.

    Columns: id, prediction, confidence, and a probability per class.

    The confidence is the highest probability; [bold]ngcn report[/bold] shows its calibration.
    For multi-label, the predicted labels are joined by |, and the confidence is the mean over all labels.

    Example: [bold]ngcn predict runs/cora-ngcn-attention-K6-r4 --all --out predictions.csv[/bold]
    """
    with _screen.busy("Predicting"):
        from ngcn.runs import Run
        from ngcn.runs import predict as predictions

        opened = Run.open(run)
        if out.suffix.lower() not in ENDINGS:
            raise ConfigError(f"{out} must end in {', '.join(ENDINGS)}: the ending sets the format.")
        check_place(out)
        model = opened.model()
        if threshold != 0.5 and not model.multilabel:
            raise ConfigError(f"{run} predicts one label per node, so --threshold does not apply.")
        known = graph_of(opened, graph, edges, feature_table)
        nodes = None if everything or not known.unlabelled.any() else known.unlabelled
        table = predictions(model, known, nodes=nodes, threshold=threshold)
    if nodes is None and not everything:
        _screen.note(f"All nodes of {known.name} have labels, so all are predicted.")
    write(table, out, model.multilabel)
    _screen.note(f"{len(table)} predictions of seed {opened.best_seed} in {out}")


def write(table: pd.DataFrame, out: Path, multilabel: bool) -> None:
    """Write the table in the format given by the ending of ``out``."""
    with atomic(out) as temporary:
        if out.suffix.lower() == ".parquet":
            table.to_parquet(temporary, index=False)
        elif out.suffix.lower() == ".json":
            text = json.dumps(_records(table, multilabel), indent=1, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")
        else:
            separator = "\t" if out.suffix.lower() == ".tsv" else ","
            table.to_csv(temporary, sep=separator, index=False, float_format="%.6g", lineterminator="\n")


def _records(table: pd.DataFrame, multilabel: bool) -> list[dict[str, Any]]:
    """One object per node. Several labels become a list, the probabilities an object."""
    return [
        {
            "id": row["id"],
            "prediction": [name for name in row["prediction"].split("|") if name] if multilabel else row["prediction"],
            "confidence": row["confidence"],
            "probabilities": {str(key).removeprefix("p_"): p for key, p in row.items() if str(key).startswith("p_")},
        }
        for row in table.to_dict("records")
    ]

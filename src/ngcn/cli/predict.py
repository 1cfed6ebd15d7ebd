"""`ngcn predict`: write predictions to a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ngcn import checks
from ngcn.cli import _screen
from ngcn.cli._engine import AddressOption, EngineOption, WorkersOption, engine_of, executor_of
from ngcn.cli._errors import check_place, check_run
from ngcn.cli.evaluate import GRAPH, Edges, FeatureTable, graph_of
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError, GraphError
from ngcn.files import atomic
from ngcn.text import percent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ngcn.graph import Graph
    from ngcn.model import Model
    from ngcn.runs import Run

ENDINGS = (".csv", ".tsv", ".parquet", ".json")
_COVERAGE = "Add a column with a set of classes that contains the true one with this probability, such as 0.9."
FEW = 100  # validation nodes; with fewer, the coverage of prediction sets varies by more than 3 points


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .tsv, .parquet or .json.")],
    graph: Annotated[str | None, typer.Argument(metavar="[GRAPH]", help=GRAPH)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All nodes, not only those without a label.")] = False,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Only nodes of GRAPH whose ids the training graph does not have.")
    ] = False,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="For multi-label: the least probability of a predicted label.")
    ] = 0.5,
    coverage: Annotated[float | None, typer.Option(help=_COVERAGE)] = None,
    edges: Edges = None,
    feature_table: FeatureTable = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
) -> None:
    """Predict the nodes without a label with the best seed of a run, and write them to a file.

    Columns: id, prediction, confidence, disagreement, and a probability per class.

    The confidence is the highest probability; [bold]ngcn report[/bold] shows its calibration.
    The disagreement is the share of the towers, by weight, that predict another class.
    With [bold]--coverage[/bold], the column set has the classes that the node may have, joined by |.
    For multi-label, the predicted labels are joined by |, and the confidence is the mean over all labels.

    The nodes of a graph that is too large for the memory are written to a .parquet file part by part.
    With [bold]--only-new[/bold], new nodes are predicted whether they have a label or not.

    Example: [bold]ngcn predict runs/cora-mixed --all --out predictions.csv[/bold]
    """
    check_run(run)
    cluster = engine_of(engine, address, workers)
    if only_new and (everything or not graph):
        raise ConfigError("--only-new predicts the new nodes of a GRAPH; name it, and leave --all out.")
    check_table(out)
    if coverage is not None:
        checks.open_share("coverage", coverage)
    if graph:
        check_exists(graph)
    with _screen.busy("Predicting") as say:
        from ngcn.runs import Run

        opened = Run.open(run)
        model = opened.model()
        if threshold != 0.5 and not model.multilabel:
            raise ConfigError(f"{run} predicts one label per node, so --threshold does not apply.")
        known = graph_of(opened, graph, edges, feature_table)
        nodes = None if everything else to_predict(known)
        if only_new:
            nodes = model.new_nodes(known)
            if not nodes.any():
                raise GraphError(f"All nodes of {graph} are in the graph that {run} was trained on; none is new.")
        how: dict[str, Any] = {"nodes": nodes, "threshold": threshold, "coverage": coverage}
        size, written = 0.0, 0
        with executor_of(cluster, opened, known, out.absolute().parent) as model.executor:
            for table in _tables(model, known, out, how, say):
                written += len(table)
                size += 0 if coverage is None else float((table["set"].str.count(r"\|") + 1).sum())
    if coverage is not None:
        _note_coverage(size / written, coverage, len(model.network.calibration.conformal))
    _screen.note(f"{written:,} predictions of seed {opened.best_seed} in {out}")


def check_table(out: Path) -> None:
    """Raise an error for a file that predictions cannot be written to."""
    if out.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{out} must end in {', '.join(ENDINGS)}: the ending sets the format.")
    check_place(out)


def to_predict(graph: Graph) -> np.ndarray | None:
    """The nodes without a label; None for all nodes, if all have one."""
    if graph.unlabelled.any():
        return graph.unlabelled
    _screen.note(f"All nodes of {graph.name} have labels, so all are predicted.")
    return None


def write_unlabelled(run: Run, graph: Graph, out: Path) -> None:
    """Write what `ngcn predict RUN` would, without options."""
    how = {"nodes": to_predict(graph)}
    with _screen.busy("Predicting") as say:
        written = sum(map(len, _tables(run.model(), graph, out, how, say)))
    _screen.note(f"{written:,} predictions of seed {run.best_seed} in {out}")


def _tables(
    model: Model, graph: Graph, out: Path, how: dict[str, Any], say: Callable[[str], None]
) -> Iterator[pd.DataFrame]:
    """Write the predictions; yield them, those of a large graph in parts."""
    from ngcn.graph import StoredGraph
    from ngcn.runs import predict, predict_to_parquet

    if isinstance(graph, StoredGraph) and out.suffix.lower() == ".parquet" and model.is_large(graph):

        def on_progress(done: int, total: int) -> None:
            say(f"Predicting, {done:,} of {total:,} nodes")

        yield from predict_to_parquet(model, graph, out, **how, on_progress=on_progress)
    else:
        table = predict(model, graph, **how)
        write(table, out, model.multilabel)
        yield table


def _note_coverage(size: float, coverage: float, nodes: int) -> None:
    _screen.note(f"Sets of {size:.2f} classes on average contain the true one with probability {coverage:g} or more.")
    if nodes < FEW:
        error = percent((coverage * (1 - coverage) / nodes) ** 0.5)
        _screen.note(f"They rest on {nodes} validation nodes only, so the probability may well be off by {error}.")


def write(table: pd.DataFrame, out: Path, multilabel: bool) -> None:
    """Write the table in the format given by the ending of ``out``."""
    with atomic(out) as temporary:
        if out.suffix.lower() == ".parquet":
            temporary.write_bytes(table.to_parquet(None, index=False))
        elif out.suffix.lower() == ".json":
            text = json.dumps(_records(table, multilabel), indent=1, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")
        else:
            separator = "\t" if out.suffix.lower() == ".tsv" else ","
            texts = table.select_dtypes(exclude="number").columns
            table = table.assign(**{column: table[column].map(_no_formula) for column in texts})
            table.to_csv(temporary, sep=separator, index=False, float_format="%.6g", lineterminator="\n")


def _no_formula(cell: Any) -> Any:
    """Text that a spreadsheet would run as a formula, after an apostrophe; a number stays.

    >>> _no_formula("=1+1"), _no_formula("-2.5"), _no_formula("a")
    ("'=1+1", '-2.5', 'a')
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _records(table: pd.DataFrame, multilabel: bool) -> list[dict[str, Any]]:
    """One object per node. Several labels become a list, the probabilities an object."""
    return [
        {
            "id": row["id"],
            "prediction": [name for name in row["prediction"].split("|") if name] if multilabel else row["prediction"],
            "confidence": row["confidence"],
            **{key: row[key].split("|") if key == "set" else row[key] for key in ("set", "disagreement") if key in row},
            "probabilities": {str(key).removeprefix("p_"): p for key, p in row.items() if str(key).startswith("p_")},
        }
        for row in table.to_dict("records")
    ]

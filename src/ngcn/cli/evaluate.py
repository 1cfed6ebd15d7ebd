"""`ngcn evaluate`: check the stored scores of a run, or evaluate it on another graph."""

from __future__ import annotations

from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ngcn.cli import _screen
from ngcn.cli._engine import AddressOption, EngineOption, WorkersOption, engine_of, executor_of
from ngcn.cli._errors import check_run
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError, GraphError
from ngcn.text import METRICS, count, score_text

if TYPE_CHECKING:
    from ngcn.graph import Graph
    from ngcn.runs import Run

GRAPH = "Another graph, such as a folder with new nodes; the run's own if not given."
Edges = Annotated[str | None, typer.Option(help="The table of edges, where GRAPH is a table of nodes.")]
FeatureTable = Annotated[str | None, typer.Option(help="The table of sparse features beside it.")]


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    graph: Annotated[str | None, typer.Argument(metavar="[GRAPH]", help="Another graph, with labels.")] = None,
    edges: Edges = None,
    feature_table: FeatureTable = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
) -> None:
    """Compute the scores of a run again and compare them with the stored ones; or evaluate it on another graph.

    The exit code is 1 if the scores differ. On another graph, nodes that were trained or validated on are left out.

    Example: [bold]ngcn evaluate runs/cora-mixed[/bold]
    """
    check_run(run)
    cluster = engine_of(engine, address, workers)
    if graph:
        check_exists(graph)
    with _screen.busy("Loading"):
        from ngcn.runs import Run

        opened = Run.open(run)
    console = _screen.Console(soft_wrap=True)
    known = graph_of(opened, graph, edges, feature_table)
    with executor_of(cluster, opened, known) as opened.executor:
        if graph is None:
            _evaluate_again(opened, known, console)
        else:
            _evaluate_new(opened, known, graph, console)


def graph_of(run: Run, path: str | None, edges: str | None, feature_table: str | None) -> Graph:
    """The graph of the run, or another one to use its model on."""
    if path is not None:
        return run.model().read_graph(path, edges=edges, feature_table=feature_table)
    if edges or feature_table:
        raise ConfigError("`edges` and `feature_table` belong to another GRAPH; name its table of nodes too.")
    return run.graph()


def _evaluate_new(run: Run, graph: Graph, path: str, console: _screen.Console) -> None:
    """The scores of every seed on another graph."""
    from ngcn.runs.scored import scored

    graph, split, nodes = scored(run, graph)
    if split is None:
        raise GraphError(f"There are no scores to compute of {run.folder} on {path}: {nodes}; label other nodes.")
    seen = graph.train | graph.val if split == "test" else graph.train
    left_out = f"; {count(int(seen.sum()), 'other')} left out" if seen.any() else ""
    _screen.note(f"Scored on {nodes}{left_out}.")
    kind = "labelled node" if split == "test" else "validation node"
    table = Table("Seed", "Score", f"{graph.name}: {count(int(getattr(graph, split).sum()), kind)}")
    for seed in run.seeds:
        for name, value in run.model(seed).evaluate(graph, split)[split].items():
            table.add_row(str(seed), METRICS[name], score_text(name, value, 2))
    console.print(table)


def _evaluate_again(run: Run, graph: Graph, console: _screen.Console) -> None:
    """The scores of every seed on the graph of the run, compared with the stored ones."""
    all_same = True
    table = Table("Seed", "Score", "Validation", "Test", "Same as stored")
    for seed in run.seeds:
        # A refit has trained on the validation nodes: their stored scores are those of the training before it
        splits = ("test",) if run.config.refit else ("val", "test")
        found, stored = run.model(seed).evaluate(graph, *splits), run.scores(seed)
        same = all(_same(found[split], stored[f"{split}_scores"]) for split in found)
        all_same &= same
        for name in stored["val_scores"]:
            values = [found.get(split, {}).get(name) for split in ("val", "test")]
            shown = ["-" if value is None else score_text(name, value, 2) for value in values]
            cells = *shown, "yes" if same else "no"
            table.add_row(str(seed), METRICS[name], *cells)
    console.print(table)
    result = run.folder / "result.json"
    if not all_same:
        console.print(f"The weights do not give the scores of {result}: has a file or the graph changed?")
        raise typer.Exit(1)
    console.print(f"The weights give the scores of {result}.")


ROUNDED = {"loss": 1e-4, "roc_auc": 1e-4, "average_precision": 1e-4}  # they depend on the last digits of logits


def _same(found: dict[str, float], stored: dict[str, float]) -> bool:
    """Whether all stored scores were found again. Training reorders the nodes, which changes the last digits of logits.
    Older versions stored fewer scores."""
    return all(
        name in found and isclose(found[name], value, rel_tol=ROUNDED.get(name, 1e-6)) for name, value in stored.items()
    )

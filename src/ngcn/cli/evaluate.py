"""`ngcn evaluate`: whether the stored weights still give the stored scores; or scores on another graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngcn.cli import _screen
from ngcn.config import Config
from ngcn.errors import ConfigError, GraphError, RunError
from ngcn.text import METRICS, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from ngcn.graph import Graph
    from ngcn.runs import Run


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    graph: Annotated[
        str | None, typer.Argument(metavar="[GRAPH]", help="Another graph, with labels.", show_default=False)
    ] = None,
    edges: Annotated[str | None, typer.Option(help="The table of edges, where GRAPH is a table of nodes.")] = None,
    feature_table: Annotated[str | None, typer.Option(help="The table of sparse features beside it.")] = None,
) -> None:
    """Compute the scores of a run again from its weights, and compare; or those on another graph.

    The exit code is 1 if they differ.

    Example: [bold]ngcn evaluate runs/cora-ngcn-attention-K6-r4[/bold]
    """
    from rich.console import Console

    with _screen.busy("Loading"):
        from ngcn.runs import Run

        opened = Run.open(run)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if graph is None:
        check_alone(edges, feature_table)
        _evaluate_again(opened, console)
    else:
        _evaluate_new(
            opened, opened.model().read_graph(graph, edges=edges, feature_table=feature_table), graph, console
        )


def check_alone(*files: str | None) -> None:
    """Tables of edges and features belong to a graph that is named too."""
    if any(files):
        raise ConfigError("`edges` and `feature_table` go with a GRAPH of their own; name its table of nodes too.")


def _evaluate_new(run: Run, graph: Graph, path: str, console: Console) -> None:
    """The scores of every seed on another graph."""
    from rich.table import Table

    if not graph.test.any():
        raise GraphError(f"No node of {path} has a label that {run.folder} knows, so there is nothing to compare with.")
    if Config(dataset=path).dataset == run.config.dataset:
        _screen.note(
            f"{graph.name} is the graph that {run.folder} was trained on: its training nodes are among these. "
            f"`ngcn evaluate {run.folder}` scores its test nodes alone."
        )
    elif trained := _training_nodes(run, graph):
        _screen.note(f"{count(trained, 'node')} of these are among the training nodes of {run.folder}.")
    table = Table("Seed", "Score", f"{graph.name}: {graph.test.sum()} labelled nodes")
    for seed in run.seeds:
        for name, value in run.model(seed).evaluate(graph, "test")["test"].items():
            table.add_row(str(seed), METRICS[name], percent(value, 2))
    console.print(table)


def _evaluate_again(run: Run, console: Console) -> None:
    """The scores of every seed on the graph of the run, compared with the stored ones."""
    from rich.table import Table

    graph, all_same = run.graph(), True
    table = Table("Seed", "Score", "Validation", "Test", "Same as stored")
    for seed in run.seeds:
        found, stored = run.model(seed).evaluate(graph, "val", "test"), run.scores(seed)
        same = all(found[split] == stored[f"{split}_scores"] for split in found)
        all_same &= same
        for name, val in found["val"].items():
            test = found["test"].get(name)
            cells = percent(val, 2), "-" if test is None else percent(test, 2), "yes" if same else "no"
            table.add_row(str(seed), METRICS[name], *cells)
    console.print(table)
    result = run.folder / "result.json"
    if all_same:
        console.print(f"The weights give the scores of {result}.")
        return
    console.print(f"The weights do not give the scores of {result}: has a file or the graph changed?")
    raise typer.Exit(1)


def _training_nodes(run: Run, graph: Graph) -> int:
    """How many of the nodes to score have the id and the features of a training node of the run."""
    import numpy as np
    import scipy.sparse as sp

    try:
        own = run.graph()
    except RunError:  # it has changed, or is missing
        return 0
    _, here, there = np.intersect1d(graph.node_ids, own.node_ids, return_indices=True)
    learned = graph.test[here] & own.train[there]
    ours, theirs = sp.csr_array(graph.features)[here[learned]], sp.csr_array(own.features)[there[learned]]
    return int((abs(ours - theirs).sum(axis=1) == 0).sum())

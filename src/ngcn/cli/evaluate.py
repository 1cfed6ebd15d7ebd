"""`ngcn evaluate`: do the stored weights still give the stored scores?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ngcn.cli import _screen
from ngcn.names import METRICS, count

if TYPE_CHECKING:
    from ngcn.graph import Graph
    from ngcn.training.run import Run


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
    from rich.table import Table

    with _screen.busy("Loading"):
        from ngcn.training.checkpoint import RunError
        from ngcn.training.config import Config
        from ngcn.training.loop import evaluate as scores_of
        from ngcn.training.run import Run

        opened = Run.open(run)
        known = opened.read(graph, edges=edges, feature_table=feature_table)
        A_hat, X = opened.inputs(known)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if graph is not None:
        if not known.test.any():
            raise RunError(f"No node of {graph} has a label that {run} knows, so there is nothing to compare with.")
        if Config(dataset=graph).dataset == opened.config.dataset:
            _screen.note(
                f"{known.name} is what {run} was trained on: nodes that it learned from are among these. "
                f"`ngcn evaluate {run}` scores its test nodes alone."
            )
        elif learned := _learned_from(opened, known):
            _screen.note(f"{count(learned, 'node')} of these are among those that {run} learned from.")
        table = Table("Seed", "Score", f"{known.name}: {known.test.sum()} labelled nodes")
        for seed in opened.seeds:
            for name, value in scores_of(opened.network(known, seed), A_hat, X, known, "test").items():
                table.add_row(str(seed), METRICS[name], f"{100 * value:.2f} %")
        console.print(table)
        return

    table = Table("Seed", "Score", "Validation", "Test", "Same as stored")
    all_same = True
    for seed in opened.seeds:
        network, stored = opened.network(known, seed), opened.scores(seed)
        now = {f"{split}_scores": scores_of(network, A_hat, X, known, split) for split in ("val", "test")}
        same = all(now[split] == stored[split] for split in now)
        all_same &= same
        for name, value in now["val_scores"].items():
            test = now["test_scores"].get(name)
            table.add_row(
                str(seed),
                METRICS[name],
                f"{100 * value:.2f} %",
                "-" if test is None else f"{100 * test:.2f} %",
                "yes" if same else "no",
            )
    console.print(table)
    if all_same:
        console.print(f"The weights give the scores of {opened.folder / 'result.json'}.")
        return
    console.print(
        f"The weights do not give the scores of {opened.folder / 'result.json'}: was a file or the data changed?"
    )
    raise typer.Exit(1)


def _learned_from(run: Run, graph: Graph) -> int:
    """How many of the nodes to be scored have the id and the features of a training node of the run."""
    import numpy as np
    import scipy.sparse as sp

    from ngcn.errors import DatasetError
    from ngcn.graph import quietly
    from ngcn.training.checkpoint import RunError

    try:
        with quietly():
            own = run.graph()
    except (RunError, DatasetError):  # it has changed since, or is not there any more
        return 0
    ids: list[Any] = [graph.node_ids, own.node_ids]
    _, here, there = np.intersect1d(*ids, return_indices=True)
    learned = graph.test[here] & own.train[there]
    ours, theirs = sp.csr_array(graph.features)[here[learned]], sp.csr_array(own.features)[there[learned]]
    return int((abs(ours - theirs).sum(axis=1) == 0).sum())

"""`ngcn explain`: explain the predicted class of a node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ngcn.cli import _screen
from ngcn.cli._errors import check_run
from ngcn.cli.evaluate import GRAPH, Edges, FeatureTable, graph_of
from ngcn.data.catalog import check_exists
from ngcn.text import percent

if TYPE_CHECKING:
    from ngcn.explain import Explanation, Neighbour, Ring

NEGLIGIBLE = 0.00005  # rounds to 0.00 percentage points


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    node: Annotated[str, typer.Option(help="The id of the node, as in the graph's files.")],
    graph: Annotated[str | None, typer.Argument(metavar="[GRAPH]", help=GRAPH)] = None,
    label: Annotated[
        str | None, typer.Option("--class", help="The class to explain.", show_default="the predicted one")
    ] = None,
    edges: Edges = None,
    feature_table: FeatureTable = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")] = False,
) -> None:
    """Explain a prediction: the contribution of each power of Â, and the neighbours and features behind it.

    Explains the model of the best seed.

    Example: [bold]ngcn explain runs/cora-mixed --node 1708[/bold]
    """
    check_run(run)
    if graph:
        check_exists(graph)
    with _screen.busy("Explaining"):
        from ngcn.explain import explain_node
        from ngcn.runs import Run

        opened = Run.open(run)
        model = opened.model()
        _ = model.network  # raises an error for a baseline, before the graph is loaded
        why = explain_node(model, node, label=label, graph=graph_of(opened, graph, edges, feature_table))
    if as_json:
        print(json.dumps(why.to_dict(), allow_nan=False))
        return
    console = _screen.Console()
    _show_prediction(why, console)
    _show_votes(why, console)
    _show_neighbours(why, console)
    (_show_nodes_as_features if why.identity else _show_features)(why, console)


def _show_prediction(why: Explanation, console: _screen.Console) -> None:
    truth = "" if why.truth is None else f" (true: {', '.join(why.truth) or 'none'})"
    ranked = sorted(why.probabilities.items(), key=lambda item: -item[1])
    place = [name for name, _ in ranked].index(why.label)
    prediction = f"{why.label}, {percent(why.probability, 1)}"
    if not why.predicted:
        prediction = f"no label is predicted; {'' if place else 'the most likely is '}{prediction}"
    console.print(f"\nNode {why.node}: {prediction}{truth}", style="bold")
    for which, classes in (("More probable", ranked[:place]), ("Next", ranked[place + 1 :])):
        if classes:
            console.print(f"{which}: {', '.join(f'{name} {percent(p, 1)}' for name, p in classes[:3])}.")


def _show_votes(why: Explanation, console: _screen.Console) -> None:
    console.print("\nVotes: the contributions of the towers.", style="bold")
    largest = max(abs(vote.contribution) for vote in why.votes) or 1.0
    columns = ("Weight", "Probability", "Contribution") if why.score_is == "probability" else ("Contribution",)
    table = Table("Towers", *_screen.right(*columns), "")
    for vote in why.votes:
        bar = "█" * round(_screen.BAR / 2 * abs(vote.contribution) / largest)
        if vote.weight is None or vote.opinion is None:
            table.add_row(vote.towers, f"{vote.contribution:+.2f}", bar)
        else:
            shares = percent(vote.opinion, 1), percent(vote.contribution, 1)
            table.add_row(vote.towers, f"{vote.weight:.3f}", *shares, bar)
    console.print(table)
    score = f"{why.score:+.2f}"
    console.print(
        {
            "probability": "A contribution is the weight of the towers times the probability that they give "
            f"{why.label}, calibrated. The sum is the predicted probability, {percent(why.score, 1)}.",
            "lead": f"The sum is the lead of {why.label}: its logit is {score} above the mean of all classes.",
            "log-odds": f"The sum is the log-odds of {why.label}, {score}; above 0 it is predicted.",
        }[why.score_is]
    )


def _show_neighbours(why: Explanation, console: _screen.Console) -> None:
    what = "nodes that count" if why.identity else "nodes whose features count"
    console.print(f"\nNeighbours: the {what}, by distance.", style="bold")
    table = Table(*_screen.right("Distance"), "Node", "Class", *_screen.right("Points", "Without it"))
    shown = 1 + max((place for place, ring in enumerate(why.rings) if abs(ring.points) >= NEGLIGIBLE), default=0)
    for ring in why.rings[:shown]:
        for row in _rows(ring):
            table.add_row(*row)
        table.add_section()
    console.print(table)
    if further := sum(ring.nodes for ring in why.rings[shown:]):
        console.print(f"{further:,} nodes further away add less than 0.005 points per distance.")
    zero = "all features of the node were 0, which is the mean of a standardised column"
    case = "the model did not know the node, whose edges stay" if why.identity else zero
    console.print(
        f"Points: about how many percentage points the probability of {why.label} would lose if {case} "
        f"(gradient times input; if negative, it would gain). "
        "Without it: the exact probability in that case. Class: the label, or the predicted one."
    )


def _rows(ring: Ring) -> list[tuple[str, str, str, str, str]]:
    """The rows of one distance: the sum over its nodes, then the nodes with most points."""
    distance = "no path" if ring.distance is None else str(ring.distance)
    named = [(u, (_class(u), _points(u.points), percent(u.without or 0, 1))) for u in ring.strongest]
    if ring.distance == 0:
        return [(distance, "the node itself", *cells) for _, cells in named]
    named = [row for row in named if abs(row[0].points) >= NEGLIGIBLE]
    if ring.nodes == 1:
        return [(distance, str(u.id), *cells) for u, cells in named]
    total = (distance, f"all {ring.nodes} together", "", _points(ring.points), "")
    return [total, *(("", f"  {u.id}", *cells) for u, cells in named)]


def _class(u: Neighbour) -> str:
    """The labels of a node, or the predicted ones."""
    names = ", ".join(u.predicted or []) if u.truth is None else ", ".join(u.truth)
    return (names or "none") + (" (predicted)" if u.truth is None else "")


def _show_features(why: Explanation, console: _screen.Console) -> None:
    console.print("\nFeatures: those that count, at the node and around it.", style="bold")
    table = Table("Feature", *_screen.right("Effect", "Without it", "Points", "Its own"))
    for feature in why.features:
        without = percent(feature.without or 0, 1)
        effect, points, own = map(_points, (feature.effect or 0, feature.points, feature.own))
        table.add_row(feature.name, effect, without, points, own)
    console.print(table)
    console.print(
        "Without it: the exact probability if the feature were 0 at every node (the mean, if it is standardised); "
        "Effect: the percentage points that "
        "this takes away. Points: a first-order estimate of it, which may be far off where the effect is large. Its "
        "own: the part of the points that is due to the feature of the node itself; the rest is due to other nodes."
    )


def _show_nodes_as_features(why: Explanation, console: _screen.Console) -> None:
    """Of a graph without features."""
    console.print("\nNodes within reach: without features, the identity of a node is its feature.", style="bold")
    table = Table("Node", *_screen.right("Effect", "Without it", "Points"))
    for feature in why.features:
        effect, points = map(_points, (feature.effect or 0, feature.points))
        table.add_row(feature.name, effect, percent(feature.without or 0, 1), points)
    console.print(table)
    console.print(
        "Without it: the exact probability if the model did not know this node, whose edges stay; Effect: the "
        "percentage points that this takes away. Points: a first-order estimate of it."
    )


def _points(points: float) -> str:
    return f"{100 * points:+.2f}" if abs(points) >= NEGLIGIBLE else "0.00"

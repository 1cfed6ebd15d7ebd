"""`ngcn explain`: why a node got its class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngcn.cli import _screen

if TYPE_CHECKING:
    from rich.console import Console

    from ngcn.explain import Explanation

NEGLIGIBLE = 0.00005  # rounds to 0.00 percentage points


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    node: Annotated[str, typer.Option(help="The id of the node, as in the graph's files.")],
    label: Annotated[
        str | None, typer.Option("--class", help="The class to explain.", show_default="the predicted one")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")] = False,
) -> None:
    """Explain a node: how each scale votes, and which neighbours and features stand behind it.

    The best seed of the run explains.

    Example: [bold]ngcn explain runs/cora-ngcn-attention-K6-r4 --node 1708[/bold]
    """
    with _screen.busy("Explaining"):
        from rich.console import Console

        from ngcn.explain import explain_node

        why = explain_node(run, node, label=label)
    if as_json:
        print(json.dumps(why.to_dict(), allow_nan=False))
        return
    _show(why, Console(highlight=False, markup=False))


def _show(why: Explanation, console: Console) -> None:
    truth = "" if why.truth is None else f" (true: {', '.join(why.truth) or 'none'})"
    console.print()
    console.print(f"Node {why.node}: {why.label}, {_percent(why.probability)}{truth}", style="bold")
    others = sorted(why.probabilities.items(), key=lambda item: -item[1])
    place = [name for name, _ in others].index(why.label)
    for which, those in (("Likelier", others[:place]), ("Next", others[place + 1 :])):
        if those:
            told = [f"{name} {_percent(p)}" for name, p in those[:3]]
            console.print(f"{which}: {', '.join(told)}.")
    _show_votes(why, console)
    _show_neighbours(why, console)
    _show_features(why, console)


def _show_votes(why: Explanation, console: Console) -> None:
    from rich.table import Table

    console.print("\nVotes: what the towers on each power of Â contribute.", style="bold")
    largest = max(abs(vote.contribution) for vote in why.votes) or 1.0
    table = Table()
    table.add_column("Power")
    if why.score_is == "probability":
        for column in ("Weight", "Says"):
            table.add_column(column, justify="right")
    table.add_column("Contributes", justify="right")
    table.add_column("")
    for vote in why.votes:
        bar = "█" * round(_screen.BAR / 2 * abs(vote.contribution) / largest)
        power = "all" if vote.power is None else f"Â^{vote.power}"
        if vote.weight is None or vote.opinion is None:
            table.add_row(power, f"{vote.contribution:+.2f}", bar)
        else:
            cells = f"{vote.weight:.3f}", _percent(vote.opinion), _percent(vote.contribution)
            table.add_row(power, *cells, bar)
    console.print(table)
    if why.score_is == "probability":
        console.print(
            f"Weight times what the power says of {why.label} is what it contributes; together that is the "
            f"probability, {_percent(why.score)}."
        )
    elif why.score_is == "lead":
        console.print(
            f"Together that is the lead of {why.label}: its logit is {why.score:+.2f} above the mean of all classes."
        )
    else:
        console.print(f"Together that is the log-odds of {why.label}, {why.score:+.2f}; above 0 says yes.")


def _show_neighbours(why: Explanation, console: Console) -> None:
    from rich.table import Table

    console.print("\nNeighbours: whose features speak for it, by distance.", style="bold")
    table = Table()
    for column in ("Distance", "Node", "Points", "Without it"):
        table.add_column(column, justify="left" if column == "Node" else "right")
    shown = 1 + max((place for place, ring in enumerate(why.rings) if _counts(ring.points)), default=0)
    for ring in why.rings[:shown]:
        nodes = "the node itself" if ring.distance == 0 else f"all {ring.nodes} together" if ring.nodes > 1 else ""
        if nodes and ring.distance:
            table.add_row(str(ring.distance), nodes, _points(ring.points), "")
        for neighbour in ring.strongest:
            if _counts(neighbour.points) or ring.distance == 0:
                name = nodes if ring.distance == 0 else f"  {neighbour.id}" if nodes else str(neighbour.id)
                first = str(ring.distance) if ring.distance == 0 or not nodes else ""
                table.add_row(first, name, _points(neighbour.points), _percent(neighbour.without or 0))
        table.add_section()
    console.print(table)
    if further := sum(ring.nodes for ring in why.rings[shown:]):
        console.print(f"{further:,} nodes further away add less than 0.005 points per distance.")
    console.print(
        f"Points: about how many percentage points the probability of {why.label} would lose if the features of this "
        "node were all 0 (gradient times input; negative: it would gain). Without it: the probability then, computed "
        "anew."
    )


def _show_features(why: Explanation, console: Console) -> None:
    from rich.table import Table

    console.print("\nFeatures: which of them speak for it, at the node and around it.", style="bold")
    table = Table()
    for column in ("Feature", "Points", "Its own", "Without it"):
        table.add_column(column, justify="left" if column == "Feature" else "right")
    for feature in why.features:
        table.add_row(feature.name, _points(feature.points), _points(feature.own), _percent(feature.without or 0))
    console.print(table)
    console.print(
        "Points and Without it: the same, for the feature being 0 at every node. Its own: the part of the points that "
        "comes from the node's own value; the rest comes from nodes around it."
    )


def _counts(points: float) -> bool:
    return abs(points) >= NEGLIGIBLE


def _points(points: float) -> str:
    return f"{100 * points:+.2f}" if _counts(points) else "0.00"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

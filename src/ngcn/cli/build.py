"""`ngcn build`: a graph on disk, from tables of any size."""

from __future__ import annotations

from typing import Annotated

import typer

from ngcn.cli import _screen
from ngcn.cli._engine import AddressOption, EngineOption, WorkersOption, engine_of

_EDGES = (
    "A table of edges, or a folder of its part files; without NODES, a folder with edges.* and nodes.*. All tables may "
    "be URLs, such as s3://bucket/edges."
)
_FEATURES = "A matrix with a row per node: .npy, or .npz for a sparse one."
_TABLE = "A table of sparse features: id, feature, value."


def build(
    edges: Annotated[str, typer.Argument(metavar="EDGES", help=_EDGES)],
    nodes: Annotated[str | None, typer.Argument(metavar="NODES", help="A table of nodes.")] = None,
    *,
    out: Annotated[str, typer.Option(help="The folder to write.")],
    features: Annotated[str | None, typer.Option(metavar="FILE", help=_FEATURES)] = None,
    feature_table: Annotated[str | None, typer.Option(metavar="FILE", help=_TABLE)] = None,
    id: Annotated[str | None, typer.Option(metavar="COL", help="The column of node ids.")] = None,
    source: Annotated[str | None, typer.Option(metavar="COL", help="The column of one end of an edge.")] = None,
    target: Annotated[str | None, typer.Option(metavar="COL", help="The column of the other end.")] = None,
    label: Annotated[str, typer.Option(metavar="COL", help="The column of labels.")] = "label",
    one_hot: Annotated[list[str] | None, typer.Option(metavar="COL", help="A column of text: one-hot.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="COL", help="A column to ignore.")] = None,
    multilabel: Annotated[bool, typer.Option("--multilabel", help="A label is a list, separated by |.")] = False,
    unknown_nodes: Annotated[
        str, typer.Option(metavar="error|drop", help="Edges to nodes that are not in NODES: an error, or left out.")
    ] = "error",
    half: Annotated[bool, typer.Option("--half", help="Store features in half precision, which halves them.")] = False,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="The private memory to use.")] = "4GB",
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
) -> None:
    """Build a graph on disk from tables of any size, in bounded memory.

    `ngcn train FOLDER` trains on the result. A build that was stopped continues when the command is repeated.

    Example: [bold]ngcn build edges.parquet nodes.parquet --out big/[/bold]
    """
    cluster = engine_of(engine, address, workers)
    with _screen.busy("Building the graph") as say:
        from ngcn.large import build as build_graph

        graph = build_graph(
            edges,
            nodes,
            out=out,
            features=features,
            feature_table=feature_table,
            id=id,
            source=source,
            target=target,
            label=label,
            one_hot=one_hot or (),
            ignore=ignore or (),
            multilabel=multilabel,
            unknown_nodes=unknown_nodes,
            half=half,
            memory=memory,
            engine=cluster,
            on_progress=_screen.amounts(say),
        )
    _screen.note(
        f"{graph.nodes:,} nodes, {graph.edges:,} edges, {graph.features.shape[1]:,} features and {graph.classes:,} "
        f"classes in {out}; `ngcn train {out}/` trains on them."
    )

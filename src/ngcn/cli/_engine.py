"""The options `--engine`, `--address` and `--workers`: where a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngcn.checks import choice
from ngcn.errors import ConfigError

if TYPE_CHECKING:
    from ngcn.engine import Executor, Ray
    from ngcn.graph import Graph
    from ngcn.runs import Run

_PANEL = {"rich_help_panel": "Cluster", "show_default": False}
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|ray",
        help="This machine, or a Ray cluster [dim](local)[/dim].",
        **_PANEL,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="The head node of the cluster; auto for the cluster that this machine belongs to "
        "[dim](Ray starts on this machine, for this command)[/dim].",
        **_PANEL,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes on the cluster [dim](one per core; for a graph on disk, one per machine)[/dim].",
        **_PANEL,
    ),
]


def engine_of(engine: str, address: str | None, workers: int | None, **local: object) -> Ray | None:
    """The cluster to run on, None for this machine. ``local`` are options that only this machine has."""
    choice(("local", "ray"))("engine", engine)
    if engine == "local":
        if address or workers:
            raise ConfigError("`address` and `workers` are those of a cluster; add `engine=ray`.")
        return None
    for name, value in local.items():
        if value is not None:
            raise ConfigError(f"`{name}` is for this machine; with `engine=ray`, use `workers`.")
    from ngcn.engine import Ray

    cluster = Ray(address, workers)
    cluster.check()
    return cluster


@contextmanager
def executor_of(engine: Ray | None, run: Run, graph: Graph, *folders: Path) -> Iterator[Executor | None]:
    """What computes the predictions of a graph on disk on a cluster, whose machines must see these folders; None for
    this machine."""
    from ngcn.graph import StoredGraph

    if engine is None:
        yield None
    elif isinstance(graph, StoredGraph) and run.model().is_large(graph):
        with engine.connected(graph.folder, *folders) as cluster:
            yield cluster
    else:
        raise ConfigError(
            f"{graph.name} is computed at once, on this machine; `engine=ray` is for large graphs on disk, see `ngcn "
            "build --help`."
        )

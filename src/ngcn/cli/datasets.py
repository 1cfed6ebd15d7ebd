"""`ngcn datasets`: list and download datasets."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ngcn.cli import _screen

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode="rich",
    help="List the datasets with their sizes and locations.\n\nExample: [bold]ngcn datasets fetch pubmed[/bold]",
)


@app.callback()
def datasets(context: typer.Context) -> None:
    if context.invoked_subcommand:
        return
    from ngcn.data.catalog import describe_datasets

    console = Console(highlight=False)
    table = Table("Name", *_screen.right("Nodes", "Edges", "Features", "Classes"), "Here?", title="Datasets")
    for info in describe_datasets():
        numbers = (info.nodes, info.edges, info.features, info.classes)
        table.add_row(info.name, *(f"{number:,}" for number in numbers), info.available)
    console.print(table)
    for info in describe_datasets():
        console.print(f"[bold]{info.name}[/bold]: {info.description}\n  {info.location}", soft_wrap=True)


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="The dataset.")]) -> None:
    """Download the files of a dataset, for use without a network connection.

    Example: [bold]ngcn datasets fetch pubmed[/bold]
    """
    from ngcn.data.catalog import fetch as fetch_files

    folder = fetch_files(name)
    _screen.note(f"{name} is in {folder}")

"""`ngcn datasets`: list and download datasets."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

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
    from ngcn.data.catalog import DATASETS, whereabouts

    console = _screen.Console()
    table = Table("Name", *_screen.right("Nodes", "Edges", "Features", "Classes"), "Here?", title="Datasets")
    for dataset in DATASETS.values():
        sizes = (f"{size:,}" for size in (dataset.nodes, dataset.edges, dataset.features, dataset.classes))
        table.add_row(dataset.name, *sizes, whereabouts(dataset)[0])
    console.print(table)
    for dataset in DATASETS.values():
        console.print(Text(dataset.name, "bold"), end=": ")
        console.print(f"{dataset.description}\n  {whereabouts(dataset)[1]}", soft_wrap=True)


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="The dataset.")]) -> None:
    """Download the files of a dataset, for use without a network connection.

    Example: [bold]ngcn datasets fetch pubmed[/bold]
    """
    from ngcn.data.catalog import fetch as fetch_files

    folder = fetch_files(name)
    _screen.note(f"{name} is in {folder}")

"""The command line, a file a verb. Nothing here imports torch until a verb runs, so that help is quick."""

from typing import Annotated

import typer

from ngcn.cli import datasets, evaluate, explain, export, predict, report, reproduce, train
from ngcn.cli._errors import Verbs

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(datasets.app, name="datasets")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"ngcn {version('ngcn')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Multi-scale graph convolution: label the nodes of a graph from the few labels there are.

    Start here: [bold]ngcn train cora[/bold]
    """

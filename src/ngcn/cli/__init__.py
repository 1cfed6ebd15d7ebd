"""The command line, one file per command. Torch is imported when a command runs, so that help is fast."""

from typing import Annotated

import typer

from ngcn import __version__
from ngcn.cli import build, datasets, evaluate, explain, export, inspect, predict, report, reproduce, train, tune
from ngcn.cli._errors import Verbs

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("inspect")(inspect.inspect)
app.command("train")(train.train)
app.command("build")(build.build)
app.command("tune")(tune.tune)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(datasets.app, name="datasets")


def _version(asked: bool) -> None:
    if asked:
        print(f"ngcn {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """N-GCN: semi-supervised node classification with multi-scale graph convolution.

    Start here: [bold]ngcn train cora[/bold]
    """

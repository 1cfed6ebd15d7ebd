"""`ngcn export`: write a model for use without ngcn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngcn.cli import _screen
from ngcn.cli._errors import check_run
from ngcn.errors import ModelError


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    format: Annotated[str, typer.Option(metavar="torch", help="torch: plain PyTorch.")] = "torch",
    out: Annotated[Path | None, typer.Option(help="The folder to write.", show_default="RUN/torch")] = None,
) -> None:
    """Write the best seed of a run as a file of plain PyTorch and its parameters, for use without ngcn.

    The folder contains model.py, which starts with instructions, and model.pt.

    Example: [bold]ngcn export runs/cora-mixed[/bold]
    """
    check_run(run)
    if format != "torch":
        raise ModelError(
            f"--format must be torch, not {format}. ONNX is not supported: it has no product with a sparse matrix, and "
            "a dense Â fits into memory for small graphs only."
        )
    with _screen.busy("Loading"):
        from ngcn.export import export_torch
        from ngcn.runs import Run

        opened = Run.open(run)
    folder = out or opened.folder / "torch"
    export_torch(opened.model(), folder)
    _screen.note(f"Seed {opened.best_seed} in {folder}: model.py and model.pt")

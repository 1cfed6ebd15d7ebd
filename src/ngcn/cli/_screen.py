"""What a person sees: progress on stderr while training, then a table, a bar per power, and where the run lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    import numpy as np

    from ngcn.training.config import Config
    from ngcn.training.run import Run

MODELS = {"ngcn": "N-GCN", "nsage": "N-SAGE", "gcn": "GCN", "sage": "SAGE", "dcnn": "DCNN"}
METRICS = {"accuracy": "Accuracy", "micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
BAR = 32  # characters of the longest bar


def note(text: str) -> None:
    """A line on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)


def busy(what: str) -> AbstractContextManager[Any]:
    """A spinner while something takes its time, where there is a terminal to show it."""
    console = Console(stderr=True)
    return console.status(f"{what} ...") if console.is_terminal else nullcontext()


@contextmanager
def progress(config: Config) -> Iterator[Callable[[np.ndarray], None]]:
    """A live bar over the steps of all seeds; yields what `train_seeds` calls with its board."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=BAR),
        MofNCompleteColumn(),
        TextColumn("{task.fields[news]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    several = config.seeds > 1
    with bar:
        task = bar.add_task(
            f"{config.seeds} seeds" if several else "Training", total=config.steps * config.seeds, news="getting ready"
        )

        def on_progress(board: np.ndarray) -> None:
            step, best_step, best_val = board.T
            if not best_step.any():
                return
            news = f"val {100 * best_val.max():.1f} %"
            if several:
                news += f" at best, {int((step >= config.steps).sum())} done"
            else:
                news += f" at step {int(best_step[0])}"
            bar.update(task, completed=int(step.sum()), news=news)

        yield on_progress


def show(run: Run) -> None:
    """The scores, the scale weights and the run folder, on stdout."""
    from rich.table import Table

    summary, config = run.summary(), run.config
    results = [run.scores(seed) for seed in run.seeds]
    best = run.scores(run.best_seed)
    console = Console(highlight=False)
    console.print()
    powers = f"K={len(config.powers)}" if run.config.name.count("-K") else f"powers {config.powers}"
    table = Table(
        title=f"{MODELS[config.model]} on {config.dataset}: {config.classifier}, {powers}, r={config.replicas}"
    )
    for column in ("", "Validation", "Test"):
        table.add_column(column, justify="right" if column else "left")
    for name in results[0]["val_scores"]:
        title = METRICS[name] if len(results) == 1 else f"{METRICS[name]}, mean of {len(results)} seeds"
        cells = [[r[split].get(name) for r in results] for split in ("val_scores", "test_scores")]
        table.add_row(title, *(_percent(values) for values in cells))
    if len(results) > 1:
        table.add_row(f"Best validation: seed {run.best_seed}", _percent([best["val"]]), _percent([best["test"]]))
    console.print(table)
    if summary["scale_weights"]:
        console.print("Scale weights: how much each power of Â counts")
        for power, weight in zip(config.powers, summary["scale_weights"], strict=True):
            bar = "█" * round(BAR * weight / max(summary["scale_weights"]))
            console.print(f"  Â^{power}  [cyan]{bar:<{BAR}}[/cyan]  {weight:.3f}")
    for result in results:
        if len(results) == 1 or result["status"] == "diverged":
            colour = "yellow" if result["status"] == "diverged" else "default"
            console.print(f"{result['stopped']} Best step: {result['best_step']}.", style=colour)
    console.print(f"{sum(r['seconds'] for r in results):.1f} s of training. Run folder: [bold]{run.folder}[/bold]")


def _percent(values: list[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    if not known:
        return "-"
    return f"{mean(known):.1f} %" + (f" ± {stdev(known):.1f}" if len(known) > 1 else "")

"""What a person sees: progress on stderr while training, then a table, a bar per power, and where the run lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ngcn.names import METRICS, MODELS

if TYPE_CHECKING:
    import numpy as np

    from ngcn.experiments.section import Section
    from ngcn.training.config import Config
    from ngcn.training.run import Run

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
            f"{config.seeds} seeds" if several else "Training",
            total=config.progress_steps * config.seeds,
            news="getting ready, compiling on first use",
        )

        def on_progress(board: np.ndarray) -> None:
            step, best_step, best_val = board.T
            if not best_step.any():
                return
            news = f"best val {100 * best_val.max():.1f} %"
            done = int((step >= config.progress_steps).sum())
            news += f", {done} done" if several else f" at step {int(best_step[0])}"
            bar.update(task, completed=int(step.sum()), news=news)

        yield on_progress


def show(run: Run) -> None:
    """The scores, the scale weights and the run folder, on stdout."""
    from rich.table import Table

    config, results = run.config, [run.scores(seed) for seed in run.seeds]
    console = Console(highlight=False, markup=False)
    console.print()
    console.print(_title(config), style="bold")
    table = Table()
    for column in ("", "Validation", "Test"):
        table.add_column(column, justify="right" if column else "left")
    for name in results[0]["val_scores"]:
        title = METRICS[name] if len(results) == 1 else f"{METRICS[name]}, mean of {len(results)} seeds"
        cells = [[r[split].get(name) for r in results] for split in ("val_scores", "test_scores")]
        table.add_row(title, *(_percent(values) for values in cells))
    if len(results) > 1:
        best = run.scores(run.best_seed)
        table.add_row(f"Best validation: seed {run.best_seed}", _percent([best["val"]]), _percent([best["test"]]))
    console.print(table)

    weights = run.summary()["scale_weights"]
    if weights and len(weights) > 1:
        mean_of = f", mean of {len(results)} seeds" if len(results) > 1 else ""
        console.print(f"Scale weights: how much each power of Â counts{mean_of}")
        for power, weight in zip(config.powers, weights, strict=True):
            bar = "█" * round(BAR * weight / max(weights))
            console.print(f"  Â^{power}  ", Text(f"{bar:<{BAR}}", "cyan"), f"  {weight:.3f}", sep="")
    if len(results) == 1 and not config.is_baseline:
        console.print(f"{results[0]['stopped']} Best step: {results[0]['best_step']}.", soft_wrap=True)
    summed = f", summed over {len(results)} seeds" if len(results) > 1 else ""
    console.print(f"{sum(r['seconds'] for r in results):.1f} s of training{summed}.")
    console.print("Run folder:", Text(str(run.folder), "bold"), soft_wrap=True)


def section(found: Section) -> None:
    """The tables of an experiment, on stdout."""
    from ngcn.experiments.section import Table

    console = Console(highlight=False, markup=False)
    console.print()
    console.print(f"{found.title} ({found.done} of {found.cells} trainings)", style="bold")
    for part in found.parts:
        if isinstance(part, Table):
            console.print(part.shown())


def _title(config: Config) -> str:
    if config.is_baseline:
        from ngcn.baselines import BASELINES

        own = ", ".join(f"{name}={value}" for name, value in config.settings.items())
        return f"{BASELINES[config.model].title} on {config.graph_name}" + (f": {own}" if own else "")
    title = f"{MODELS[config.model]} on {config.graph_name}"
    if config.towers == 1:
        return title
    regular = config.powers == tuple(range(len(config.powers)))
    powers = f"K={len(config.powers)}" if regular else f"powers {', '.join(map(str, config.powers))}"
    return f"{title}: {config.classifier}, {powers}, r={config.replicas}"


def _percent(values: list[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    if not known:
        return "-"
    return f"{mean(known):.1f} %" + (f" ± {stdev(known):.1f}" if len(known) > 1 else "")

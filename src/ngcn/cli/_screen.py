"""What a person sees: progress on stderr while training, then a table, a bar per power, and where the run lies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from statistics import mean, stdev
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ngcn.names import METRICS, MODELS

if TYPE_CHECKING:
    import numpy as np

    from ngcn.experiments.claims import Verdict
    from ngcn.experiments.section import Section
    from ngcn.training.config import Config
    from ngcn.training.run import Run

BAR = 32  # characters of the longest bar
LINE_SECONDS = 30.0  # between two lines of progress where there is no terminal


def note(text: str) -> None:
    """A line on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)


def _seldom() -> Callable[[str], None]:
    """A line on stderr where there is no terminal, if some time has passed since the last one."""
    said, console = time.monotonic(), Console(stderr=True)

    def say(text: str) -> None:
        nonlocal said
        if not console.is_terminal and time.monotonic() - said > LINE_SECONDS:
            said = time.monotonic()
            note(text)

    return say


@contextmanager
def busy(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner while something takes its time, now and then a line where there is no terminal; yields what to call
    with the news."""
    console, say = Console(stderr=True), _seldom()
    with console.status(f"{what} ...") if console.is_terminal else nullcontext() as status:
        yield lambda news: status.update(f"{news} ...") if status else say(news)


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A live bar, now and then a line where there is no terminal; yields what to call with the amount done and news."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console, say = Console(stderr=True), _seldom()
    live = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=BAR),
        MofNCompleteColumn(),
        TextColumn("{task.fields[news]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with live:
        task = live.add_task(what, total=total, news="getting ready, compiling on first use")

        def update(done: int, news: str) -> None:
            live.update(task, completed=done, news=news)
            say(f"{what}: {done} of {total}, {news}")

        yield update


@contextmanager
def progress(config: Config) -> Iterator[Callable[[np.ndarray], None]]:
    """A bar over the steps of all seeds; yields what `train_seeds` calls with its board."""
    several = config.seeds > 1
    with bar(f"{config.seeds} seeds" if several else "Training", config.progress_steps * config.seeds) as update:

        def on_progress(board: np.ndarray) -> None:
            step, best_step, best_val = board.T
            if not best_step.any():
                return
            news = f"best val {100 * best_val.max():.1f} %"
            done = int((step >= config.progress_steps).sum())
            update(int(step.sum()), news + (f", {done} done" if several else f" at step {int(best_step[0])}"))

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
            console.print()
            console.print(part.shown())


def claims(judged: Sequence[Verdict]) -> None:
    """What the paper claims and whether it held, as far as is known, on stdout."""
    known = [verdict for verdict in judged if verdict.held is not None]
    if known:
        console = Console(highlight=False, markup=False)
        console.print()
        console.print("Claims of the paper", style="bold")
        for verdict in known:
            console.print(f"{verdict.word}: {verdict.claim}", soft_wrap=True)
        console.print()


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

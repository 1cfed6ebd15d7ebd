"""Output for people: progress on stderr, results on stdout."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console as RichConsole
from rich.table import Column, Table
from rich.text import Text

from ngcn.registry import title_of
from ngcn.text import METRICS, plain, plus_minus

if TYPE_CHECKING:
    import numpy as np

    from ngcn.config import Config
    from ngcn.runs import Run

BAR = 32  # characters of the longest bar
REFERENCES = {  # columns beside the scores
    "majority": "Majority class",
    "regression": "Features alone",
    "propagation": "Edges alone",
}
LINE_SECONDS = 30.0  # between two lines of progress without a terminal


class Console(RichConsole):
    """Text is shown as it is: names from a user's files are neither markup nor control sequences."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **how})

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(plain(text), **how)


def note(text: str) -> None:
    """A line on stderr."""
    Console(stderr=True, soft_wrap=True).print(text)


def right(*columns: str) -> list[Column]:
    """Columns of a table that are aligned to the right."""
    return [Column(name, justify="right") for name in columns]


def _seldom() -> Callable[[str], None]:
    """A function that prints a line on stderr, but only without a terminal, and once in a while."""
    last, console = time.monotonic(), Console(stderr=True)

    def say(text: str) -> None:
        nonlocal last
        if not console.is_terminal and time.monotonic() - last > LINE_SECONDS:
            last = time.monotonic()
            note(text)

    return say


@contextmanager
def busy(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner, or a line once in a while without a terminal. Yields a function that updates the text."""
    console, say = Console(stderr=True), _seldom()
    with console.status(Text(f"{plain(what)} ...")) if console.is_terminal else nullcontext() as status:
        yield lambda news: status.update(Text(f"{plain(news)} ...")) if status else say(news)


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A progress bar, or a line once in a while without a terminal. Yields a function of the progress and a text."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console, say = Console(stderr=True), _seldom()
    live = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=BAR),
        MofNCompleteColumn(),
        TextColumn("{task.fields[news]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("[dim]left:"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with live:
        task = live.add_task(what, total=total, news="starting; the first run compiles kernels")

        def update(done: int, news: str) -> None:
            live.update(task, completed=done, news=news)
            say(f"{what}: {done} of {total}, {news}")

        yield update


def amounts(say: Callable[[str], None], what: str = "rows") -> Callable[[str, int, int], None]:
    """A function of a stage, the rows that are done, and all rows, that says the amount, the rate and the time left."""
    begun: dict[str, tuple[float, int]] = {}

    def update(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        start, before = begun.setdefault(stage, (now, done))
        news = f"{stage}: {done:,} of {total:,} {what}"
        if done > before and now > start:
            rate = (done - before) / (now - start)
            news += f", {rate:,.0f} per second, {(total - done) / rate:,.0f} s left"
        say(news)

    return update


@contextmanager
def progress(config: Config) -> Iterator[Callable[[np.ndarray], None]]:
    """A bar over the steps of all seeds. Yields the function that `train_seeds` calls with its board."""
    several = config.seeds > 1
    with bar(f"{config.seeds} seeds" if several else "Training", config.progress_steps * config.seeds) as update:

        def on_progress(board: np.ndarray) -> None:
            step, best_step, best_val = board.T
            if not best_step.any():
                return
            news = f"best val {_score(config.metric or 'accuracy', [best_val.max()])}"
            finished = int((step >= config.progress_steps).sum())
            update(int(step.sum()), news + (f", {finished} finished" if several else f" at step {int(best_step[0])}"))

        yield on_progress


def show(run: Run) -> None:
    """Print the scores, the towers and the run folder."""
    results = [run.scores(seed) for seed in run.seeds]
    console = Console()
    console.print(f"\n{_title(run.config)}", style="bold")
    console.print(_scores(run, results))
    several = f"{len(results)} seeds" if len(results) > 1 else ""
    summary = run.summary()
    if summary["towers"]:
        console.print(_towers(summary, several))
    if several or run.config.is_baseline:
        divergence(run)
    else:
        console.print(f"{results[0]['stopped']} Best step: {results[0]['best_step']}.", soft_wrap=True)
    seconds = sum(result["seconds"] for result in results)
    console.print(f"{seconds:.1f} s of training{several and f', summed over {several}'}.")
    console.print("Run folder:", Text(plain(str(run.folder)), "bold"), soft_wrap=True)


def divergence(run: Run) -> None:
    """Report diverged seeds on stderr."""
    for result in map(run.scores, run.seeds):
        if result["status"] == "diverged":
            note(result["stopped"])


def _scores(run: Run, results: Sequence[dict[str, Any]]) -> Table:
    references = run.references
    table = Table("", *right("Validation", "Test", *(REFERENCES[name] for name in references)))
    split = "test" if results[0]["test_scores"] else "val"
    for name in results[0]["val_scores"]:
        title = METRICS[name] if len(results) == 1 else f"{METRICS[name]}, mean of {len(results)} seeds"
        val, test = ([result[f"{split}_scores"].get(name) for result in results] for split in ("val", "test"))
        others = (_score(name, [of[split].get(name)]) for of in references.values())
        table.add_row(title, _score(name, val), _score(name, test), *others)
    if len(results) > 1:
        best = run.scores(run.best_seed)
        values = (_score(best["metric"], [best[split]]) for split in ("val", "test"))
        table.add_row(f"Best validation: seed {run.best_seed}", *values, *("" for _ in references))
    return table


def _towers(summary: dict[str, Any], several: str) -> Table:
    """How good the towers are by themselves, and how much they count."""
    rows, metric = summary["towers"], METRICS[summary["metric"]]
    largest = max(row["weight"] for row in rows)
    table = Table("Towers", *right(f"{metric}, validation", "Weight"), "", title=several and f"Mean of {several}")
    for row in rows:
        bar = Text("█" * round(BAR * row["weight"] / largest), "cyan")
        table.add_row(row["towers"], _score(summary["metric"], [row["val"]]), f"{row['weight']:.3f}", bar)
    return table


def _title(config: Config) -> str:
    title = f"{title_of(config.model, config.recipe)} on {config.graph_name}"
    if config.is_baseline:
        own = ", ".join(f"{name}={value}" for name, value in config.settings.items())
        return f"{title}: {own}" if own else title
    if config.towers == 1 or config.classifier is None:
        return title
    if config.mix:
        return f"{title}: {config.towers} towers"
    return f"{title}: {config.classifier}, {config.powers_text()}, r={config.replicas}"


def _score(metric: str, values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return plus_minus(known, 3) if metric == "loss" else plus_minus([100 * value for value in known], unit=" %")

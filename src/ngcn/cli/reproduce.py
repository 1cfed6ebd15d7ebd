"""`ngcn reproduce`: the paper's tables and figures, trained from scratch and set beside the published numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ngcn.cli import _screen
from ngcn.errors import ConfigError
from ngcn.text import count

if TYPE_CHECKING:
    from ngcn.experiments import Cell

WHAT = ("table2", "table3", "table4", "sensitivity", "noise", "attention", "tsne")
TRUST_SECONDS = 120.0  # of work done, before the pace of it outweighs the estimate


def reproduce(
    what: Annotated[list[str], typer.Argument(metavar="WHAT", help=f"One or more of {', '.join(WHAT)}, or all.")],
    datasets: Annotated[
        str | None,
        typer.Option(help="Which datasets, with commas [dim](citeseer,cora,pubmed)[/dim].", show_default=False),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds of each configuration [dim](the paper's number)[/dim].", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A taste: few seeds, few configurations.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Trainings at a time [dim](one per core)[/dim].", show_default=False)
    ] = None,
    results: Annotated[
        Path,
        typer.Option(
            file_okay=False, help="The folder that keeps the outcomes; the page is written to the same name with .md."
        ),
    ] = Path("results"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to train and how long it takes.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Train nothing; draw what is there.")] = False,
) -> None:
    """Train what tables and figures of the paper need, and set it beside the published numbers.

    What is done is kept: a command that was stopped, or is given again, goes on where it was.

    Example: [bold]ngcn reproduce table2 --quick[/bold]
    """
    names = _names(what)
    if results.name in ("", ".."):
        results = results.resolve()
    page = results.parent / f"{results.name or 'results'}.md"
    with _screen.busy("Loading torch"):
        from ngcn.data.catalog import fetch
        from ngcn.experiments import EXPERIMENTS, Plan, Store, cells_of, run, section_of
        from ngcn.experiments.claims import verdicts
        from ngcn.experiments.cost import duration, seconds
        from ngcn.experiments.grid import DATASETS
        from ngcn.experiments.results_page import write_page
        from ngcn.runs.signals import at_once

    plan = Plan(_datasets(datasets), seeds, quick)
    store = Store(results)
    store.refresh()
    cells = cells_of(names, plan)
    if not cells:
        asked, given = ", ".join(names), ", ".join(plan.datasets)
        raise ConfigError(f"There is nothing to train on {given} for {asked}; leave out --datasets.")
    todo = _feasible([cell for cell in cells if cell not in store])
    there = len(os.sched_getaffinity(0))
    jobs = jobs or there
    cores = min(jobs, there)
    seen = cells_of(list(EXPERIMENTS), Plan(DATASETS))  # all, so that an estimate is the same whatever is asked for
    time_left = f"{duration(seconds(todo, store, seen) / cores)} on {count(cores, 'core')} (estimated)"
    if dry_run:
        to_do = {cell.key for cell in todo}
        for name in names:
            own = EXPERIMENTS[name].cells(plan)
            missing = [cell for cell in own if cell.key in to_do]
            left = duration(seconds(missing, store, seen) / cores)
            print(f"{name}: {count(len(own), 'training')}, {len(missing)} of them to do: {left}")
        print(f"Together, each once: {count(len(cells), 'training')}, {len(todo)} to do: {time_left}.")
        return

    failed: dict[str, str] = {}
    if draw and not len(store):
        raise ConfigError(f"There are no outcomes in {results} to draw; leave out --draw to train what they come from.")
    if not draw and todo:
        _check_places(results, page)
        for dataset in {cell.setup.config.dataset for cell in todo}:
            fetch(dataset)  # here, once, and not in every process
        _screen.note(f"{len(todo)} of {count(len(cells), 'training')} to do, {time_left}.")
        with at_once("the same command goes on from here"), _progress(todo, cores) as on_done:
            failed = run(todo, store, jobs, on_done)
    store.write_summary()
    write_page(page, store, Plan(_datasets(None)))  # the whole of it, whatever was asked for this time
    for name in names:
        _screen.section(section_of(name, store, plan))
    _screen.claims([verdict for verdict in verdicts(store, plan) if verdict.experiment in names])
    for name, why in failed.items():
        _screen.note(f"{name} failed: {why}")
    print(f"Results: {page}")
    if failed:
        raise typer.Exit(1)


def _names(what: list[str]) -> list[str]:
    """In the order of the paper, each once."""
    for name in what:
        if name not in (*WHAT, "all"):
            raise ConfigError(f"There is no experiment {name!r}; choose from {', '.join(WHAT)}, or all.")
    return [name for name in WHAT if name in what or "all" in what]


def _datasets(text: str | None) -> tuple[str, ...]:
    """Those asked for; else all that can be had."""
    from ngcn.data.catalog import DATASETS as CATALOG
    from ngcn.data.catalog import fetch, whereabouts
    from ngcn.experiments.grid import CITATION, DATASETS

    if text is None:
        if whereabouts(CATALOG["ppi"])[0] == "files needed":
            return CITATION
        return DATASETS
    asked = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not asked:
        raise ConfigError(f"--datasets names none; choose from {', '.join(DATASETS)}, or leave it out for all.")
    for name in asked:
        if name not in DATASETS:
            raise ConfigError(f"There is no dataset {name!r} in the paper; choose from {', '.join(DATASETS)}.")
        if name == "ppi":
            fetch(name)  # says what to do if it is not there
    return tuple(name for name in DATASETS if name in asked)


def _feasible(todo: list[Cell]) -> list[Cell]:
    """Without DeepWalk where it cannot be had: better to hear that before the hours than after them."""
    able = [cell for cell in todo if cell.setup.config.model != "deepwalk"]
    if len(able) == len(todo) or find_spec("gensim"):
        return todo
    _screen.note("DeepWalk is left out: it needs gensim, which is not installed (pip install gensim).")
    return able


def _check_places(results: Path, page: Path) -> None:
    """Before what takes hours: whether there is a place for what comes out of it."""
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{results} cannot be made a folder ({error.strerror}); choose another --results.") from None
    if page.is_dir():
        raise ConfigError(f"{page}, where the page belongs, is a folder; choose another --results.")
    for folder in (results, page.parent):
        if not os.access(folder, os.W_OK):
            raise ConfigError(f"Nothing can be written to the folder {folder}; choose another --results.")


@contextmanager
def _progress(todo: list[Cell], jobs: int) -> Iterator[Callable[[Cell, dict[str, Any]], None]]:
    """Cells done, the best so far and the time left."""
    from ngcn.experiments.cost import duration, rough_seconds
    from ngcn.registry import title_of

    work = {cell.key: rough_seconds(cell) for cell in todo}
    total, started = sum(work.values()), time.monotonic()
    done, best = 0, (0.0, "")
    with _screen.bar("Training", len(todo)) as update:

        def on_done(cell: Cell, outcome: dict[str, Any]) -> None:
            nonlocal done, best
            done += 1
            work.pop(cell.key, None)
            left = sum(work.values())
            label = f"{title_of(cell.setup.config.model, cell.setup.config.recipe)} on {cell.setup.config.graph_name}"
            best = max(best, (outcome["val"], label))
            # As estimated at first; the more is done, the more by how long that took
            pace = (jobs * (time.monotonic() - started) + TRUST_SECONDS) / (total - left + TRUST_SECONDS)
            update(done, f"best val {100 * best[0]:.1f} % ({best[1]}), {duration(left * pace / jobs)} left")

        yield on_done

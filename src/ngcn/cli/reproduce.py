"""`ngcn reproduce`: train the experiments of the paper and compare the results with the published numbers."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ngcn.cli import _screen
from ngcn.cli._engine import AddressOption, EngineOption, WorkersOption, engine_of
from ngcn.data.catalog import DATASETS as CATALOG
from ngcn.data.catalog import fetch, whereabouts
from ngcn.errors import ConfigError
from ngcn.registry import title_of
from ngcn.text import count

if TYPE_CHECKING:
    from ngcn.engine import Ray
    from ngcn.experiments import Cell, Plan, Store

WHAT = ("table2", "table3", "table4", "sensitivity", "noise", "attention", "tsne", "recipes")
TRUST_SECONDS = 120.0  # after this much work, the measured speed counts more than the estimate


def reproduce(
    what: Annotated[list[str], typer.Argument(metavar="WHAT", help=f"One or more of {', '.join(WHAT)}, or all.")],
    datasets: Annotated[
        str | None, typer.Option(help="Datasets, separated by commas [dim](citeseer,cora,pubmed)[/dim].")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Seeds per configuration [dim](the paper's number)[/dim].")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Train few seeds and few configurations.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel trainings [dim](one per core)[/dim].")] = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    results: Annotated[
        Path, typer.Option(file_okay=False, help="The folder of the results. The page is written next to it, as .md.")
    ] = Path("results"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the number of trainings and the estimated time.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Only draw the stored results; train nothing.")] = False,
) -> None:
    """Train the experiments behind tables and figures of the paper, and compare with the published numbers.

    Finished trainings are stored. Run the same command again to continue after an interruption.

    Example: [bold]ngcn reproduce table2 --quick[/bold]
    """
    names, (results, page) = _names(what), _paths(results)
    cluster = engine_of(engine, address, workers, jobs=jobs)
    with _screen.busy("Loading torch"):
        from ngcn.experiments import EXPERIMENTS, Plan, Store, cells_of
        from ngcn.experiments.cell import DATASETS
        from ngcn.experiments.cost import Estimate
        from ngcn.experiments.results_page import write_page

    plan, store = Plan(_datasets(datasets), seeds, quick), Store(results)
    store.refresh()
    cells = cells_of(names, plan)
    if not cells:
        raise ConfigError(f"No training of {', '.join(names)} uses {', '.join(plan.datasets)}; leave out --datasets.")
    missing = _trainable([cell for cell in cells if cell not in store])
    cores = (cluster and cluster.workers) or len(os.sched_getaffinity(0))
    jobs = min(jobs or cores, cores)
    # From all finished cells, so that the estimate does not depend on WHAT
    estimate = Estimate(store, cells_of(list(EXPERIMENTS), Plan(DATASETS)), jobs)
    total = f"{count(len(cells), 'training')}, {len(missing)} missing: {estimate(missing)} (estimated)"
    if dry_run:
        keys = {cell.key for cell in missing}
        for name in names:
            of_name = EXPERIMENTS[name].cells(plan)
            own = [cell for cell in of_name if cell.key in keys]
            print(f"{name}: {count(len(of_name), 'training')}, {len(own)} missing: {estimate(own)}")
        print(f"Total, without duplicates: {total}.")
        return
    failed: dict[str, str] = {}
    if draw:
        if not len(store):
            raise ConfigError(f"{results} has no results to draw; leave out --draw to train.")
    elif missing:
        _check_writable(results, page)
        _screen.note(f"{total}.")
        failed = _train(missing, store, jobs, cluster)
    store.write_summary()
    write_page(page, store, Plan(_datasets(None)))  # the whole page, whatever WHAT is
    _show_results(names, store, plan)
    for name, why in failed.items():
        _screen.note(f"{name} failed: {why}")
    print(f"Results: {page}")
    raise typer.Exit(1 if failed else 0)


def _names(what: list[str]) -> list[str]:
    """In the order of the paper, each once."""
    for name in what:
        if name not in (*WHAT, "all"):
            raise ConfigError(f"There is no experiment {name!r}; choose from {', '.join(WHAT)}, or all.")
    return [name for name in WHAT if name in what or "all" in what]


def _paths(results: Path) -> tuple[Path, Path]:
    """The folder, and the page next to it."""
    results = results.resolve() if results.name in ("", "..") else results
    return results, results.parent / f"{results.name or 'results'}.md"


def _datasets(text: str | None) -> tuple[str, ...]:
    """The datasets in a comma-separated list; without one, all that are available."""
    from ngcn.experiments.cell import CITATION, DATASETS, REBUILT

    if text is None:
        return CITATION if whereabouts(CATALOG["ppi"])[0] == "download" else DATASETS
    asked = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not asked:
        raise ConfigError(f"--datasets is empty; choose from {', '.join(DATASETS)}, or leave it out for all.")
    for name in asked:
        if name not in (*DATASETS, REBUILT):
            raise ConfigError(f"There is no dataset {name!r} in the paper; choose from {', '.join(DATASETS)}.")
    for name in ("ppi", REBUILT):
        if name in asked:
            fetch(name)  # raises an error if its files are missing
    return tuple(name for name in (*DATASETS, REBUILT) if name in asked)


def _trainable(missing: list[Cell]) -> list[Cell]:
    """Without DeepWalk if gensim is not installed; warns before training starts."""
    able = [cell for cell in missing if cell.setup.config.model != "deepwalk"]
    if len(able) == len(missing) or find_spec("gensim"):
        return missing
    _screen.note("DeepWalk is skipped: it needs gensim, which is not installed (pip install gensim).")
    return able


def _show_results(names: list[str], store: Store, plan: Plan) -> None:
    """Print the tables of the experiments, and the claims of the paper that can be judged already."""
    from ngcn.experiments import section_of
    from ngcn.experiments.claims import verdicts
    from ngcn.experiments.section import Table

    console = _screen.Console()
    for name in names:
        section = section_of(name, store, plan)
        console.print(f"\n{section.title} ({section.done} of {section.cells} trainings)", style="bold")
        for part in section.parts:
            if isinstance(part, Table):
                console.print()
                console.print(part.shown())
    judged = [claim for claim in verdicts(store, plan) if claim.experiment in names and claim.held is not None]
    if judged:
        console.print("\nClaims of the paper", style="bold")
        for verdict in judged:
            console.print(f"{verdict.word}: {verdict.claim}", soft_wrap=True)
        console.print()


def _train(missing: list[Cell], store: Store, jobs: int, engine: Ray | None) -> dict[str, str]:
    """Train the missing cells; returns the error messages of those that failed.

    A bar shows the finished cells, the best validation score and the time left.
    """
    from ngcn.experiments import run
    from ngcn.experiments.cost import duration, rough_seconds
    from ngcn.runs.signals import Interrupted, handled_by

    work = {cell.key: rough_seconds(cell) for cell in missing}
    total, started = sum(work.values()), time.monotonic()
    finished, best, stopped = 0, (0.0, ""), list[Interrupted]()

    def stop(signum: int, frame: Any) -> NoReturn:
        stopped.append(Interrupted(signum, "run the same command again to continue"))
        raise stopped[0]

    def on_done(cell: Cell, outcome: dict[str, Any]) -> None:
        nonlocal finished, best
        finished += 1
        work.pop(cell.key, None)
        left, config = sum(work.values()), cell.setup.config
        best = max(best, (outcome["val"], f"{title_of(config.model, config.recipe)} on {config.graph_name}"))
        # The ratio of measured to estimated time; near 1 at first
        pace = (jobs * (time.monotonic() - started) + TRUST_SECONDS) / (total - left + TRUST_SECONDS)
        update(finished, f"best val {100 * best[0]:.1f} % ({best[1]}), {duration(left * pace / jobs)} left")

    for dataset in {cell.setup.config.dataset for cell in missing}:
        fetch(dataset)  # once, before the processes start
    with handled_by(stop), _screen.bar("Training", len(missing)) as update:
        try:
            return run(missing, store, jobs, on_done, engine)
        except KeyboardInterrupt:  # Ray puts one of its own in the place of what the handler raises
            raise stopped[0] from None


def _check_writable(results: Path, page: Path) -> None:
    """Check that the results can be written, before hours of training."""
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot create the folder {results} ({error.strerror}); choose another --results.") from None
    if page.is_dir():
        raise ConfigError(f"The page would be written to {page}, which is a folder; choose another --results.")
    for folder in (results, page.parent):
        if not os.access(folder, os.W_OK):
            raise ConfigError(f"The folder {folder} is not writable; choose another --results.")

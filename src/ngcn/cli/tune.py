"""`ngcn tune`: search for settings that are better than the default."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.box import SIMPLE_HEAD
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from ngcn.cli import _screen
from ngcn.cli.train import _GRAPH, _given, _option, _parameter
from ngcn.config import Config
from ngcn.data.catalog import check_exists
from ngcn.errors import ConfigError
from ngcn.text import METRICS, count, score_text

if TYPE_CHECKING:
    from ngcn.tuning.trials import Trial, Tuned

SHOWN = 5  # trials in the table, the best ones
SETTINGS = {"hidden": "Hidden", "dropout": "Dropout", "l2": "L2", "lr": "lr"}  # columns; others are told in words


def tune(
    *,
    nodes: Annotated[str | None, _option("--nodes", "A table of nodes, in place of GRAPH.", panel="Data")] = None,
    out: Annotated[
        Path | None, _option("--out", "The folder of the search. One that exists is continued.", "tuned/GRAPH")
    ] = None,
    trials: Annotated[int | None, _option("--trials", "Stop when the search has this many trials.", min=1)] = None,
    minutes: Annotated[
        float | None, _option("--minutes", "Stop after so many minutes.", "10, without --trials")
    ] = None,
    threads: Annotated[int | None, _option("--threads", "Cores to use.", "all", min=1)] = None,
    as_json: Annotated[bool, _option("--json", "Print one JSON object on stdout and nothing else.")] = False,
    **options: Any,
) -> None:
    """Search for better settings than the default, and write them to a config file for [bold]ngcn train[/bold].

    A trial trains with other settings: recipe, model, towers, hidden units, dropout, L2 penalty, learning rate.
    A setting that is given here is not searched. Each half of the validation nodes is scored with what the other half
    chooses; test nodes are not used.

    A search that was stopped or killed continues with the same command. Several processes may share a folder.

    Example: [bold]ngcn tune cora --minutes 10[/bold]
    """
    given = _given(nodes, options)
    if "dataset" not in given:
        raise ConfigError("Name a dataset, such as `ngcn tune cora`, or a folder of your own.")
    settings = Config(**given)
    check_exists(settings.dataset)
    if not find_spec("optuna"):  # as the search says, before anything that takes time
        raise ConfigError("tune needs Optuna: pip install 'ngcn[tune]'")
    folder = out or Path("tuned") / settings.graph_name
    with _screen.busy("Loading torch"):
        from ngcn.runs import load_graph
        from ngcn.tuning import tune as search

    with _screen.busy(f"Loading {settings.graph_name}"):
        graph = load_graph(settings)
    how: dict[str, Any] = {"folder": folder, "trials": trials, "minutes": minutes, "threads": threads}
    with _progress(minutes, trials) as on_trial:
        found = search(graph, given, **how, on_trial=on_trial)
    if as_json:
        print(json.dumps(_summary(found, folder), allow_nan=False))
        return
    console = _screen.Console()
    console.print(_table(found, None))
    console.print(str(found), soft_wrap=True)
    if found.is_better:
        command = f"ngcn train --config {shlex.quote(str(folder / 'config.yaml'))}"
        console.print("Train with them:", Text(command, "bold"), soft_wrap=True)
    else:
        text = f"The default may stay; the settings of the best trial are in {folder / 'config.yaml'}."
        console.print(text, soft_wrap=True)


_OF_SEARCH = [p for p in signature(tune, eval_str=True).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


def _signature() -> Signature:
    """The parameters of `ngcn tune`: a graph, the settings of `Config` but seeds, and the options of the search."""
    kinds = get_type_hints(Config)
    order = ("Data", "Model", "Training")
    settings = sorted(fields(Config), key=lambda setting: order.index(setting.metadata["panel"]))
    graph = Annotated[str | None, typer.Argument(metavar="GRAPH", help=_GRAPH)]
    return Signature(
        [
            Parameter("dataset", Parameter.KEYWORD_ONLY, default=None, annotation=graph),
            *_OF_SEARCH,
            *(_parameter(s, kinds[s.name]) for s in settings if s.name not in ("dataset", "seeds", "settings")),
        ]
    )


tune.__signature__ = _signature()  # type: ignore[attr-defined]


@contextmanager
def _progress(minutes: float | None, trials: int | None) -> Iterator[Callable[[Tuned], None]]:
    """A live table, or a line for each trial without a terminal."""
    from ngcn.tuning.study import MINUTES

    begun, console = time.monotonic(), _screen.Console(stderr=True)
    if minutes is None and trials is None:
        minutes = MINUTES
    latest: list[Tuned] = []

    def show() -> Table | Text:
        left = None if minutes is None else max(0.0, 60 * minutes - (time.monotonic() - begun))
        return _table(latest[-1], left, trials) if latest else Text("Starting ...")

    def on_trial(found: Tuned) -> None:
        if latest and not console.is_terminal:
            for trial in found.trials:
                if trial.has_ended and trial not in latest[-1].trials:
                    _screen.note(_line(trial, found))
        latest[:] = [found]

    with Live(get_renderable=show, console=console, refresh_per_second=2, transient=True) as live:
        if not console.is_terminal:
            live.stop()
        yield on_trial


def _table(found: Tuned, left: float | None, most: int | None = None) -> Table:
    """The best trials and the default; with the time left, those that are running, too."""
    title = f"{found.ended} of {count(most, 'trial')}" if most else count(found.ended, "trial")
    ended = Counter(trial.outcome for trial in found.trials if trial.has_ended)
    if set(ended) - {"complete"}:
        title += f" ({', '.join(f'{number} {outcome}' for outcome, number in ended.items())})"
    if left is not None:
        title += f", {int(left) // 60}:{int(left) % 60:02d} left"
    score = f"Held-out {METRICS[found.metric].lower()}"
    first = Column("Trial", min_width=9), Column(score, justify="right", min_width=8), Column("Settings", min_width=12)
    table = Table(*first, title=title, box=SIMPLE_HEAD, padding=0)  # within 80 characters
    for name in ("Loss", *SETTINGS.values(), "Time"):
        table.add_column(name, justify="right", no_wrap=True, min_width=5)
    complete = sorted((t for t in found.trials if t.value is not None), key=lambda t: -(t.value or 0.0))
    shown = complete[:SHOWN]
    if found.default and found.default not in shown:
        shown.append(found.default)
    for place, trial in enumerate(shown):
        table.add_row(*_row(trial, found), style="bold" if place == 0 else None)
    if left is not None:
        table.add_section()
        for trial in found.trials:
            if trial.state == "running":
                table.add_row(*_row(trial, found), style="dim")
    return table


def _row(trial: Trial, found: Tuned) -> list[str]:
    """The cells of a trial, in the order of the columns."""
    config = found.space.base if not trial.settings else found.space.config(trial.settings)
    towers = " + ".join(part.replace(":", " ") for part in config.mix) if config.mix else config.powers_text()
    replicas = f", r={config.replicas}" if config.replicas > 1 else ""
    score = trial.outcome if trial.score is None else score_text(found.metric, trial.score)
    texts = [f"{getattr(config, name):.{2 if name != 'hidden' else 5}g}" for name in SETTINGS]
    loss = "" if trial.loss is None else f"{trial.loss:.3f}"
    number = f"{trial.number}{' (default)' if trial.is_default else ''}"
    seconds = "" if trial.seconds is None else f"{trial.seconds:.0f} s"
    return [number, score, f"{config.recipe}: {config.model}, {towers}{replicas}", loss, *texts, seconds]


def _line(trial: Trial, found: Tuned) -> str:
    """The same in a line, each value with its name."""
    number, score, settings, loss, *values, seconds = _row(trial, found)
    if trial.score is not None:
        score = f"held-out {METRICS[found.metric].lower()} {score}"
    named = [f"{name} {value}" for name, value in zip(("loss", *SETTINGS), (loss, *values), strict=True) if value]
    error = f": {trial.error}" if trial.error else ""
    return f"Trial {number}: {', '.join(filter(None, (score, settings, *named, seconds)))}{error}"


def _summary(found: Tuned, folder: Path) -> dict[str, Any]:
    default = found.default
    return {
        "metric": found.metric,
        "best": _shown(found.best),
        "default": default and _shown(default),
        "standard_error": found.standard_error,
        "trials": {state: sum(t.state == state for t in found.trials) for state in ("complete", "pruned", "failed")},
        "config": found.config.to_dict(),
        "folder": str(folder),
    }


def _shown(trial: Trial) -> dict[str, Any]:
    return {name: getattr(trial, name) for name in ("number", "score", "loss", "seconds", "settings")}

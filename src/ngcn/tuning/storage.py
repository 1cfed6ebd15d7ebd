"""The study of Optuna: in memory, or in an SQLite file that several processes share."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from traceback import walk_tb
from typing import Any

from ngcn.errors import ConfigError, RunError
from ngcn.files import new_files
from ngcn.graph import Graph
from ngcn.json_file import Schema, fits
from ngcn.tuning.space import Space
from ngcn.tuning.trials import trial_of

WARM_UP = 40  # steps before a trial may be pruned
FIRST = 8  # trials before any is pruned
TRIAL: Schema = {  # of a trial that is stored
    "number": int,
    "start": int | None,
    "settings": dict[str, object],
    **dict.fromkeys(("score", "loss", "seconds", "value"), float | None),
    "error": str,
}
ALIVE, DEAD = 10, 60  # seconds between two signs of life of a trial; without any, it is taken to be killed


def need_optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError:
        raise ConfigError("tune needs Optuna: pip install 'ngcn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def open_study(optuna: Any, folder: Path | None, space: Space, graph: Graph) -> Any:
    """The study in the folder, or a new one."""
    about = json.loads(json.dumps({"graph": graph.fingerprint(), **space.fixed}))
    how = {
        "direction": "maximize",
        "pruner": optuna.pruners.MedianPruner(n_startup_trials=FIRST, n_warmup_steps=WARM_UP, n_min_trials=4),
    }
    if folder is None:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=space.base.seed), **how)
        need_starts(study, space)
        return study
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; a search needs a folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / "study.db").is_file():
        raise RunError(f"{folder} holds other files and no search; choose another folder.")
    with new_files(folder, "study.db", "study.db-journal"), _locked(folder), study_errors(folder):
        study = optuna.create_study(
            storage=_storage(optuna, folder / "study.db"), study_name="ngcn", load_if_exists=True, **how
        )
        stored = study.user_attrs.get("about", about)
        for name in sorted({*stored, *about}):
            if stored.get(name) != about.get(name):
                what = "another graph" if name == "graph" else f"{name} = {stored.get(name)!r}, not {about.get(name)!r}"
                raise RunError(f"{folder} holds a search with {what}; repeat its settings, or choose another folder.")
        _check_trials(study, space)
        _check_signs_of_life(folder / "study.db")
        study.set_user_attr("about", about)
        study.sampler = optuna.samplers.TPESampler(seed=(space.base.seed + len(study.trials)) % 2**32)
        need_starts(study, space)
    ask = study.ask

    def ask_alone(*given: Any, **how: Any) -> Any:
        """SQLite does not lock rows: two processes that ask at once could get the same waiting trial."""
        with _locked(folder):
            return ask(*given, **how)

    study.ask = ask_alone
    return study


def _check_trials(study: Any, space: Space) -> None:
    """Read all trials; an error if one of them has values of other types or unknown settings."""
    for trial in map(trial_of, study.get_trials(deepcopy=False)):
        if not fits(trial._asdict(), TRIAL):
            raise ValueError(f"trial {trial.number} has values of other types")
        space.config(trial.settings)


def _check_signs_of_life(path: Path) -> None:
    """Read the times at which trials were alive: a thread of Optuna does so, whose errors nobody catches."""
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.OperationalError):  # the table of this version
        for (time,) in database.execute("SELECT heartbeat FROM trial_heartbeats").fetchall():
            datetime.fromisoformat(time)


@contextmanager
def study_errors(folder: Path | None, *, training: bool = False) -> Iterator[None]:
    """Turn errors into one that names the file of the study, and what SQLite says: for values that do not belong there,
    Optuna raises any. While ``training``, errors of Optuna only."""
    try:
        yield
    except (RunError, OSError, MemoryError):
        raise
    except Exception as error:
        if folder is None or (training and not _of_optuna(error)):
            raise
        reason = getattr(error, "orig", None) or getattr(error.__cause__, "orig", None)
        why = f" ({reason})" if reason else ""
        raise RunError(f"{folder}/study.db cannot be used as a study{why}; choose another folder.") from error


def _of_optuna(error: Exception) -> bool:
    """Whether it happened while Optuna was at work, and not a function of this package that Optuna had called."""
    packages = [frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in walk_tb(error.__traceback__)]
    return [name for name in packages if name in ("ngcn", "optuna")][-1:] == ["optuna"]


def _storage(optuna: Any, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # signs of life are experimental
        return optuna.storages.RDBStorage(
            f"sqlite:///{path.absolute()}",
            engine_kwargs={"connect_args": {"timeout": DEAD}},
            heartbeat_interval=ALIVE,
            grace_period=DEAD,
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one process at a time is inside."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def need_starts(study: Any, space: Space) -> None:
    """The first trials have the default settings, then those of other recipes and models. One that was killed is
    repeated."""
    kept = {trial.start for trial in map(trial_of, study.get_trials(deepcopy=False)) if not trial.was_killed}
    for number, start in enumerate(space.starts()):
        if number not in kept:
            study.enqueue_trial(start, user_attrs={"start": number})


def importance_of(optuna: Any, study: Any) -> dict[str, float]:
    """The share of the variance of the score that each setting explains; empty with too few trials."""
    if sum(trial.state.name == "COMPLETE" for trial in study.get_trials(deepcopy=False)) < FIRST:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
            return dict(optuna.importance.get_param_importances(study, evaluator=evaluator))
        except (RuntimeError, ValueError):  # all scores are equal
            return {}

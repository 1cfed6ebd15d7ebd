"""Losses and scores of every step, written while a seed is trained: for TensorBoard, for MLflow, or as CSV."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ngcn.checks import choice
from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.files import write_text
from ngcn.registry import LOGS
from ngcn.runs.run import Run
from ngcn.training import HISTORY, Step

EXPERIMENT = "ngcn"  # in MLflow, unless MLFLOW_EXPERIMENT_NAME has another
MOST = 100  # steps that wait to be sent to MLflow
LONGEST = 5.0  # seconds that a step waits
log = logging.getLogger("ngcn.runs")


class TensorBoard:
    """``RUN/tensorboard/seed-N``. A seed that continues takes again the steps since its last checkpoint, from ``step``
    on; those that are there are replaced."""

    def __init__(self, run: Run, seed: int, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # here: its import takes seconds

        self.writer: Any = SummaryWriter(str(run.folder / "tensorboard" / f"seed-{seed}"), purge_step=step)

    def write(self, step: Step) -> None:
        for name in HISTORY:
            self.writer.add_scalar(name, getattr(step, name), step.step)

    def close(self) -> None:
        self.writer.close()


class Csv:
    """``RUN/csv/seed-N.csv``: a row per step, for programs that follow a training; likewise."""

    def __init__(self, run: Run, seed: int, step: int) -> None:
        path = run.folder / "csv" / f"seed-{seed}.csv"
        path.parent.mkdir(exist_ok=True)
        kept = path.read_text().splitlines()[:step] if path.exists() else []  # the header, and the steps before
        write_text(path, "".join(f"{line}\n" for line in kept or [",".join(("step", *HISTORY))]))
        self.file = path.open("a", buffering=1)  # each row is written at once

    def write(self, step: Step) -> None:
        print(step.step, *(repr(float(getattr(step, name))) for name in HISTORY), sep=",", file=self.file)

    def close(self) -> None:
        self.file.close()


class MLflow:
    """A run of MLflow with the settings, and in the end the test score; ``RUN/mlflow/seed-N.txt`` has its id. A seed
    that continues takes again steps that are there. They are the same, and are left out. A kill loses the steps that
    wait to be sent."""

    def __init__(self, run: Run, seed: int, step: int) -> None:
        self.run, self.seed = run, seed
        self.client, experiment = _mlflow()
        path = run.folder / "mlflow" / f"seed-{seed}.txt"
        self.known, self.id = self._known(path.read_text(errors="replace").strip()) if path.exists() else (0, "")
        if not self.id:
            self.id = self.client.create_run(experiment, run_name=f"{run.folder.name}/seed-{seed}").info.run_id
            for name, value in run.config.to_dict().items():
                self.client.log_param(self.id, name, value)
            path.parent.mkdir(exist_ok=True)
            write_text(path, f"{self.id}\n")
        self.waiting: list[Any] = []
        self.sent = time.monotonic()

    def _known(self, run_id: str) -> tuple[int, str]:
        """The last step of this run; no id if it has been deleted."""
        try:
            steps = self.client.get_metric_history(run_id, HISTORY[0])
        except Exception:  # its own for a run that is not there, and others of its stores
            return 0, ""
        return max((metric.step for metric in steps), default=0), run_id

    def write(self, step: Step) -> None:
        from mlflow.entities import Metric

        if step.step > self.known:
            now = int(1000 * time.time())
            self.waiting += [Metric(name, float(getattr(step, name)), now, step.step) for name in HISTORY]
        if len(self.waiting) >= MOST * len(HISTORY) or time.monotonic() - self.sent > LONGEST:
            self._send()

    def _send(self) -> None:
        self.sent = time.monotonic()
        with self._going_on("Its steps wait until it answers."):
            while self.waiting:
                self.client.log_batch(self.id, metrics=self.waiting[:900])  # it takes 1,000 at once
                del self.waiting[:900]

    def close(self) -> None:
        self._send()
        if self.run.finished(self.seed) and not self.waiting:
            with self._going_on("It lacks the test score."):
                if (test := self.run.scores(self.seed)["test"]) is not None:
                    self.client.log_metric(self.id, "test", test)
                self.client.set_terminated(self.id)

    @contextmanager
    def _going_on(self, consequence: str) -> Iterator[None]:
        """A training does not end because a server is away."""
        try:
            yield
        except Exception as error:  # whatever its stores raise
            log.warning(f"MLflow does not answer: {_reason(error)}. {consequence}")


def _mlflow() -> tuple[Any, str]:
    """A client of MLflow, which keeps runs where MLFLOW_TRACKING_URI says, and the id of the experiment."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # it would tell its makers of each start
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # its default waits for minutes
    import mlflow  # here: its import takes a second

    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    try:
        client = mlflow.MlflowClient()
        found = client.get_experiment_by_name(name)
        return client, found.experiment_id if found else client.create_experiment(name)
    except Exception as error:  # whatever its stores raise
        where = mlflow.get_tracking_uri()
        raise ConfigError(f"MLflow cannot be used at {where}: {_reason(error)}. Set MLFLOW_TRACKING_URI.") from None


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


WRITERS: dict[str, Callable[[Run, int, int], Any]] = {"tensorboard": TensorBoard, "csv": Csv, "mlflow": MLflow}


@contextmanager
def logging_to(what: str | None, run: Run, seed: int) -> Iterator[Callable[[Step], None]]:
    """Yields a function to call after every step."""
    writers: list[Any] = []

    def write(step: Step) -> None:
        if not writers and what:
            writers.append(WRITERS[what](run, seed, step.step))
        writers[0].write(step)

    try:
        yield write if what else lambda _: None
    finally:
        for writer in writers:
            writer.close()


def check_log(what: str | None, config: Config) -> None:
    """Raise an error for an unknown log, one that is not installed, and for a baseline, which takes no steps."""
    if what is None:
        return
    choice(LOGS)("log", what)
    if find_spec(what) is None:
        raise ConfigError(f"`log='{what}'` needs a package: pip install 'ngcn[{what}]'")
    if config.is_baseline:
        raise ConfigError(f"log does not apply to the baseline {config.model}, which takes no steps.")
    if what == "mlflow":
        _mlflow()  # which also makes the experiment, before several processes would

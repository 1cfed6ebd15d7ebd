"""Losses and scores of every step, written while a seed is trained: for TensorBoard, or as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ngcn.checks import choice
from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.files import write_text
from ngcn.registry import LOGS
from ngcn.runs.run import Run
from ngcn.training import HISTORY, Step


class TensorBoard:
    """``RUN/tensorboard/seed-N``. A seed that continues takes again the steps since its last checkpoint, from ``step``
    on; those that are there are replaced."""

    def __init__(self, folder: Path, seed: int, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # here: its import takes seconds

        self.writer: Any = SummaryWriter(str(folder / f"seed-{seed}"), purge_step=step)

    def write(self, step: Step) -> None:
        for name in HISTORY:
            self.writer.add_scalar(name, getattr(step, name), step.step)

    def close(self) -> None:
        self.writer.close()


class Csv:
    """``RUN/csv/seed-N.csv``: a row per step, for programs that follow a training; likewise."""

    def __init__(self, folder: Path, seed: int, step: int) -> None:
        folder.mkdir(exist_ok=True)
        path = folder / f"seed-{seed}.csv"
        kept = path.read_text().splitlines()[:step] if path.exists() else []  # the header, and the steps before
        write_text(path, "".join(f"{line}\n" for line in kept or [",".join(("step", *HISTORY))]))
        self.file = path.open("a", buffering=1)  # each row is written at once

    def write(self, step: Step) -> None:
        print(step.step, *(repr(float(getattr(step, name))) for name in HISTORY), sep=",", file=self.file)

    def close(self) -> None:
        self.file.close()


WRITERS: dict[str, Callable[[Path, int, int], Any]] = {"tensorboard": TensorBoard, "csv": Csv}


@contextmanager
def logging_to(log: str | None, run: Run, seed: int) -> Iterator[Callable[[Step], None]]:
    """Yields a function to call after every step."""
    writers: list[Any] = []

    def write(step: Step) -> None:
        if not writers and log:
            writers.append(WRITERS[log](run.folder / log, seed, step.step))
        writers[0].write(step)

    try:
        yield write if log else lambda _: None
    finally:
        for writer in writers:
            writer.close()


def check_log(log: str | None, config: Config) -> None:
    """Raise an error for an unknown log, one that is not installed, and for a baseline, which takes no steps."""
    if log is None:
        return
    choice(LOGS)("log", log)
    if find_spec(log) is None:
        raise ConfigError(f"`log='{log}'` needs a package: pip install 'ngcn[{log}]'")
    if config.is_baseline:
        raise ConfigError(f"log does not apply to the baseline {config.model}, which takes no steps.")

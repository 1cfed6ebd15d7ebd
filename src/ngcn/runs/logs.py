"""Losses and scores of every step for TensorBoard, in the run folder while it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ngcn.checks import choice
from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.registry import LOGS
from ngcn.runs.run import Run
from ngcn.training import Step


@contextmanager
def logging_to(log: str | None, run: Run, seed: int) -> Iterator[Callable[[Step], None]]:
    """Yields a function to call after every step. The curves of a seed are in ``RUN/tensorboard/seed-N``."""
    writers: list[Any] = []

    def write(step: Step) -> None:
        if not writers:
            from torch.utils.tensorboard import SummaryWriter  # here: its import takes seconds

            # A resumed seed takes again the steps that a killed process took after its last checkpoint
            writers.append(SummaryWriter(str(run.folder / "tensorboard" / f"seed-{seed}"), purge_step=step.step))
        for name in ("loss", "val_loss", "val"):
            writers[0].add_scalar(name, getattr(step, name), step.step)

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

"""Training: the loop, its settings, and the run folder that it leaves."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngcn.training.checkpoint import RunError
    from ngcn.training.config import Config, ConfigError
    from ngcn.training.loop import Step, TrainingError, evaluate, train
    from ngcn.training.run import Result, Run
    from ngcn.training.seeds import train_seeds
    from ngcn.training.signals import Interrupted
    from ngcn.training.trained_on import TrainedOn

# Loaded when first asked for: whoever wants the settings only, as the command line does, need not wait for torch
_HOMES = {
    "Config": "config",
    "ConfigError": "config",
    "Interrupted": "signals",
    "Result": "run",
    "Run": "run",
    "RunError": "checkpoint",
    "Step": "loop",
    "TrainedOn": "trained_on",
    "TrainingError": "loop",
    "evaluate": "loop",
    "train": "loop",
    "train_seeds": "seeds",
}

__all__ = [
    "Config",
    "ConfigError",
    "Interrupted",
    "Result",
    "Run",
    "RunError",
    "Step",
    "TrainedOn",
    "TrainingError",
    "evaluate",
    "train",
    "train_seeds",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

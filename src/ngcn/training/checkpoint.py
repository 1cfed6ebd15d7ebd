"""`State`: all that a training loop carries from one step to the next, and its way to disk and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ngcn.nn import Network
from ngcn.training._files import atomic
from ngcn.training.adam import Adam


class RunError(ValueError):
    """A run folder that cannot be used as asked; the message says why and what to do."""


@dataclass
class State:
    """A training between two steps: parameters, Adam's moments, random numbers, and the best step so far.

    ``history`` has a row per step taken: loss, validation loss, validation score.
    """

    network: Network
    optimizer: Adam
    generator: torch.Generator
    history: list[tuple[float, float, float]] = field(default_factory=list)
    best_step: int = 0
    best_val: float = -1.0
    best: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def step(self) -> int:
        return len(self.history)

    def keep_if_best(self, val: float) -> None:
        """Remember the parameters if their validation score beats all before; a tie keeps the earlier step."""
        if val > self.best_val:
            self.best_step, self.best_val = self.step, val
            self.best = {name: value.clone() for name, value in self.network.state_dict().items()}

    def save(self, path: Path) -> None:
        tensors = {"random": self.generator.get_state(), "history": torch.tensor(self.history, dtype=torch.float64)}
        tensors |= {f"network.{name}": value.contiguous() for name, value in self.network.state_dict().items()}
        tensors |= {f"best.{name}": value.contiguous() for name, value in self.best.items()}
        for name, moments in self.optimizer.moments.items():
            tensors |= {f"adam.{i}.{name}": value.contiguous() for i, value in enumerate(moments)}
        numbers = {"best_step": self.best_step, "best_val": self.best_val, "seconds": self.seconds}
        with atomic(path) as temporary:
            temporary.write_bytes(save(tensors, metadata={name: repr(value) for name, value in numbers.items()}))

    def load(self, path: Path) -> None:
        """Continue where the checkpoint at ``path`` was written, random numbers included."""
        try:
            tensors, numbers = read(path)
            self.network.load_state_dict(_part(tensors, "network."))
            steps, means, squares = (_part(tensors, f"adam.{i}.") for i in range(3))
            self.optimizer.moments = {name: (steps[name], means[name], squares[name]) for name in steps}
            self.best = _part(tensors, "best.")
            self.best_step, self.best_val = int(numbers["best_step"]), float(numbers["best_val"])
            self.seconds = float(numbers["seconds"])
            self.history = [(row[0], row[1], row[2]) for row in tensors["history"].tolist()]
            self.generator.set_state(tensors["random"])
        except (SafetensorError, KeyError, IndexError, RuntimeError, ValueError):
            raise RunError(
                f"The checkpoint {path} is damaged, or of another graph or version; delete it to start this seed over."
            ) from None


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


def steps_taken(path: Path) -> int:
    """By the training whose checkpoint this is; 0 if it is not there, or damaged, which loading it will tell."""
    try:
        with safe_open(path, framework="pt") as file:
            return int(file.get_slice("history").get_shape()[0])
    except (OSError, SafetensorError):
        return 0


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

"""`State`: everything a training carries from one step to the next, and its way to disk and back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ngcn.errors import RunError
from ngcn.files import atomic
from ngcn.nn import Network
from ngcn.training.adam import Adam
from ngcn.training.selection import Selection, Step

CHECKPOINT_SECONDS = 5.0  # how much work a killed process may lose


@dataclass
class State:
    """A training between two steps.

    ``history`` has a row per step: loss, validation loss, validation score. ``seconds`` is the time spent in steps.
    """

    network: Network
    optimizer: Adam
    generator: torch.Generator
    selection: Selection
    history: list[tuple[float, float, float]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def step(self) -> int:
        return len(self.history)

    def record(self, step: tuple[float, float, float], seconds: float, validated: bool = True) -> None:
        self.history.append(step)
        if validated:
            self.selection.update(self.history, self.network)
        self.seconds += seconds

    def last_step(self) -> Step:
        return Step(self.step, *self.history[-1], self.selection.step, self.selection.score)

    def save(self, path: Path) -> None:
        tensors = {"random": self.generator.get_state(), "history": torch.tensor(self.history, dtype=torch.float64)}
        tensors |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.selection.parameters.items()}
        tensors |= {f"selection.{name}": value for name, value in self.selection.tensors().items()}
        for name, moments in self.optimizer.moments.items():
            tensors |= {f"adam.{i}.{name}": value for i, value in enumerate(moments)}
        tensors = {name: value.cpu().contiguous() for name, value in tensors.items()}
        numbers = {"best_step": self.selection.step, "best_val": self.selection.score, "seconds": self.seconds}
        metadata = {name: repr(value) for name, value in numbers.items()}
        metadata["sha256"] = _checksum(tensors, metadata)
        with atomic(path) as temporary:
            temporary.write_bytes(save(tensors, metadata=metadata))

    def load(self, path: Path) -> None:
        """Continue where the checkpoint at ``path`` was written, random numbers included."""
        device = self.network.device
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                # Copies: torch rounds differently where the memory of a tensor is not aligned
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
                numbers = dict(file.metadata() or {})
            if numbers.pop("sha256", None) != _checksum(tensors, numbers):
                raise ValueError
            self._check_network(path, _part(tensors, "network."))
            self.network.load_state_dict(_part(tensors, "network."))
            steps, means, squares = (_part(tensors, f"adam.{i}.") for i in range(3))
            self.optimizer.moments = {name: (steps[name], means[name], squares[name]) for name in steps}
            self.selection.parameters = _part(tensors, "best.")
            self.selection.load(_part(tensors, "selection."))
            self.selection.step, self.selection.score = int(numbers["best_step"]), float(numbers["best_val"])
            self.seconds = float(numbers["seconds"])
            self.history = [(row[0], row[1], row[2]) for row in tensors["history"].tolist()]
            self.generator.set_state(tensors["random"].cpu())
        except RunError:
            raise
        except (SafetensorError, KeyError, IndexError, RuntimeError, ValueError, TypeError):
            raise RunError(
                f"The checkpoint {path} is damaged, or of another version; delete it to start this seed over."
            ) from None

    def _check_network(self, path: Path, stored: dict[str, Tensor]) -> None:
        """Raise an error if the parameters are those of another network."""
        own = {name: tuple(value.shape) for name, value in self.network.state_dict().items()}
        if own != {name: tuple(value.shape) for name, value in stored.items()}:
            raise RunError(
                f"The checkpoint {path} is of another network, with other layers or widths; continue with the network "
                "that it was written with, or delete it to start this seed over."
            )


class Checkpoints:
    """The checkpoint file of a training, if it has one. It is loaded at once, if it exists."""

    def __init__(self, state: State, path: Path | None) -> None:
        self.state, self.path, self.saved = state, path, time.monotonic()
        if path and path.exists():
            state.load(path)

    @contextmanager
    def after_step(self) -> Iterator[None]:
        """Save the state every few seconds, and when an exception stops training here, between two steps."""
        stopped = True
        try:
            yield
            stopped = False
        finally:
            if stopped or time.monotonic() - self.saved > CHECKPOINT_SECONDS:
                self.save()

    def save(self) -> None:
        if self.path:
            self.state.save(self.path)
            self.saved = time.monotonic()


def refit_checkpoint(path: Path) -> Path:
    """The checkpoint of the second training of ``refit``, beside that of the first."""
    return path.with_name("refit.safetensors")


def steps_taken(path: Path) -> int:
    """The number of steps in a checkpoint; 0 if it is missing or damaged, which loading it will report."""
    try:
        with safe_open(path, framework="pt") as file:
            return int(file.get_slice("history").get_shape()[0])
    except (OSError, SafetensorError, IndexError):
        return 0


def _checksum(tensors: dict[str, Tensor], metadata: dict[str, str]) -> str:
    """Of everything in a checkpoint: training continues from nothing that it did not write."""
    digest = sha256(repr(sorted(metadata.items())).encode())
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

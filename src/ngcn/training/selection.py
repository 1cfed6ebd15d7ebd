"""Which step training keeps, and when it stops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn

from ngcn.scoring import merit

FEWEST = 5  # validations without a better score, before training stops early


class Step(NamedTuple):
    """The losses and scores after a step. Without validation nodes, ``val_loss`` and ``val`` are NaN.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> def report(step):
        ...     print(f"step {step.step} of 2, best {step.best_step}")
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=2), on_step=report)
        step 1 of 2, best 1
        step 2 of 2, best 2
    """

    step: int
    loss: float
    val_loss: float
    val: float
    best_step: int
    best_val: float


class Selection:
    """Keeps the parameters of the first step with the best validation score.

    Args:
        patience: stop early after this many steps without a better score; never if None.
        metric: the name of the score; of the loss, less is better.

    Attributes:
        step, score, parameters: the best step so far, from 1; its score; the parameters after it.

    Example:
        >>> selection, module = Selection(), nn.Linear(1, 1)
        >>> for step, score in enumerate([0.5, 0.7, 0.7], 1):
        ...     selection.offer(step, score, module)
        >>> selection.step
        2
    """

    def __init__(self, patience: int | None = None, metric: str = "accuracy") -> None:
        self.patience, self.metric = patience, metric
        self.step, self.score = 0, math.nan
        self.parameters: dict[str, Tensor] = {}

    def allow(self, every: int) -> None:
        """Validation takes place every so many steps: be patient for several of them."""
        if self.patience and every > 1:
            self.patience = max(self.patience, FEWEST * every)

    def offer(self, step: int, score: float, module: nn.Module) -> None:
        """Keep the parameters of this step if its score is better than all before. NaN is never kept."""
        first = not self.step and not math.isnan(score)
        if first or merit(self.metric, score) > merit(self.metric, self.score):
            self.keep(step, score, module)

    def keep(self, step: int, score: float, module: nn.Module) -> None:
        self.step, self.score = step, score
        self.parameters = {name: value.clone() for name, value in module.state_dict().items()}

    def update(self, history: Sequence[tuple[float, float, float]], module: nn.Module) -> None:
        """Called after each step with (loss, validation loss, validation score) of all steps so far."""
        self.offer(len(history), history[-1][2], module)

    def stop(self, history: Sequence[tuple[float, float, float]]) -> str:
        """Why to stop now, in a sentence; empty to go on."""
        if self.patience and self.step and len(history) - self.step >= self.patience:
            return f"Stopped early at step {len(history)}: no better validation score in {self.patience} steps."
        return ""

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint stores besides the attributes."""
        return {}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take them back."""

    def restore(self, module: nn.Module) -> None:
        """Put the kept parameters back; without any, those of the last step stay."""
        if self.parameters:
            module.load_state_dict(self.parameters)

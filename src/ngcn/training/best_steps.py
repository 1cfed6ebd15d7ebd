"""Towers, or a whole network, at their best steps, and what prediction sets need to know about them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ngcn.nn import Network
from ngcn.scoring import merit, node_losses, score
from ngcn.training.selection import Selection

LESS = 0.002  # the relative decrease of the validation loss that counts as progress


class TowerSelection(Selection):
    """Keeps towers at steps of their own; or, if ``whole``, the network at one step."""

    def __init__(self, patience: int | None, metric: str, *, whole: bool = False) -> None:
        super().__init__(patience, metric)
        self.whole = whole

    def keep_towers(self, towers: Sequence[int], step: int, score: float, module: nn.Module) -> None:
        if self.whole or not self.parameters:
            self.keep(step, score, module)
            return
        assert isinstance(module, Network)
        self.step, self.score, now = step, score, module.state_dict()
        for tower in towers:
            for kept, value in zip(module.tower(self.parameters, tower), module.tower(now, tower), strict=True):
                kept.copy_(value)


class BestSteps(TowerSelection):
    """Keeps each tower at the step with its best validation score, ties broken by validation loss.

    The choice is made three times: with all validation nodes, and with each half of them. The parameters are those of
    the first; of the others it keeps the logits, so that a half that had no part in the choice can tell how sure its
    predictions really are.

    Args:
        patience: stop early after this many steps in which the prediction of all towers together makes no progress: its
            validation score is no better, and its loss not lower by 0.2 %. Never stop early if None.
        metric: the score that chooses the steps, a name in :data:`ngcn.text.METRICS`.
        reported: the score in the history of training, if it is another one.
        whole: the network is one thing to keep; :meth:`observe` gets its logits in place of those of its towers.

    Attributes:
        halves: ``(3, nodes)`` the validation nodes of each choice: all, one half, the other half.
        steps: ``(3, towers)`` the best steps.
        logits: ``(3, nodes, towers, classes)`` at these steps.
    """

    TENSORS = ("halves", "steps", "scores", "losses", "logits")

    def __init__(self, patience: int | None, metric: str, *, reported: str | None = None, whole: bool = False) -> None:
        super().__init__(patience, metric, whole=whole)
        self.reported = reported or metric
        self.seen, self.progress, self.least, self.best = 0, 0, math.inf, -math.inf  # of the history, for stop
        self.halves = self.steps = self.scores = self.losses = self.logits = torch.zeros(0)
        self.improved: list[int] = []

    def observe(self, step: int, Z: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
        """What the towers say about the validation nodes after a step: ``(nodes, towers, classes)``."""
        if not len(self.steps):
            self._begin(Z)
        by_node = node_losses(Z, labels)
        share = self.halves.to(Z.dtype) if weights is None else self.halves * weights
        losses = share @ by_node / share.sum(dim=1, keepdim=True)
        found = -losses if self.metric == "loss" else self._scores(Z, labels)
        better = (found > self.scores) | ((found == self.scores) & (losses < self.losses))
        self.scores, self.losses = torch.where(better, found, self.scores), torch.where(better, losses, self.losses)
        self.steps = torch.where(better, step, self.steps)
        for choice, tower in better.nonzero().tolist():
            self.logits[choice, :, tower] = Z[:, tower]
        self.improved = better[0].nonzero()[:, 0].tolist()

    def update(self, history: Sequence[tuple[float, float, float]], module: nn.Module) -> None:
        if self.improved:  # never without validation nodes
            self.keep_towers(self.improved, len(history), history[-1][2], module)

    def stop(self, history: Sequence[tuple[float, float, float]]) -> str:
        for step, (_, loss, found) in enumerate(history[self.seen :], self.seen + 1):  # all, after a resumed run
            if loss < self.least * (1 - LESS) or merit(self.reported, found) > self.best:
                self.progress, self.least = step, min(loss, self.least)
                self.best = max(self.best, merit(self.reported, found))
            self.seen = step
        if self.patience and self.progress and len(history) - self.progress >= self.patience:
            what = "no better" if self.whole else "all towers together have no better"
            return f"Stopped early at step {len(history)}: {what} validation score or loss in {self.patience} steps."
        return ""

    def tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in self.TENSORS} if len(self.steps) else {}

    def load(self, tensors: dict[str, Tensor]) -> None:
        if tensors:
            vars(self).update({name: tensors[name] for name in self.TENSORS})

    def _begin(self, Z: Tensor) -> None:
        nodes, towers, _ = Z.shape
        drawn = torch.randperm(nodes, generator=torch.Generator().manual_seed(nodes)) < nodes // 2
        self.halves = torch.stack([torch.ones(nodes, dtype=torch.bool), drawn, ~drawn]).to(Z.device)
        self.steps = torch.zeros(3, towers, dtype=torch.long, device=Z.device)
        self.scores, self.losses = (
            torch.full((3, towers), bound, device=Z.device) for bound in (-torch.inf, torch.inf)
        )
        self.logits = Z.new_zeros(3, *Z.shape)

    def _scores(self, Z: Tensor, labels: Tensor) -> Tensor:
        if self.metric == "accuracy" and labels.ndim == 1:
            right = (Z.argmax(dim=2) == labels[:, None]).to(Z.dtype)
            return self.halves.to(Z.dtype) @ right / self.halves.sum(dim=1, keepdim=True)
        rows = [[score(self.metric, Z[half, t], labels[half]) for t in range(Z.shape[1])] for half in self.halves]
        return torch.tensor(rows, device=Z.device)


class KnownSteps(TowerSelection):
    """Keeps each tower at the step that was best in another training. The last of them ends this one."""

    def __init__(self, best: BestSteps) -> None:
        super().__init__(None, best.metric, whole=best.whole)
        self.steps = best.steps[0].tolist()

    def update(self, history: Sequence[tuple[float, float, float]], module: nn.Module) -> None:
        if due := [tower for tower, step in enumerate(self.steps) if step == len(history)]:
            self.keep_towers(due, len(history), history[-1][2], module)

    def stop(self, history: Sequence[tuple[float, float, float]]) -> str:
        return "The best steps of all towers are taken." if len(history) >= max(self.steps) else ""

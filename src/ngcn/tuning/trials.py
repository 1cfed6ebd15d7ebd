"""`Tuned`: the trials of a search, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ngcn.config import Config
from ngcn.errors import TrainingError
from ngcn.text import METRICS, percent, score_text
from ngcn.tuning.space import Space

STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running"}
SHARES = ("accuracy", "balanced_accuracy", "micro_f1", "macro_f1")  # scores with about the error of a share


class Trial(NamedTuple):
    """A trial of a search: ``state`` is complete, pruned, failed or running."""

    number: int
    state: str
    settings: dict[str, Any]
    score: float | None  # on the held-out validation nodes
    loss: float | None
    seconds: float | None
    start: int | None  # its number among the settings that are tried first; the default is 0
    error: str  # why it failed
    value: float | None  # the score, ties broken by the loss; more is better

    @property
    def has_ended(self) -> bool:
        return self.state in ("complete", "pruned", "failed")

    @property
    def outcome(self) -> str:
        """The state in words."""
        names = {"pruned": "stopped early", "failed": "killed or out of time" if self.was_killed else "failed"}
        return names.get(self.state, self.state)

    @property
    def is_default(self) -> bool:
        return self.start == 0

    @property
    def was_killed(self) -> bool:
        """Or out of time: it failed for no reason of its own."""
        return self.state == "failed" and not self.error


@dataclass(frozen=True)
class Tuned:
    """The result of :func:`tune`.

    Attributes:
        trials: all that have begun; each has a number, a state, its settings, its score and its loss.
        metric: the name of the score.
        nodes: the number of validation nodes that were scored.

    Example:
        >>> from ngcn import load_dataset, tune
        >>> found = tune(load_dataset("cora"), {"model": "gcn", "steps": 2}, trials=1)
        >>> found.metric, len(found.trials), found.best is found.default
        ('accuracy', 1, True)
    """

    trials: tuple[Trial, ...]
    metric: str
    nodes: int
    space: Space

    @cached_property
    def best(self) -> Trial:
        """The trial with the best score; of several, the one with the lowest loss."""
        finished = [trial for trial in self.trials if trial.state == "complete" and trial.value is not None]
        if not finished:
            raise TrainingError("No trial is complete yet; search for longer, with `minutes` or `trials`.")
        return max(finished, key=lambda trial: trial.value or 0.0)

    @property
    def ended(self) -> int:
        """How many trials have ended."""
        return sum(trial.has_ended for trial in self.trials)

    @property
    def is_better(self) -> bool:
        """Whether the best score is better than that of the default by the standard error or more; without a standard
        error, by anything."""
        best, default = self.best.score, self.default and self.default.score
        if best is None or default is None:
            return True
        return best != default if self.standard_error is None else best - default >= self.standard_error

    @property
    def default(self) -> Trial | None:
        """The trial of the default settings."""
        return next((trial for trial in self.trials if trial.is_default and trial.state == "complete"), None)

    @property
    def config(self) -> Config:
        """The best settings."""
        return self.space.config(self.best.settings)

    @property
    def standard_error(self) -> float | None:
        """Of the best score; differences of this size may be luck. None for scores that are no shares of the nodes.

        As if one node more were right and one more wrong: few nodes do not make a perfect score certain.
        """
        if self.metric not in SHARES or self.best.score is None:
            return None
        share = (self.best.score * self.nodes + 1) / (self.nodes + 2)
        return (share * (1 - share) / self.nodes) ** 0.5

    def __str__(self) -> str:
        best, default, metric = self.best, self.default, METRICS[self.metric].lower()
        ours = score_text(self.metric, best.score or 0.0)
        theirs = "not known yet" if default is None else score_text(self.metric, default.score or 0.0)
        if default is None or (best.score != default.score):
            text = f"Best: trial {best.number}, held-out {metric} {ours}; default {theirs}."
        elif best.loss == default.loss:
            text = f"No settings were found that are better than the default: held-out {metric} {theirs}."
        else:
            text = (
                f"No settings were found with a better held-out {metric} than the default, {theirs}; those of trial "
                f"{best.number} have the same and a lower loss, {best.loss:.3f} in place of {default.loss:.3f}."
            )
        if self.standard_error is None:
            return text
        leads = default is not None and (best.score or 0.0) > (default.score or 0.0)
        luck = ", so the lead over the default may be luck" if leads and not self.is_better else ""
        error = percent(self.standard_error, 1)
        return f"{text} The standard error of these scores is {error} ({self.nodes:,} nodes){luck}."


def trial_of(trial: Any) -> Trial:
    about = trial.user_attrs
    return Trial(
        number=trial.number,
        state=STATES.get(trial.state.name, "waiting"),
        settings=about.get("settings", {}),
        score=about.get("score"),
        loss=about.get("loss"),
        seconds=about.get("seconds"),
        start=about.get("start"),
        error=about.get("error", ""),
        value=trial.value if trial.state.name == "COMPLETE" else None,
    )

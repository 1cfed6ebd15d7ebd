"""`tune`: search for settings with Optuna. The study is an SQLite file, which several processes may share.

DIR/study.db                   all trials
DIR/config.yaml                the best settings so far, for `ngcn train --config`
DIR/history.svg, .png          the score of every trial
DIR/importance.svg, .png       how much each setting matters
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from ngcn import checks
from ngcn.errors import GraphError, NGCNError, TrainingError
from ngcn.files import write_text
from ngcn.graph import Graph, need_graph
from ngcn.ops.threads import threads_as_before
from ngcn.runs.signals import Interrupted, handled_by
from ngcn.scoring import merit, metric_of
from ngcn.training import Step, fit
from ngcn.tuning.figures import write_figures
from ngcn.tuning.space import Space
from ngcn.tuning.storage import importance_of, need_optuna, need_starts, open_study, study_errors
from ngcn.tuning.trials import STATES, Tuned, trial_of

MINUTES = 10.0  # of a search, unless it is told when to stop
RUNGS = (10, 20, 40, 80, 160, 320, 640)  # the steps at which trials are compared
SLOWER = 5  # times as long as the default: such a trial is pruned
TIE = 1e-6  # how much the loss counts beside the score: trials with the same score are ranked by it
Check = Callable[[Callable[[], Tuned]], None]


def tune(
    graph: Graph,
    fixed: Mapping[str, Any] | None = None,
    *,
    folder: Path | str | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    threads: int | None = None,
    on_trial: Callable[[Tuned], None] | None = None,
) -> Tuned:
    """Search for settings that are better than the default: recipe, model, towers, hidden units, dropout, L2 penalty
    and learning rate.

    A trial trains with some settings. Each half of the validation nodes is scored with the steps, the weights of towers
    and the calibration that the other half chooses. The first trial has the default settings. Trials that fall behind,
    or take much longer than the default, are stopped early. Test nodes are not used.

    Args:
        graph: the graph, with training and validation nodes.
        fixed: settings of :class:`Config` that all trials have, and which are not searched, such as
            ``{"metric": "macro_f1", "model": "ngcn"}``.
        folder: where the study is stored. A search continues the study in it; several processes may share it.
        trials: stop when the study has this many trials.
        minutes: stop after so many minutes; 10 if neither is given.
        threads: the number of cores that a training uses.
        on_trial: called before the first and after each trial with what is known so far.

    Example:
        >>> from ngcn import load_dataset
        >>> found = tune(load_dataset("cora"), {"steps": 5, "model": "ngcn"}, trials=2)
        >>> found.trials[0].is_default, found.best.score >= found.default.score, found.config.model
        (True, True, 'ngcn')
    """
    need_graph(graph)
    space, optuna = Space(graph, fixed or {}), need_optuna()
    if not graph.train.any() or graph.val.sum() < 2:
        raise GraphError(f"The graph {graph.name!r} needs training nodes, and two validation nodes or more.")
    graph = graph.with_split(graph.train, graph.val, np.zeros(graph.nodes, bool))
    most = None if trials is None else checks.whole(1)("trials", trials)
    if trials is None and minutes is None:
        minutes = MINUTES
    deadline = None if minutes is None else time.monotonic() + 60 * checks.positive("minutes", minutes)
    path = None if folder is None else Path(folder)
    search = _Search(optuna, open_study(optuna, path, space, graph), space, graph, path, most, on_trial)
    with threads_as_before(), study_errors(path, training=True), _stopped_by(deadline, path) as check:
        if threads:
            torch.set_num_threads(checks.whole(1)("threads", threads))
        search.run(deadline, check)
        found, importance = search.so_far(), importance_of(optuna, search.study) if path else {}
    if path:
        write_text(path / "config.yaml", found.config.to_yaml())
        write_figures(found, importance, path)
    return found


@dataclass
class _Search:
    """A search that runs; the arguments are those of :func:`tune`."""

    optuna: Any
    study: Any
    space: Space
    graph: Graph
    folder: Path | None
    most: int | None  # trials
    on_trial: Callable[[Tuned], None] | None

    def so_far(self) -> Tuned:
        trials = self.study.get_trials(deepcopy=False)
        started = tuple(trial_of(trial) for trial in trials if trial.state.name in STATES)
        metric = self.space.base.metric or metric_of(self.graph.multilabel)
        return Tuned(started, metric, int(self.graph.val.sum()), self.space)

    def run(self, deadline: float | None, check: Check) -> None:
        """Train trials until there are enough, or time is over."""
        if self.on_trial:
            self.on_trial(self.so_far())
        if self.most and self.so_far().ended >= self.most:
            return
        self.study.optimize(
            partial(self.train, check=check),
            timeout=None if deadline is None else max(0.1, deadline - time.monotonic()),
            catch=(NGCNError, MemoryError, _OutOfTimeError),
            callbacks=[self.after_trial],
        )

    def train(self, trial: Any, check: Check) -> float:
        """Train with the settings of a trial, and return what Optuna maximises."""
        begun, settings, metric = time.monotonic(), self.space.settings(trial), self.so_far().metric
        trial.set_user_attr("settings", settings)

        def on_step(step: Step) -> None:
            check(self.so_far)
            if step.step not in RUNGS or trial.user_attrs.get("start") == 0:
                return
            trial.report(merit(metric, step.best_val), step.step)
            default, seconds = self.so_far().default, time.monotonic() - begun
            if trial.should_prune() or (default and seconds > SLOWER * (default.seconds or seconds)):
                trial.set_user_attr("seconds", seconds)
                raise self.optuna.TrialPruned

        try:
            config = self.space.config(settings)
            found = fit(self.graph, config, config.seed, on_step=on_step).held_out_scores
            if metric not in found:
                raise TrainingError(f"{metric} is not defined on the validation nodes; choose another metric.")
        except (NGCNError, MemoryError) as error:
            trial.set_user_attr("error", str(error) or "not enough memory")
            raise
        for name, value in (("score", found[metric]), ("loss", found["loss"]), ("seconds", time.monotonic() - begun)):
            trial.set_user_attr(name, value)
        return merit(metric, found[metric]) - TIE * found["loss"]

    def after_trial(self, _: Any, trial: Any) -> None:
        found, last = self.so_far(), trial_of(trial)
        if last.is_default and last.error:
            raise TrainingError(f"The default settings cannot be trained: {last.error}")
        if self.folder and last.state == "complete" and last.number == found.best.number:
            write_text(self.folder / "config.yaml", found.config.to_yaml())
        need_starts(self.study, self.space)
        if self.on_trial:
            self.on_trial(found)
        if self.most and found.ended >= self.most:
            self.study.stop()


class _OutOfTimeError(Exception):
    """The search ends before a trial does."""


@contextmanager
def _stopped_by(deadline: float | None, folder: Path | None) -> Iterator[Check]:
    """Yields a function to call after every step. It raises an exception after a signal, and after the deadline; but
    the trial of the default settings may end."""
    received: list[int] = []

    def receive(signum: int, frame: FrameType | None) -> None:
        if received:  # the second one: stop at once
            raise KeyboardInterrupt
        received.append(signum)

    def check(so_far: Callable[[], Tuned]) -> None:
        if received:
            remedy = "the same command continues the search" if folder else ""
            raise Interrupted(received[0], remedy)
        if deadline and time.monotonic() > deadline and so_far().default:
            raise _OutOfTimeError

    with handled_by(receive):
        yield check

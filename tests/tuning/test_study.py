"""Searches: what a score is, what is stored, and what stops them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from ngcn import Config, Graph, GraphError, RunError, TrainingError, train, tune
from ngcn.errors import NGCNError
from ngcn.tuning import storage
from ngcn.tuning import study as module
from ngcn.tuning.trials import Tuned

QUICK: dict[str, Any] = {"steps": 12, "hidden": 4, "lr": 0.05}


def test_a_score_is_that_of_training_on_the_same_graph_without_test_nodes(graph: Graph) -> None:
    found = tune(graph, QUICK, trials=3)
    assert found.trials[0].is_default and found.trials[0].settings == {
        name: Config(**QUICK).to_dict()[name] for name in ("recipe", "model", "mix", "replicas", "dropout", "l2")
    }
    assert {trial.state for trial in found.trials} == {"complete"} and len(found.trials) == 3
    wrong = np.where(graph.test, (graph.labels + 1) % 3, graph.labels)  # of test nodes, labels have no say
    other = Graph(graph.adjacency, graph.features, wrong, graph.train, graph.val, graph.test)
    assert [trial.value for trial in tune(other, QUICK, trials=3).trials] == [trial.value for trial in found.trials]
    for trial in found.trials:
        scores = train(graph, found.space.config(trial.settings)).held_out_scores
        assert (trial.score, trial.loss) == (scores["accuracy"], pytest.approx(scores["loss"], abs=1e-6))
    best = max(found.trials, key=lambda trial: (trial.score, -trial.loss))
    assert found.best == best and found.config == found.space.config(best.settings)


def test_another_metric_selects_and_ranks(graph: Graph) -> None:
    found = tune(graph, {**QUICK, "metric": "loss", "model": "ngcn"}, trials=3)
    assert found.best.loss == min(trial.loss for trial in found.trials) and found.metric == "loss"
    assert all(trial.score == trial.loss for trial in found.trials) and found.standard_error is None
    assert found.config.metric == "loss"


def test_what_is_found_is_told_clearly(graph: Graph) -> None:
    found = tune(graph, QUICK, trials=2)
    default, other = found.trials[0], found.trials[1]

    def tuned(score: float, loss: float) -> Tuned:
        trials = (default, other._replace(score=score, loss=loss, value=score - 1e-6 * loss))
        return Tuned(trials, "accuracy", 400, found.space)

    def told(score: float, loss: float) -> str:
        return str(tuned(score, loss))

    ours, loss = default.score, default.loss
    assert told(ours - 0.1, 0.1).startswith("No settings were found that are better than the default")
    assert "have the same and a lower loss" in told(ours, loss / 2)
    better = f"Best: trial 1, held-out accuracy {100 * ours + 10:.1f} %; default {100 * ours:.1f} %"
    assert told(ours + 0.1, 9.0).startswith(better)
    error = 100 * ((ours + 0.1) * (0.9 - ours) / 400) ** 0.5
    assert told(ours + 0.1, 9.0).endswith(f"The standard error of these scores is {error:.1f} % (400 nodes).")
    assert told(ours + 0.001, 9.0).endswith("(400 nodes), so the lead over the default may be luck.")
    leads = [tuned(*of).is_better for of in ((ours - 0.1, 0.1), (ours, loss / 2), (ours + 0.001, 9), (ours + 0.1, 9))]
    assert leads == [False, False, False, True]


def test_a_search_continues_in_its_folder(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FIRST", 4)
    first = tune(graph, QUICK, folder=tmp_path / "study", trials=2)
    again = tune(graph, QUICK, folder=tmp_path / "study", trials=5)
    assert again.trials[:2] == first.trials and again.ended == 5
    assert sum(trial.is_default for trial in again.trials) == 1
    assert tune(graph, QUICK, folder=tmp_path / "study", trials=3).trials == again.trials  # has them already
    assert Config.from_file(tmp_path / "study" / "config.yaml") == again.config
    names = {path.name for path in (tmp_path / "study").iterdir()}
    assert names >= {"study.db", "config.yaml", "history.svg", "history.png", "importance.svg", "importance.png"}
    assert "<svg" in (tmp_path / "study" / "history.svg").read_text()
    assert (tmp_path / "study" / "importance.png").read_bytes().startswith(b"\x89PNG")


def test_folders_that_cannot_be_continued(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    tune(graph, QUICK, folder=folder, trials=1)
    with pytest.raises(RunError, match="search with hidden = 4, not 8; repeat its settings"):
        tune(graph, {**QUICK, "hidden": 8}, folder=folder, trials=1)
    with pytest.raises(RunError, match="search with another graph"):
        tune(graph.with_split(graph.val, graph.train, graph.test), QUICK, folder=folder, trials=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="holds other files and no search"):
        tune(graph, QUICK, folder=tmp_path / "mine", trials=1)
    with pytest.raises(RunError, match="is a file"):
        tune(graph, QUICK, folder=tmp_path / "mine" / "notes.txt", trials=1)
    (folder / "study.db").write_bytes(b"SQLite format 3\0" + bytes(range(200)))
    with pytest.raises(RunError, match=r"study\.db cannot be used as a study"):
        tune(graph, QUICK, folder=folder, trials=1)


def test_errors_of_the_graph_and_of_the_default(graph: Graph) -> None:
    with pytest.raises(GraphError, match="two validation nodes or more"):
        tune(graph.with_split(graph.train, graph.val & False, graph.test), QUICK, trials=1)
    with pytest.raises(TrainingError, match=r"The default settings cannot be trained: .* intermediate"):
        tune(graph, {**QUICK, "intermediate": True, "recipe": "independent"}, trials=3)
    with pytest.raises(NGCNError, match="trials must be a whole number"):
        tune(graph, QUICK, trials=0)


def test_settings_that_fail_are_counted_and_passed_over(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module.fit

    def fit(graph: Graph, config: Config, *given: Any, **how: Any) -> Any:
        if config.recipe == "standard":
            raise TrainingError("The loss became nan.")
        return whole(graph, config, *given, **how)

    monkeypatch.setattr(module, "fit", fit)
    found = tune(graph, QUICK, trials=4)
    failed = [trial for trial in found.trials if trial.state == "failed"]
    assert found.ended == 4 and failed and {trial.error for trial in failed} == {"The loss became nan."}
    assert found.config.recipe != "standard"


def test_trials_that_fall_behind_are_pruned(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RUNGS", (2, 4, 8))
    monkeypatch.setattr(storage, "WARM_UP", 1)
    monkeypatch.setattr(storage, "FIRST", 5)
    found = tune(graph, {"steps": 12, "hidden": 4}, trials=14)
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    assert pruned and all(trial.score is None and trial.seconds is not None for trial in pruned)
    assert found.trials[0].state != "pruned" and found.best.score >= found.default.score


def test_trials_that_take_much_longer_than_the_default_are_pruned(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOWER", 0)
    monkeypatch.setattr(module, "RUNGS", (2,))
    found = tune(graph, QUICK, trials=3)
    assert [trial.state for trial in found.trials[:3]] == ["complete", "pruned", "pruned"]


def test_the_time_is_kept_but_the_default_may_end(graph: Graph) -> None:
    begun = time.monotonic()
    found = tune(graph, {"steps": 40, "patience": 40}, minutes=1e-4)
    assert [trial.is_default for trial in found.trials if trial.state == "complete"] == [True]
    assert time.monotonic() - begun < 60 and found.best == found.default


def test_a_signal_ends_the_search_between_two_steps(graph: Graph, tmp_path: Path) -> None:
    def stop(found: Tuned) -> None:
        if found.ended == 2:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()

    with pytest.raises(KeyboardInterrupt, match="Stopped by SIGTERM; the same command continues the search"):
        tune(graph, {"steps": 10**6, "patience": 60}, folder=tmp_path / "study", minutes=1, on_trial=stop)
    found = tune(graph, {"steps": 10**6, "patience": 60}, folder=tmp_path / "study", trials=3)
    assert found.ended >= 3 and found.default


def _search(graph: Graph, folder: Path, trials: int) -> None:
    tune(graph, QUICK, folder=folder, trials=trials)


def test_two_processes_share_a_study(graph: Graph, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_search, args=(graph, tmp_path / "study", 6)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
        assert process.exitcode == 0
    study = optuna.load_study(study_name="ngcn", storage=f"sqlite:///{tmp_path / 'study' / 'study.db'}")
    assert 6 <= len(study.trials) <= 7 and sum(trial.user_attrs.get("start") == 0 for trial in study.trials) == 1
    assert len({str(trial.params) for trial in study.trials}) > 4


def _killed_in_a_trial(number: int, graph: Graph, folder: Path) -> None:
    trained, calls = module.fit, count()

    def fit(*given: Any, **how: Any) -> Any:
        if next(calls) < number:
            return trained(*given, **how)
        time.sleep(1)  # until Optuna has noted that the trial is alive
        return os.kill(os.getpid(), signal.SIGKILL)

    module.fit = fit
    tune(graph, QUICK, folder=folder, trials=9)


@pytest.mark.parametrize("number", [0, 1])
def test_what_is_tried_first_is_tried_again_after_a_kill(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    given = (number, graph, tmp_path / "s")
    process = multiprocessing.get_context("spawn").Process(target=_killed_in_a_trial, args=given)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    monkeypatch.setattr(storage, "ALIVE", 1)
    monkeypatch.setattr(storage, "DEAD", 1)
    time.sleep(1.5)
    trials = tune(graph, QUICK, folder=tmp_path / "s", trials=12).trials
    killed = trials[number]
    assert (killed.start, killed.state, killed.error) == (number, "failed", "")
    assert [trial.start for trial in trials].count(number) == 2 and trials[0].is_default

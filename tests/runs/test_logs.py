"""`--log`: what is written while a seed is trained has the numbers of metrics.csv, also after a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ngcn import Config, ConfigError, Graph, train_seeds
from ngcn.registry import LOGS
from ngcn.runs import seeds as module
from ngcn.training import HISTORY, Step

QUICK = Config(model="gcn", hidden=4, steps=8)


@pytest.fixture(autouse=True)
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow keeps its runs here."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def curves(run: Path, log: str, seed: int = 0) -> dict[str, list[tuple[int, float]]]:
    if log == "csv":
        rows = pd.read_csv(run / "csv" / f"seed-{seed}.csv")
        assert list(rows) == ["step", *HISTORY]
        return {name: list(zip(rows["step"], rows[name], strict=True)) for name in HISTORY}
    if log == "mlflow":
        client, run_id = mlflow.MlflowClient(), (run / "mlflow" / f"seed-{seed}.txt").read_text().strip()
        found = {name: client.get_metric_history(run_id, name) for name in HISTORY}
        return {name: sorted((each.step, each.value) for each in found[name]) for name in HISTORY}
    events = EventAccumulator(str(run / "tensorboard" / f"seed-{seed}")).Reload()
    return {name: [(event.step, event.value) for event in events.Scalars(name)] for name in HISTORY}


@pytest.mark.parametrize("log", LOGS)
def test_every_step_of_every_seed_is_logged(log: str, graph: Graph, tmp_path: Path) -> None:
    run = train_seeds(graph, replace(QUICK, seeds=2), tmp_path / "run", log=log, threads=1)
    for seed in run.seeds:
        found, history = curves(run.folder, log, seed), run.history(seed)
        for name in HISTORY:
            assert found[name] == [(step, pytest.approx(value)) for step, value in enumerate(history[name], 1)]
    plain = train_seeds(graph, QUICK, tmp_path / "plain")
    assert plain.history(0) == run.history(0) and not (plain.folder / log).exists()


@pytest.mark.parametrize("log", LOGS)
def test_a_resumed_seed_replaces_the_steps_that_it_takes_again(
    log: str, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = module.fit

    class Killed(BaseException):
        pass

    def killed(*given: Any, on_step: Any, **how: Any) -> None:
        def dies(step: Step) -> None:
            on_step(step)
            if step.step == 5:
                raise Killed

        whole(*given, on_step=dies, **how)

    monkeypatch.setattr(module, "fit", killed)
    with pytest.raises(Killed):
        train_seeds(graph, QUICK, tmp_path / "run", log=log, threads=1)
    (tmp_path / "run" / "seed-0" / "checkpoint.safetensors").unlink()  # as if killed before the first one
    monkeypatch.setattr(module, "fit", whole)
    run = train_seeds(graph, QUICK, tmp_path / "run", log=log, threads=1, resume=True)
    found = curves(run.folder, log)
    assert found["loss"] == [(step, pytest.approx(value)) for step, value in enumerate(run.history(0)["loss"], 1)]


def test_logs_that_cannot_be_written(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="log must be one of tensorboard, mlflow, csv, not 'wandb'"):
        train_seeds(graph, QUICK, tmp_path / "run", log="wandb")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"MLflow cannot be used at http://127.0.0.1:9: .* Set MLFLOW_TRACKING_URI"):
        train_seeds(graph, QUICK, tmp_path / "run", log="mlflow")
    with pytest.raises(ConfigError, match="does not apply to the baseline lp"):
        train_seeds(graph, Config(model="lp"), tmp_path / "run", log="tensorboard")
    monkeypatch.setattr("ngcn.runs.logs.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'ngcn\[tensorboard\]'"):
        train_seeds(graph, QUICK, tmp_path / "run", log="tensorboard")
    assert not (tmp_path / "run").exists()


def test_a_run_of_mlflow_has_settings_and_the_test_score(graph: Graph, tmp_path: Path) -> None:
    run = train_seeds(graph, QUICK, tmp_path / "run", log="mlflow", threads=1)
    (found,) = mlflow.MlflowClient().search_runs([mlflow.get_experiment_by_name("ngcn").experiment_id])
    assert found.info.run_name == "run/seed-0" and found.info.status == "FINISHED"
    assert found.data.params["model"] == "gcn" and found.data.params["steps"] == "8"
    assert found.data.metrics["test"] == run.scores(0)["test"]


def test_a_server_that_goes_away_does_not_end_a_training(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*given: Any, **how: Any) -> None:
        raise ConnectionError("no route")

    with monkeypatch.context() as away:
        away.setattr(mlflow.MlflowClient, "log_metric", fails)
        run = train_seeds(graph, QUICK, tmp_path / "end", log="mlflow", threads=1)
    assert run.finished(0) and "no route. It lacks the test score." in caplog.text
    assert len(curves(run.folder, "mlflow")["loss"]) == QUICK.steps
    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", fails)
    run = train_seeds(graph, QUICK, tmp_path / "run", log="mlflow", threads=1)
    assert run.finished(0) and "no route. Its steps wait until it answers." in caplog.text

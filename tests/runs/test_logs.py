"""`--log`: what is written while a seed is trained has the numbers of metrics.csv, also after a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ngcn import Config, ConfigError, Graph, train_seeds
from ngcn.registry import LOGS
from ngcn.runs import seeds as module
from ngcn.training import HISTORY, Step

QUICK = Config(model="gcn", hidden=4, steps=8)


def curves(run: Path, log: str, seed: int = 0) -> dict[str, list[tuple[int, float]]]:
    if log == "csv":
        rows = pd.read_csv(run / "csv" / f"seed-{seed}.csv")
        assert list(rows) == ["step", *HISTORY]
        return {name: list(zip(rows["step"], rows[name], strict=True)) for name in HISTORY}
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
    with pytest.raises(ConfigError, match="log must be one of tensorboard, csv, not 'mlflow'"):
        train_seeds(graph, QUICK, tmp_path / "run", log="mlflow")
    with pytest.raises(ConfigError, match="does not apply to the baseline lp"):
        train_seeds(graph, Config(model="lp"), tmp_path / "run", log="tensorboard")
    monkeypatch.setattr("ngcn.runs.logs.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'ngcn\[tensorboard\]'"):
        train_seeds(graph, QUICK, tmp_path / "run", log="tensorboard")
    assert not (tmp_path / "run").exists()

"""`ngcn tune`, from the command line to the config file that `ngcn train` reads."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cli.conftest import Process
from ngcn import Config, Graph, TrainingError, Tuned
from ngcn.tuning import study

Ngcn = Callable[..., Result]
QUICK = ("--model", "ngcn", "--recipe", "standard", "--powers", "2", "--replicas", "1", "--hidden", "4", "--steps", "5")


def test_tune_writes_a_config_for_train(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ngcn("tune", "cora", *QUICK, "--trials", "1")
    assert result.exit_code == 0, result.output
    names = r"loss [\d.]+, hidden 4, dropout [\d.]+, l2 [\de.-]+, lr [\d.]+, \d+ s\n"
    line = rf"Trial 0 \(default\): held-out accuracy [\d.]+ %, standard: ngcn, K=2, {names}"
    assert re.search(line, result.stderr), result.stderr
    assert "0 (default)" in result.stdout and "1 of 1 trials" not in result.stdout
    assert "The standard error of these scores is" in result.stdout
    assert "The default may stay; the settings of the best trial are in tuned/cora/config.yaml." in result.stdout
    assert "Train with them" not in result.stdout
    monkeypatch.setattr(Tuned, "is_better", True)
    better = ngcn("tune", "cora", *QUICK, "--trials", "2").stdout
    assert "Train with them: ngcn train --config tuned/cora/config.yaml" in better and "may stay" not in better
    answer = json.loads(ngcn("tune", "cora", *QUICK, "--trials", "1", "--json").stdout)  # has two trials already
    assert answer["trials"] == {"complete": 2, "pruned": 0, "failed": 0} and answer["default"]["number"] == 0
    assert answer["config"] == Config.from_file("tuned/cora/config.yaml").to_dict()
    assert answer["best"]["score"] >= answer["default"]["score"] and answer["folder"] == "tuned/cora"
    trained = json.loads(ngcn("train", "--config", "tuned/cora/config.yaml", "--json").stdout)
    assert trained["config"] == answer["config"]


def test_trials_that_were_not_trained_to_their_end_are_told(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = study.fit

    def fit(graph: Graph, config: Config, *given: Any, **how: Any) -> Any:
        if config.recipe == "consistency":
            raise TrainingError("The loss became nan.")
        return whole(graph, config, *given, **how)

    monkeypatch.setattr(study, "fit", fit)
    free = QUICK[:2] + QUICK[4:]  # without a recipe
    result = ngcn("tune", "cora", *free, "--trials", "3")
    assert "3 trials (2 complete, 1 failed)" in result.stdout
    lines = [line for line in result.stderr.splitlines() if line.startswith("Trial ")]
    assert len(lines) == 3 and lines[2].startswith("Trial 2: failed, consistency: ngcn, K=2, hidden 4")
    assert lines[2].endswith(": The loss became nan.")


def test_without_optuna_the_error_is_at_once() -> None:
    code = (
        "import sys\nsys.modules['optuna'] = None\nfrom ngcn.cli import app\n"
        "try: app(['tune', 'cora'], prog_name='ngcn')\n"
        "except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n" and done.stderr == "tune needs Optuna: pip install 'ngcn[tune]'\n"


def test_errors_come_before_the_search(ngcn: Ngcn) -> None:
    for arguments, says in (
        (("tune",), "Name a dataset, such as `ngcn tune cora`"),
        (("tune", "cora", "--model", "lp"), "lp is a baseline"),
        (("tune", "cora", "--minutes", "0"), "minutes must be a number above 0"),
        (("tune", "cora", "--trials", "0"), "--trials"),
        (("tune", "nowhere"), "nowhere"),
    ):
        result = ngcn(*arguments)
        assert result.exit_code == 2 and says in result.stderr and not Path("tuned").exists()


def test_a_stopped_search_says_how_to_continue(start: Callable[..., Process], tmp_path: Path) -> None:
    endless = ("--model", "ngcn", "--hidden", "4", "--steps", "1000000", "--patience", "1000000", "--minutes", "5")
    process = start("tune", "cora", *endless)

    def running() -> bool:
        with suppress(sqlite3.Error):
            study = sqlite3.connect(f"file:{tmp_path / 'tuned/cora/study.db'}?mode=ro", uri=True)
            return study.execute("SELECT count(*) FROM trials WHERE state = 'RUNNING'").fetchone()[0] > 0
        return False

    while not running() and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    code, _, stderr = process.end()
    assert code == 143 and "Stopped by SIGTERM; the same command continues the search." in stderr

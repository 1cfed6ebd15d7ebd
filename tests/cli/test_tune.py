"""`ngcn tune`, from the command line to the config file that `ngcn train` reads."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from typer.testing import Result

from cli.conftest import Process
from ngcn import Config

Ngcn = Callable[..., Result]
QUICK = ("--model", "ngcn", "--recipe", "standard", "--powers", "2", "--replicas", "1", "--hidden", "4", "--steps", "5")


def test_tune_writes_a_config_for_train(ngcn: Ngcn) -> None:
    result = ngcn("tune", "cora", *QUICK, "--trials", "2")
    assert result.exit_code == 0, result.output
    assert "Trial 0 (default): " in result.stderr or "Trial 0:" in result.stderr
    assert "0 (default)" in result.stdout and "2 of 2 trials" not in result.stdout
    assert "The standard error of these scores is" in result.stdout
    assert "Train with them: ngcn train --config tuned/cora/config.yaml" in result.stdout
    answer = json.loads(ngcn("tune", "cora", *QUICK, "--trials", "1", "--json").stdout)  # has two trials already
    assert answer["trials"] == {"complete": 2, "pruned": 0, "failed": 0} and answer["default"]["number"] == 0
    assert answer["config"] == Config.from_file("tuned/cora/config.yaml").to_dict()
    assert answer["best"]["score"] >= answer["default"]["score"] and answer["folder"] == "tuned/cora"
    trained = json.loads(ngcn("train", "--config", "tuned/cora/config.yaml", "--json").stdout)
    assert trained["config"] == answer["config"]


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

"""Killed processes: `--resume` always continues from the files on disk."""

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Process

Start = Callable[..., Process]
TRAIN = ("train", "cora", "--model", "gcn", "--steps", "600", "--patience", "580")
REFIT = ("train", "cora", "--steps", "60", "--refit")
SEEDS = ("--seeds", "2", "--threads", "2")


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run except those that contain the training time."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "result.json"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def scores(run: Path) -> dict[str, Any]:
    """What training found, without its time."""
    return {
        name: value for name, value in json.loads((run / "seed-0/result.json").read_text()).items() if name != "seconds"
    }


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two seeds without an interruption."""
    folder = tmp_path_factory.mktemp("undisturbed")
    process = Process(folder, (*TRAIN, *SEEDS, "--out", "run"))
    assert process.end()[0] == 0
    return folder / "run"


@pytest.fixture(scope="module")
def refitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with --refit."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert Process(folder, (*REFIT, "--out", "run")).end()[0] == 0
    return folder / "run"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_one_seed(start: Start, tmp_path: Path, whole: Path, how: signal.Signals) -> None:
    parts = start(*TRAIN, "--out", "parts")
    wait_for(lambda: parts.steps() >= 50)
    parts.send_signal(how)
    code, stdout, stderr = parts.end()
    assert {file.name for file in (tmp_path / "parts/seed-0").glob("[!.]*")} == {"checkpoint.safetensors"}
    assert not (tmp_path / "parts/result.json").exists() and stdout == ""
    if how == signal.SIGKILL:
        assert code == -how
    else:
        assert code == 128 + how
        assert stderr.endswith(f"Stopped by {how.name}; continue with `ngcn train --resume --out parts`.\n")
    code, _, stderr = start("train", "--resume", "--out", "parts").end()
    assert code == 0 and (said := re.search(r"The run in parts continues after (\d+) of 600 steps\.\n", stderr))
    assert 0 < int(said[1]) < 600
    assert contents(tmp_path / "parts/seed-0") == contents(whole / "seed-0")


@pytest.mark.parametrize(("how", "stage"), [(signal.SIGKILL, "checkpoint"), (signal.SIGTERM, "refit")])
def test_refit(start: Start, tmp_path: Path, refitted: Path, how: signal.Signals, stage: str) -> None:
    """Killed in the first training, or in the second, which has all labels."""
    parts = start(*REFIT, "--out", "parts")
    wait_for(lambda: (tmp_path / f"parts/seed-0/{stage}.safetensors").exists())
    parts.send_signal(how)
    code, stdout, _ = parts.end()
    assert code == (-how if how == signal.SIGKILL else 128 + how) and stdout == ""
    assert start("train", "--resume", "--out", "parts").end()[0] == 0
    assert contents(tmp_path / "parts") == contents(refitted)
    assert scores(tmp_path / "parts") == scores(refitted)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_several_seeds(start: Start, tmp_path: Path, whole: Path, how: signal.Signals) -> None:
    parts = start(*TRAIN, *SEEDS, "--out", "parts")
    wait_for(lambda: parts.steps() >= 50)
    family = parts.family()
    assert len(family) >= 2
    parts.send_signal(how)
    code, _, stderr = parts.end()
    wait_for(lambda: not any(map(alive, family)))
    if how == signal.SIGTERM:  # else the workers end at once, and the last checkpoint may be some seconds old
        assert list((tmp_path / "parts").glob("seed-*/checkpoint.safetensors"))
        assert code == 128 + how
        assert stderr.endswith("Stopped by SIGTERM; continue with `ngcn train --resume --out parts`.\n")
    assert start("train", "--resume", "--out", "parts", "--threads", "2").end()[0] == 0
    assert contents(tmp_path / "parts") == contents(whole)


def test_a_signal_to_the_whole_group_is_handled_once(start: Start) -> None:
    """Ctrl-C in a terminal and `timeout` signal the workers too."""
    process = start(*TRAIN, *SEEDS, "--out", "run")
    wait_for(lambda: process.steps() >= 50)
    for pid in (*process.family(), process.pid):
        os.kill(pid, signal.SIGINT)
    code, _, stderr = process.end()
    assert code == 130 and stderr.endswith("Stopped by SIGINT; continue with `ngcn train --resume --out run`.\n")

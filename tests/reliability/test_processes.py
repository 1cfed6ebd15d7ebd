"""Kills, full disks, several processes and threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import random_graph

from ngcn import Config, NGCNError, RunError, train, train_seeds

ROOT = Path(__file__).parent.parent.parent
SHORT = Config(model="gcn", steps=3)
HEAD = """
import os, resource, signal, sys, numpy as np, torch
from ngcn import Config, load_dataset, train, train_seeds
from ngcn.cli import app
config = Config(model="gcn", steps=3)
"""
LIMIT = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (%d, resource.RLIM_INFINITY))
"""


def python(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HEAD + code]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **env}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)


def test_two_threads_on_one_folder(tmp_path: Path) -> None:
    graph, begun, go_on = random_graph(), threading.Event(), threading.Event()

    def wait(step: object) -> None:
        begun.set()
        go_on.wait(60)

    thread = threading.Thread(target=lambda: train(graph, SHORT, folder=tmp_path / "run", on_step=wait))
    thread.start()
    begun.wait(60)
    with pytest.raises(RunError, match="is being trained by another process or thread"):
        train(graph, SHORT, folder=tmp_path / "run", resume=True)
    go_on.set()
    thread.join()
    with pytest.raises(RunError, match="finished run"):
        train(graph, SHORT, folder=tmp_path / "run")
    assert (tmp_path / "run/seed-0/result.json").exists()


def test_threads_that_start_at_once(tmp_path: Path) -> None:
    graph, outcomes, barrier = random_graph(), [], threading.Barrier(4)

    def start() -> None:
        barrier.wait()
        try:
            train(graph, SHORT, folder=tmp_path / "run")
            outcomes.append("trained")
        except RunError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("trained") == 1
    refused = [each for each in outcomes if each != "trained"]
    assert [each for each in refused if "another process or thread" not in each and "finished run" not in each] == []


def test_a_failed_start_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(NGCNError):
        train(random_graph(), Config(model="gcn", lr=1e38, steps=3), folder=tmp_path / "run")
    for threads in (0, -1, "a"):
        with pytest.raises(NGCNError):
            train_seeds(random_graph(), SHORT, tmp_path / "run", threads=threads)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [50, 3000])
def test_a_full_disk(tmp_path: Path, size: int) -> None:
    done = python(LIMIT % size + "app(['train', 'cora', '--model', 'gcn', '--steps', '3', '--out', 'run'])", tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("run/") and "too large" in done.stderr
    assert not list(tmp_path.iterdir())


def test_exports_reports_and_predictions_on_a_full_disk(tmp_path: Path) -> None:
    assert python("app(['train', 'cora', '--model', 'gcn', '--steps', '3', '--out', 'run'])", tmp_path).returncode == 0
    for out, command in {
        "x/model.pt": "'export', 'run', '--format', 'torch', '--out', 'x'",
        "p.csv": "'predict', 'run', '--all', '--out', 'p.csv'",
        "r.html": "'report', 'run', '--explain', '1', '--out', 'r.html'",
    }.items():
        done = python(LIMIT % 1000 + f"app([{command}])", tmp_path)
        assert done.returncode == 2 and done.stderr.splitlines()[-1] == f"{out}: File too large."
        assert not (tmp_path / out).exists() and not list(tmp_path.glob("**/*.tmp"))


def test_training_after_a_fork(tmp_path: Path) -> None:
    code = """
graph = load_dataset("cora")
first = train(graph, config).model.predict_proba(graph)
child = os.fork()
if not child:
    again = train(graph, config).model.predict_proba(graph)
    os._exit(0 if (again == first).all() else 1)
print(os.waitpid(child, 0)[1])
"""
    assert python(code, tmp_path, OMP_NUM_THREADS="2").stdout == "0\n"


def test_without_a_home_folder(tmp_path: Path) -> None:
    code = "del os.environ['HOME']; os.environ.pop('NGCN_CACHE', 0); app(['train', '~nobody-here/x'])"
    done = python(code, tmp_path)
    assert done.returncode == 2 and "~nobody-here/x.\n" in done.stderr


def test_stopped_and_continued(tmp_path: Path) -> None:
    whole = python(
        "train(load_dataset('cora'), Config(model='gcn', steps=40, patience=None), folder='whole')", tmp_path
    )
    assert whole.returncode == 0
    code = HEAD + "train(load_dataset('cora'), Config(model='gcn', steps=40, patience=None), folder='parts')"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    weights = [(tmp_path / run / "seed-0/weights.safetensors").read_bytes() for run in ("whole", "parts")]
    assert process.returncode == 0 and weights[0] == weights[1]


def test_kills_at_random_moments(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.kill", "--times", "1", "--seed", "1", "--command", "train"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr

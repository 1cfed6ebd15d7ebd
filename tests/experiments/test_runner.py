"""The runner trains every cell once, with several processes and after interruptions."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from joblib import parallel_config

from ngcn.experiments import Store, run
from ngcn.experiments.cell import Cell, setup

CELLS = setup("cora", "gcn", steps=4).cells(3) + setup("cora", "lp").cells(1)


def test_finished_cells_are_not_trained_again(tmp_path):
    store, seen = Store(tmp_path), []
    assert run(CELLS[:2], store, 1, lambda cell, outcome: seen.append(cell.name)) == {}
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert run(CELLS, store, 1, lambda cell, outcome: seen.append(cell.name)) == {}
    assert seen == [cell.name for cell in CELLS]
    assert made.items() <= {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}.items()
    assert store.get(CELLS[1])["val"] == CELLS[1].run()["val"]
    assert not list((tmp_path / "running").iterdir())


def test_the_summary_replaces_the_cell_files(tmp_path):
    store = Store(tmp_path)
    run(CELLS[-1:], store, 1)
    store.write_summary()
    next((tmp_path / "cells").iterdir()).unlink()
    run(CELLS[-1:], Store(tmp_path), 1, lambda cell, outcome: pytest.fail("is in the summary"))


def test_a_cell_that_cannot_be_trained_does_not_stop_the_others(tmp_path):
    hopeless = Cell(setup("cora", "gcn", steps=4, lr=1e30), 0)
    failed = run([hopeless, CELLS[-1]], Store(tmp_path), 1)
    assert list(failed) == [hopeless.name]
    assert "loss became" in failed[hopeless.name]
    store = Store(tmp_path)
    store.refresh()
    assert CELLS[-1] in store
    assert hopeless not in store


WORK = """
import json, sys
from ngcn.experiments import Store, run
from ngcn.experiments.cell import setup
from ngcn.training import checkpoint
names = []
checkpoint.CHECKPOINT_SECONDS = 0.0
run(setup("cora", "gcn", steps=int(sys.argv[2])).cells(int(sys.argv[3])), Store(sys.argv[1]), int(sys.argv[4]),
    lambda cell, outcome: names.append(cell.name))
print(json.dumps(names))
"""


def work(folder, steps, seeds, jobs=1):
    command = [sys.executable, "-c", WORK, *map(str, (folder, steps, seeds, jobs))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_share_the_cells_of_a_store(tmp_path):
    both = [work(tmp_path, 60, 6) for _ in range(2)]
    shares = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(shares[0] + shares[1]) == sorted(cell.name for cell in setup("cora", "gcn", steps=60).cells(6))
    assert [process.returncode for process in both] == [0, 0]


def test_a_killed_process_continues_from_its_checkpoint(tmp_path):
    cell = setup("cora", "gcn", steps=400).cells(1)[0]
    checkpoint = tmp_path / "running" / cell.name / "checkpoint.safetensors"
    with work(tmp_path, 400, 1) as process:
        while not checkpoint.exists():
            assert process.poll() is None, "finished before its first checkpoint"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    store = Store(tmp_path)
    run([cell], store, 1)
    assert store.get(cell)["steps"] == 400
    straight = cell.run()
    assert {**store.get(cell), "seconds": 0} == {**straight, "seconds": 0}
    assert not checkpoint.parent.exists()


def test_workers_do_not_outlive_the_process_that_started_them(tmp_path):
    with work(tmp_path, 100_000, 2, jobs=2) as process:
        while len(list(tmp_path.glob("running/*/checkpoint.safetensors"))) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(workers) >= 2
        os.kill(process.pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end, "still there"
        time.sleep(0.1)


def test_a_cluster_of_dask_runs_the_same_cells(tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config("dask"),
    ):
        assert run(CELLS, Store(tmp_path)) == {}
    store = Store(tmp_path)
    store.refresh()
    assert [outcome["val"] for outcome in store.outcomes(CELLS)] == [cell.run()["val"] for cell in CELLS]


def test_threads_of_a_process_take_turns(tmp_path, monkeypatch):
    """Random generators and claims belong to the process."""
    training, together = [], []

    def train(cell, *_):
        training.append(cell)
        time.sleep(0.05)
        together.append(len(training))
        training.remove(cell)
        return {"val": 0.5}

    monkeypatch.setattr(Cell, "run", train)
    with parallel_config("threading"):
        assert run(CELLS, Store(tmp_path), 3) == {}
    assert together == [1] * len(CELLS)

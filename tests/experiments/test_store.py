"""The store: outcomes in cell files and in the summary; one process at a time holds a cell."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from ngcn import Config
from ngcn.errors import RunError
from ngcn.experiments.cell import Cell, Setup
from ngcn.experiments.runner import run
from ngcn.experiments.store import Store

CELLS = Setup(Config(model="gcn")).cells(3) + Setup(Config(model="ngcn", powers=2)).cells(2)


def outcome(number, weights=None):
    return {"val": 0.7 + number / 100, "test": 0.6, "scale_weights": weights}


def fill(folder):
    store = Store(folder)
    for number, cell in enumerate(CELLS):
        store.put(cell, outcome(number, [0.5, 0.5] if cell.setup.config.model == "ngcn" else None))
    store.refresh()
    return store


def test_outcomes_are_visible_to_other_stores(tmp_path):
    fill(tmp_path)
    other = Store(tmp_path)
    assert CELLS[0] not in other
    other.refresh()
    assert other.outcomes(CELLS) == [*(outcome(n) for n in range(3)), *(outcome(n, [0.5, 0.5]) for n in (3, 4))]


def test_the_summary_contains_everything(tmp_path):
    store = fill(tmp_path / "a")
    store.write_summary()
    text = (tmp_path / "a" / "summary.jsonl").read_text()
    assert len(text.splitlines()) == 2  # a line per configuration
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "summary.jsonl").write_text(text)
    copy = Store(tmp_path / "b")
    assert copy.outcomes(CELLS) == store.outcomes(CELLS)
    copy.write_summary()
    assert (tmp_path / "b" / "summary.jsonl").read_text() == text


def test_the_summary_includes_later_outcomes(tmp_path):
    store = fill(tmp_path)
    store.write_summary()
    late = Cell(CELLS[0].setup, 7)
    store.put(late, {"val": 0.9, "test": 0.9, "map": [[1, 2]]})
    store.refresh()
    store.write_summary()
    for path in (tmp_path / "cells").iterdir():
        path.unlink()
    assert Store(tmp_path).get(late) == {"val": 0.9, "test": 0.9, "map": [[1, 2]], "scale_weights": None}
    assert Store(tmp_path).get(CELLS[0])["val"] == 0.7


@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": {}}', "null"])
def test_a_damaged_cell_is_named(tmp_path, text):
    store = fill(tmp_path)
    store.path(CELLS[1]).write_text(text)
    with pytest.raises(RunError, match=CELLS[1].name):
        Store(tmp_path).refresh()


def test_a_damaged_summary_is_named(tmp_path):
    fill(tmp_path).write_summary()
    (tmp_path / "summary.jsonl").write_text('{"settings": {}, "seeds": [1, 2], "val": [0.5]}\n')
    with pytest.raises(RunError, match=r"summary\.jsonl is damaged"):
        Store(tmp_path).get(CELLS[0])


HOLD = """
import sys, time
from ngcn.experiments.cell import Setup
from ngcn.experiments.store import Store
from ngcn import Config
with Store(sys.argv[1]).claim(Setup(Config(model="gcn")).cells(1)[0]) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def test_one_process_holds_a_cell_until_it_ends(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        with Store(tmp_path).claim(CELLS[0]) as mine, Store(tmp_path).claim(CELLS[1]) as other:
            assert (mine, other) == (False, True)
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with Store(tmp_path).claim(CELLS[0]) as mine:
        assert mine


def test_a_folder_without_locks_is_named(tmp_path, monkeypatch):
    def lockf(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", lockf)
    with pytest.raises(RunError, match=r"without locks \(No locks available\).* choose another `results`"):
        run(CELLS[:1], Store(tmp_path), jobs=1)

"""Kernels: how they run, and how they are cached for the next process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ngcn
from ngcn.ops.cpu.compile import kernel

SCRIPT = """
import numpy as np
from ngcn.ops.cpu.compile import kernel
from ngcn.ops.cpu.masks import clear

@kernel
def wipe(share, row):
    clear(row, 0, len(row))

row = np.ones(3)
wipe(1, (row,))
print(row.sum(), sum(compiled.cache_hits for compiled in wipe.compiled.values()))
"""


@kernel
def _count(share: int, counts: np.ndarray, order: np.ndarray, per_turn: int) -> None:
    counts[share] += 1
    order[share % per_turn] = share // per_turn


def test_every_share_runs_once_and_turns_in_their_order() -> None:
    counts, order = np.zeros(7 * 20, np.int64), np.zeros(20, np.int32)
    _count(20, (counts, order), 20, turns=7)
    assert (counts == 1).all() and (order == 6).all()


def test_read_only_arrays_and_others_that_are_not_in_c_order() -> None:
    read_only = np.zeros((3, 4))
    read_only.flags.writeable = False

    @kernel
    def add(share: int, given: np.ndarray, out: np.ndarray) -> None:
        out[0] = given.sum() + len(given)

    out = np.zeros(1)
    add(1, (read_only, out))
    assert out[0] == 3
    with pytest.raises(ValueError, match="add needs arrays in C order"):
        add(1, (np.zeros((3, 4)).T, out))
    add(1, (np.zeros((0, 4)), out))
    add(0, (read_only, out))  # no shares
    assert out[0] == 0


def run(script: Path, warning: str = "", **env: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | env
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, cwd=script.parent, capture_output=True, text=True, check=False)
    assert done.stderr.count("\n") == (1 if warning else 0) and warning in done.stderr
    return done.stdout.split()


def test_a_kernel_is_compiled_again_when_its_file_or_one_of_its_parts_changes(tmp_path: Path) -> None:
    shutil.copytree(Path(ngcn.__file__).parent, tmp_path / "ngcn", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {"PYTHONPATH": str(tmp_path), "NGCN_CACHE": str(tmp_path / "cache")}
    assert run(script, **env) == ["0.0", "0"]
    assert run(script, **env) == ["0.0", "1"]  # from the cache
    part = tmp_path / "ngcn/ops/cpu/masks.py"
    part.write_text(part.read_text().replace("row[c] = 0", "row[c] = 7"))
    assert run(script, **env) == ["21.0", "0"]
    assert run(script, **env) == ["21.0", "1"]
    script.write_text(SCRIPT.replace("len(row))", "2)"))
    assert run(script, **env) == ["15.0", "0"]
    assert run(script, NUMBA_CACHE_DIR=str(tmp_path / "other"), **env) == ["15.0", "0"]
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "other").iterdir()) == ["kernels"]


def test_without_a_folder_that_can_be_written_every_process_compiles(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    file = tmp_path / "file"
    file.touch()
    for _ in range(2):
        assert run(script, NGCN_CACHE=str(file / "below")) == ["0.0", "0"]
        assert run(script, NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator") == ["0.0", "0"]


def test_a_damaged_cache_is_compiled_again(tmp_path: Path) -> None:
    script, cache = tmp_path / "script.py", tmp_path / "cache"
    script.write_text(SCRIPT)
    assert run(script, NGCN_CACHE=str(cache)) == ["0.0", "0"]
    for ending, length in (("nbi", 99), ("nbc", 0)):
        for file in cache.glob(f"**/*.{ending}"):
            file.write_bytes(file.read_bytes()[:length])
        assert run(script, "Damaged files", NGCN_CACHE=str(cache)) == ["0.0", "0"]
    for file in cache.glob("**/*.nbc"):  # one byte of the machine code
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    assert run(script, "Damaged files", NGCN_CACHE=str(cache)) == ["0.0", "0"]
    next(cache.glob("*/checksums.json")).write_text("[" * 100_000)
    assert run(script, NGCN_CACHE=str(cache))[0] == "0.0"


def test_on_a_full_disk_every_process_compiles(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nimport signal\n"
    script.write_text(limit + "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + SCRIPT)
    assert run(script, "cannot be cached", NGCN_CACHE=str(tmp_path / "cache")) == ["0.0", "0"]
    assert not list(tmp_path.glob("cache/**/*.nb[ic]*"))


def test_after_a_fork(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT + "import os, sys, torch; sys.stdout.flush()\nrow[:] = 1\nif not os.fork():\n"
        "    wipe(4, (row,))\n    torch.ones(1000, 1000) @ torch.ones(1000, 1000)\n"
        "    print(row.sum(), torch.get_num_threads(), flush=True); os._exit(0)\n"
        "print(os.wait()[1])\n"
    )
    assert run(script, OMP_NUM_THREADS="2", NGCN_CACHE=str(tmp_path / "cache")) == ["0.0", "0", "0.0", "1", "0"]

"""Compiled kernels that are kept for the next process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ngcn

SCRIPT = """
import numpy as np
from ngcn.ops._compile import clear, kernel

@kernel
def wipe(row):
    clear(row, 0, len(row))

row = np.ones(3)
wipe(row)
print(row.sum(), sum(wipe.__wrapped__.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_again_when_a_piece_of_it_from_another_file_changes(tmp_path: Path) -> None:
    shutil.copytree(Path(ngcn.__file__).parent, tmp_path / "ngcn", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run() -> list[str]:
        command, env = [sys.executable, str(script)], os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["0.0", "0"]
    assert run() == ["0.0", "1"]  # from the cache
    piece = tmp_path / "ngcn/ops/_compile.py"
    source = piece.read_text()
    piece.write_text(source.replace("row[c] = 0", "row[c] = 7"))
    assert run() == ["21.0", "0"]


def test_where_nothing_can_be_kept_every_process_compiles_for_itself() -> None:
    nowhere = os.environ | {"NUMBA_CACHE_LOCATOR_CLASSES": "IPythonCacheLocator"}  # which finds a place in IPython only
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["0.0", "0"], "")

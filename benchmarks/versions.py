"""Two versions of ngcn against each other: whole commands, in CPU seconds and peak memory.

    python -m benchmarks.versions "OLD/.venv/bin/python" ".venv/bin/python"
    python -m benchmarks.versions "env PYTHONPATH=OLD/src .venv/bin/python" ".venv/bin/python"

The versions take turns. Each command is started once before, which compiles the kernels. One thread. The commands are
N-GCN on Cora with the paper's recipe, and reading a graph of 10^5 nodes, one feature and 10^6 edges from CSV.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks.load import make

READ = "import sys; from ngcn import load_dataset; load_dataset(sys.argv[1])"


def commands(version: str, folder: Path) -> dict[str, list[str]]:
    """What is measured; 0.2.0 has no other recipe than the paper's, and no option for it."""
    # Commands run in another folder
    python = [str(Path(word).absolute()) if Path(word).exists() else word for word in shlex.split(version)]
    help_ = subprocess.run([*python, "-m", "ngcn", "train", "--help"], capture_output=True, text=True, check=True)
    paper = ["--recipe", "paper"] if "--recipe" in help_.stdout else []
    return {
        "train cora": [*python, "-m", "ngcn", "train", "cora", "--model", "ngcn", *paper, "--threads", "1"],
        "read 10^6 edges": [*python, "-c", READ, f"{folder}/graph"],
    }


def cost(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and peak memory in MB."""
    with tempfile.TemporaryDirectory(dir=folder) as runs, Path(os.devnull).open("w") as nowhere:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, cwd=runs, env=environment, stdout=nowhere, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} failed.")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs=2, metavar="PYTHON", help="how to start Python with the old and new version")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "graph").mkdir()
        make(folder / "graph", "csv", 100_000, 1, 1_000_000)
        old, new = (commands(version, folder) for version in given.versions)
        print("| | CPU s, old | new | new / old, median of rounds | all rounds | memory |\n|---|---|---|---|---|---|")
        for what in old:
            pair = (old[what], new[what])
            for command in pair:
                cost(command, folder)
            rounds = []
            for turn in range(given.rounds):
                found = {i: cost(pair[i], folder) for i in ((0, 1), (1, 0))[turn % 2]}
                rounds.append([found[0], found[1]])
            seconds = [statistics.median(each[i][0] for each in rounds) for i in (0, 1)]
            memory = statistics.median(after[1] / before[1] for before, after in rounds)
            ratios = sorted(after[0] / before[0] for before, after in rounds)
            row = (what, *(f"{value:.2f}" for value in (*seconds, statistics.median(ratios))))
            print(
                "|", " | ".join((*row, " ".join(f"{ratio:.3f}" for ratio in ratios), f"{memory:.2f}")), "|", flush=True
            )


if __name__ == "__main__":
    main()

"""Kill commands with SIGKILL at random moments, run them again, and compare the bits.

python -m tools.kill --times 50 --seed 0

Each command runs once to its end, for comparison. Then it is started again, killed at a random moment, and repeated or
resumed until it ends by itself. Its files must be those of the first run, except for the times in them, and nothing
half-written may be left. Prints a table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

NGCN = (
    sys.executable,
    "-c",  # with a checkpoint after every step, so that kills meet their writing
    "import ngcn.training.checkpoint as state; state.CHECKPOINT_SECONDS = 0.0\nfrom ngcn.__main__ import main; main()",
)
SMALL = ["--model", "ngcn", "--powers", "2", "--replicas", "1", "--hidden", "4", "--steps", "60", "--threads", "2"]
COMMANDS = {  # name: first command, command to continue
    "train": (["train", "cora", *SMALL, "--out", "out"], ["train", "--resume", "--out", "out"]),
    "train mixed": (["train", "cora", "--steps", "30", "--out", "out"], ["train", "--resume", "--out", "out"]),
    "train --refit": (["train", "cora", *SMALL, "--refit", "--out", "out"], ["train", "--resume", "--out", "out"]),
    "train --seeds 4": (
        ["train", "cora", *SMALL, "--seeds", "4", "--out", "out"],
        ["train", "--resume", "--out", "out"],
    ),
    "train --batch sampled": (
        ["train", "../graph", *SMALL, "--batch", "sampled", "--out", "out"],
        ["train", "--resume", "--out", "out"],
    ),
    "reproduce": (["reproduce", "table2", "--quick", "--datasets", "cora", "--seeds", "1", "--results", "out"],) * 2,
    "predict": (["predict", "../run", "--all", "--out", "p.csv"],) * 2,
    "report": (["report", "../run", "--explain", "5", "--out", "r.html"],) * 2,
    "export": (["export", "../run", "--format", "torch", "--out", "out"],) * 2,
    "build": (["build", "../edges.csv", "../nodes.csv", "--out", "out"],) * 2,
}
TIMES = re.compile(rb'"(seconds|version)": ?[^,}\]]*(\][^,}]*)?|[^:,]{1,20} on one core')


def tables(folder: Path, nodes: int, edges: int) -> None:
    """The tables that a graph is built from."""
    draw = random.Random(0)
    rows = [f"n{i},{i % 7},{draw.random():.4f},{draw.random():.4f}" for i in range(nodes)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,x,y", *rows]))
    rows = [f"n{draw.randrange(nodes)},n{draw.randrange(nodes)}" for _ in range(edges)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *rows]))


def bits(folder: Path) -> dict[str, str]:
    """The hash of every file, without times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") and not part.endswith(".tmp") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            content = TIMES.sub(b"", path.read_bytes())
            found[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def start(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*NGCN, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def finish(process: subprocess.Popen[bytes], arguments: list[str]) -> None:
    _, error = process.communicate(timeout=600)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {error.decode()[-500:]}")


def trial(name: str, scratch: Path, expected: dict[str, str], seconds: float, draw: random.Random) -> str:
    """Kill it once or twice, then let it end."""
    folder = scratch / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.rmtree(scratch / "graph" / "products", ignore_errors=True)  # kills meet their writing, too
    first, again = COMMANDS[name]
    killed = 0
    for _ in range(draw.choice((1, 1, 2))):
        begun = (folder / "out" / "config.yaml").exists()
        process = start(again if begun else first, folder)
        time.sleep(draw.uniform(0.3, 1.0) * seconds)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)  # this process only: its workers must end by themselves
            killed += 1
        process.wait()
        if process.stderr:
            process.stderr.close()
    time.sleep(1.0)  # workers notice
    last = again if (folder / "out" / "config.yaml").exists() else first
    if not (name.startswith("train") and (folder / "out" / "result.json").exists()):
        finish(start(last, folder), last)
    found = bits(folder)
    if found == expected:
        return "identical" if killed else "identical (had ended before)"
    different = sorted(file for file in {*found, *expected} if found.get(file) != expected.get(file))
    return f"DIFFERENT: {', '.join(different)[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", action="append", choices=list(COMMANDS))
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    draw, names = random.Random(given.seed), given.command or list(COMMANDS)
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    with tempfile.TemporaryDirectory(prefix="kill-") as name_of_scratch:
        scratch = Path(name_of_scratch)
        finish(start(["train", "cora", *SMALL, "--out", "run"], scratch), ["train"])
        if {"build", "train --batch sampled"} & {*names}:
            tables(scratch, nodes=100_000, edges=500_000)
            build = ["build", "edges.csv", "nodes.csv", "--out", "graph"]
            finish(start(build, scratch), build)
        expected, seconds = {}, {}
        for name in names:
            folder = scratch / "trial"  # paths may be in the files
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            begun = time.monotonic()
            finish(start(COMMANDS[name][0], folder), COMMANDS[name][0])
            expected[name], seconds[name] = bits(folder), time.monotonic() - begun
        for number in range(given.times):
            name = names[number % len(names)]
            outcome = trial(name, scratch, expected[name], seconds[name], draw)
            counts[name][outcome] += 1
            print(f"{number} {name}: {outcome}", flush=True)
    print(f"\nseed {given.seed}")
    for name, outcomes in counts.items():
        print(f"{name:<16} {json.dumps(outcomes)}")
    return int(any(outcome.startswith("DIFFERENT") for outcomes in counts.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())

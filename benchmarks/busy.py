"""Threads that wait for each other: how long should they stay awake, and when is one enough?

python -m benchmarks.busy     # ms of a step with its evaluation, alone on the machine and beside other work

libgomp's threads wait in a loop, GOMP_SPINCOUNT times, before they sleep. Alone on the machine that is quickest; where
another process has the core of the thread that is waited for, it wastes the time that this one needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SPINS = ("", "30000", "10000", "3000")  # "": libgomp's own, 300,000
CASES: dict[str, dict[str, Any]] = {"town": {}, "cora, gcn": {"model": "gcn"}, "cora, K=6 r=4": {}}
STEPS, ROUNDS = 60, 3


def measure() -> None:
    """In a process of its own, since libgomp looks at its settings once: ms for each case, with 1 and all threads."""
    import logging

    import torch

    from ngcn import Config, load_dataset
    from ngcn.training import fit

    logging.disable(logging.WARNING)
    times = {}
    for name, settings in CASES.items():
        graph = load_dataset("cora") if name.startswith("cora") else load_dataset("examples/town/", one_hot=["trade"])
        for threads in (1, len(os.sched_getaffinity(0))):
            torch.set_num_threads(threads)
            fit(graph, Config(recipe="paper", steps=3, **settings), seed=0)
            taken = [fit(graph, Config(recipe="paper", steps=STEPS, **settings), seed=0).seconds for _ in range(ROUNDS)]
            times[f"{name}: {threads}"] = 1e3 * min(taken) / STEPS
    print(json.dumps(times))


def main() -> None:
    if sys.argv[1:] == ["--one"]:
        measure()
        return
    rows: dict[str, dict[str, float]] = {}
    for beside in ("alone", "busy"):
        others = len(os.sched_getaffinity(0)) if beside == "busy" else 0
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
        try:
            for spins in SPINS:
                environment = {**os.environ, **({"GOMP_SPINCOUNT": spins} if spins else {})}
                command = [sys.executable, "-m", "benchmarks.busy", "--one"]
                out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
                rows[f"{beside}, {spins or 'as it is'}"] = json.loads(out)
        finally:
            for process in busy:
                process.kill()
    names = list(next(iter(rows.values())))
    print("| ms: threads | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{row[case]:.1f}" for case in names) + " |")


if __name__ == "__main__":
    main()

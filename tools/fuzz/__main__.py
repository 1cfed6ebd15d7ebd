"""Fuzz the command line and the Python API.

python -m tools.fuzz --inputs 1000 --seed 0                 this many inputs of all families
python -m tools.fuzz --seconds 600 --family csv --family npz
python -m tools.fuzz --seed 0 --only 123                    one input again; its files stay in fuzz-failures/

Every input is one number: the seed and the number determine its files and its command. A process imports ngcn once and
forks for each input, with limits on time and memory. Inputs that fail are kept in fuzz-failures/, with their output.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tools.fuzz.judge import GOOD, Judge
from tools.fuzz.worker import Worker


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--inputs", type=int, default=10**9, help="stop after this many")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time; 60 without --inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--only", type=int, help="one input")
    parser.add_argument("--family", action="append", help="one family of inputs; several with several options")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where failing inputs are kept")
    parser.add_argument("--messages", action="store_true", help="print the last message of every input")
    given = parser.parse_args(arguments)
    if given.seconds is None:
        given.seconds = 60.0 if given.inputs == 10**9 else 10.0**9
    numbers = (
        range(given.first, given.first + given.inputs) if given.only is None else range(given.only, given.only + 1)
    )
    print(f"seed {given.seed}, inputs from {numbers[0]}", flush=True)
    counts: dict[str, Counter[str]] = {}
    seconds: dict[str, float] = {}
    sites: Counter[str] = Counter()
    keep, end = given.keep.absolute(), time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        worker = Worker(Path(scratch), given.family)
        end += time.monotonic() - worker.started  # it compiles kernels and trains the models that inputs use
        for case in worker.run(given.seed, numbers):
            outcome, what = Judge(case).outcome()
            counts.setdefault(case.family, Counter())[outcome] += 1
            seconds[case.family] = seconds.get(case.family, 0.0) + case.seconds
            if given.messages:
                print(
                    f"{case.number} {case.family} {outcome} {case.seconds:.2f}: {case.err.strip()[-200:]!r}", flush=True
                )
            if outcome not in GOOD or given.only is not None:
                sites[f"{outcome}: {what}"] += 1
                print(f"{case.number} {case.family} {outcome}: {what}\n    {case.command}", flush=True)
                shutil.copytree(case.folder, keep / f"{given.seed}-{case.number}", dirs_exist_ok=True, symlinks=True)
            if time.monotonic() > end:
                break
    show(counts, sites, seconds)
    return int(any(outcome not in GOOD for each in counts.values() for outcome in each))


def show(counts: dict[str, Counter[str]], sites: Counter[str], seconds: dict[str, float]) -> None:
    total = sum(counts.values(), Counter())
    names = [*GOOD, *sorted(set(total) - set(GOOD))]
    print("\n" + "  ".join([f"{'family':<12}", *(f"{name:>9}" for name in names)]))
    for family, found in [*sorted(counts.items()), ("all", total)]:
        each = f"{1000 * (seconds.get(family) or sum(seconds.values())) / found.total():>7.0f} ms"
        print("  ".join([f"{family:<12}", *(f"{found[name]:>9}" for name in names), each]))
    for site, times in sites.most_common(40):
        print(f"{times:>5} x {site}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())

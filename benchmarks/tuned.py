"""Settings that `ngcn tune` finds, against the default: test accuracy of both.

python -m benchmarks.tuned FOLDER [--graphs citeseer town town-5] [--minutes 10] [--seeds 5]

Each search is killed five times (kill -9) and continued with the same command; a part of it runs as two processes. Then
both settings are trained with other seeds than that of the search, on its split. A repeated command goes on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from ngcn import Config, load_dataset, train
from ngcn.text import plus_minus

TOWN = Path(__file__).parents[1] / "examples" / "town"
GRAPHS = {
    "citeseer": Config(dataset="citeseer"),
    "town": Config(dataset=f"{TOWN}/", one_hot=("trade",), split="random:20"),
    "town-5": Config(dataset=f"{TOWN}/", one_hot=("trade",), split="random:5"),
}
PARTS, SHARED = 6, 2  # of a search; the number of the one with two processes


def search(folder: Path, default: Config, minutes: float) -> None:
    options = [word for column in default.one_hot for word in ("--one-hot", column)]
    command = ["tune", default.dataset, *options, "--split", default.split, "--out", str(folder)]
    for part in range(PARTS):
        threads = "1" if part == SHARED else "2"
        words = [sys.executable, "-m", "ngcn", *command, "--minutes", f"{minutes / PARTS}", "--threads", threads]
        running = [subprocess.Popen(words) for _ in range(2 if part == SHARED else 1)]
        if part < PARTS - 1:
            time.sleep(60 * minutes / PARTS)
            for process in running:
                process.kill()
        codes = [process.wait() for process in running]
        print(f"part {part + 1} of {PARTS}: exit codes {codes}", flush=True)
    assert codes == [0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    store = args.folder / "scores.json"
    scores = json.loads(store.read_text()) if store.exists() else {}
    for name in args.graphs:
        default, folder = GRAPHS[name], args.folder / name
        if not (folder / "history.svg").exists():  # written at the end of a search
            search(folder, default, args.minutes)
        settings = {"default": default, "tuned": Config.from_file(folder / "config.yaml")}
        graph = load_dataset(default.dataset, split=default.split, one_hot=default.one_hot)
        for seed in range(1, args.seeds + 1):
            for which, config in settings.items():
                if (key := f"{name} {which} {seed}") not in scores:
                    scores[key] = train(graph, replace(config, seed=seed)).test
                    store.write_text(json.dumps(scores, indent=1))
    print("| graph | seeds | default | tuned |\n|---|---|---|---|")
    for name in args.graphs:
        found = [[100 * v for key, v in scores.items() if key.startswith(f"{name} {which} ")] for which in settings]
        print(f"| {name} | {len(found[0])} | {' | '.join(map(plus_minus, found))} |")


if __name__ == "__main__":
    main()

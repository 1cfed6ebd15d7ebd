"""Recipes side by side: trainings of several methods on the same splits, in a store that is filled bit by bit.

    NGCN_DATA=... python -m benchmarks.recipes docs/results/consistency.jsonl --graphs pubmed --seeds 20
    python -m benchmarks.recipes docs/results/consistency.jsonl --show

Every cell of graph x split x method x seed is trained once and appended to the store; finished cells are
skipped. The split `planetoid` is the published one; `5`, `20` and `half` draw training nodes with the seed. `seconds`
are CPU seconds on one thread. `uncorrected` is the test accuracy without the class frequencies that calibration fits on
the validation nodes.
"""

from __future__ import annotations

import json
import logging
import statistics
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.alternatives import calibration_error
from benchmarks.graphs import GRAPHS, append, options, with_split
from ngcn import Config, Graph, train
from ngcn.text import plus_minus

METHODS: dict[str, dict[str, Any]] = {
    "consistency": {"recipe": "consistency"},
    "towers": {"recipe": "consistency", "model": "ngcn", "replicas": 1},
    "paper": {"recipe": "paper"},
    "default": {},
}
KEYS = {"graph": "", "split": "planetoid", "method": "consistency", "seed": 0}  # and what older lines leave out


def measure(graph: Graph, seed: int, **settings: Any) -> dict[str, float]:
    begun = time.process_time()
    result = train(graph, Config(seed=seed, **settings))
    seconds = time.process_time() - begun
    y, model = graph.labels[graph.test], result.model
    p = model.predict_proba(graph)[graph.test]
    model.network.calibration.offset.zero_()  # class frequencies are those of the balanced training nodes
    uncorrected = float((model.predict_proba(graph)[graph.test].argmax(axis=1) == y).mean())
    found = {"val": result.val, "test": result.test or 0.0, "uncorrected": uncorrected, "steps": result.steps}
    return {**found, "ece": calibration_error(p, y), "seconds": round(seconds, 1)}


def rows_of(store: Path) -> list[dict[str, Any]]:
    return [KEYS | json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def show(store: Path) -> None:
    found = defaultdict(list)
    for row in rows_of(store):
        found[row["split"], row["graph"], row["method"]].append(row)
    print("| graph, split | method | seeds | val | test | lowest | uncorrected | calibration error | steps | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (split, graph, method), rows in sorted(found.items()):
        columns = {name: [row[name] for row in rows] for name in ("val", "test", "ece", "steps", "seconds")}
        val, test = ([100 * score for score in columns[name]] for name in ("val", "test"))
        ece, steps, seconds = (statistics.mean(columns[name]) for name in ("ece", "steps", "seconds"))
        plain = plus_minus([100 * row["uncorrected"] for row in rows])
        numbers = f"{statistics.mean(val):.1f} | {plus_minus(test)} | {min(test):.1f} | {plain} | {100 * ece:.1f}"
        print(f"| {graph}, {split} | {method} | {len(rows)} | {numbers} | {steps:.0f} | {seconds:.0f} |")


def main() -> None:
    graphs, default = ("citeseer", "cora", "pubmed"), ["consistency"]
    parser = options(__doc__, graphs=graphs, methods=METHODS, default=default, seeds=20)
    parser.add_argument("--splits", nargs="+", default=["planetoid"])
    args = parser.parse_args()
    logging.disable()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if args.show:
        return show(args.store)
    known = {tuple(row[key] for key in KEYS) for row in rows_of(args.store)}
    for seed in range(args.seeds):
        for name in args.graphs:
            for split in args.splits:
                graph = GRAPHS[name]() if split == "planetoid" else with_split(GRAPHS[name](), split, seed)
                for method in args.methods:
                    cell = dict(zip(KEYS, (name, split, method, seed), strict=True))
                    if tuple(cell.values()) in known:
                        continue
                    append(args.store, cell | measure(graph, seed, **METHODS[method]))
    return None


if __name__ == "__main__":
    main()

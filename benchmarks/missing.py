"""Feature values that are unknown: filled along the edges, with the mean of the column, or with zero.

python -m benchmarks.missing STORE.jsonl [--graphs cora amazon-photo] [--seeds 5]     train what the store lacks
python -m benchmarks.missing STORE.jsonl --show                                       print the table

A share of all feature values, zeros as well, is drawn with the seed and becomes NaN. Cora has Planetoid's split, the
others 20 training nodes of each class, drawn with the seed.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.graphs import GRAPHS, append, options, with_split
from ngcn import Config, Graph, train
from ngcn.text import plus_minus

SHARES = (0.3, 0.6, 0.9)
METHODS = ("propagate", "mean", "zero")


def with_unknown(graph: Graph, share: float, seed: int) -> Graph:
    """The graph without this share of its feature values."""
    X: Any = graph.features
    X = X.toarray() if sp.issparse(X) else X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return replace(graph, features=X)


def measure(graph: Graph, method: str, seed: int) -> dict[str, float]:
    start = time.process_time()
    if method == "zero":
        X = np.nan_to_num(graph.features)
        words = (X.min() >= 0) and np.mean(X != 0) < 0.25
        graph = replace(graph, features=sp.csr_array(X) if words else X)
    result = train(graph, Config(missing="mean" if method == "zero" else method, seed=seed))
    return {"test": result.test or 0.0, "val": result.val, "seconds": round(time.process_time() - start, 1)}


def show(store: Path) -> None:
    cells: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in store.read_text().splitlines():
        row = json.loads(line)
        cells[row["graph"], row["share"]][row["method"]].append(100 * row["test"])
    print(f"| unknown | seeds | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 2)}")
    for (graph, share), of in sorted(cells.items(), key=lambda item: (list(GRAPHS).index(item[0][0]), item[0][1])):
        shown = [plus_minus(of[method]) if method in of else "" for method in METHODS]
        print(f"| {graph}, {share:.0%} | {len(of[METHODS[0]])} | {' | '.join(shown)} |".replace("%", " %"))


def main() -> None:
    parser = options(__doc__, graphs=("cora", "amazon-photo"), methods=METHODS, default=METHODS, seeds=5)
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    args = parser.parse_args()
    logging.disable()
    torch.set_num_threads(1)
    if args.show:
        return show(args.store)
    keys = ("graph", "share", "method", "seed")
    lines = args.store.read_text().splitlines() if args.store.exists() else ()
    known = {tuple(json.loads(line)[key] for key in keys) for line in lines}
    for name in args.graphs:
        whole = GRAPHS[name]()
        for seed in range(args.seeds):
            for share in args.shares:
                for method in args.methods:
                    cell = dict(zip(keys, (name, share, method, seed), strict=True))
                    if tuple(cell.values()) in known:
                        continue
                    graph = whole if name == "cora" else with_split(whole, "20", seed)
                    append(args.store, cell | measure(with_unknown(graph, share, seed), method, seed))
    return None


if __name__ == "__main__":
    main()

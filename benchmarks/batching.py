"""Small models, many seeds: several of them side by side on a core, or one after the other?

.venv/bin/python -m benchmarks.batching cora     # time of a step with its evaluation, per seed, on one thread
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from ngcn.graph import Graph, load_dataset
from ngcn import Config
from ngcn.training.loop import fit_together

TOGETHER = (1, 2, 5, 10)
STEPS, ROUNDS = 30, 4
MODELS: dict[str, dict[str, Any]] = {
    "GCN": {"model": "gcn"},
    "SAGE": {"model": "sage"},
    "N-GCN fc, K=2 r=1": {"powers": 2, "replicas": 1, "classifier": "fc"},
    "N-GCN attention, K=2 r=1": {"powers": 2, "replicas": 1},
    "N-GCN attention, K=4 r=1": {"powers": 4, "replicas": 1},
    "N-GCN attention, K=4 r=2": {"powers": 4, "replicas": 2},
}


def milliseconds(graph: Graph, config: Config, together: int) -> float:
    """Of a step with its evaluation, for each seed."""
    results = fit_together(graph, config, dict.fromkeys(range(together)))
    return 1e3 * sum(result.seconds for result in results) / len(results) / config.steps


def main() -> None:
    torch.set_num_threads(1)
    dataset = sys.argv[1] if len(sys.argv) > 1 else "cora"
    graph = load_dataset(dataset)
    print(f"{dataset}, one thread: ms per seed of a step with its evaluation (least of {ROUNDS} rounds)\n")
    print("| | " + " | ".join(f"{seeds} together" for seeds in TOGETHER) + " |\n|" + "---|" * (len(TOGETHER) + 1))
    for name, settings in MODELS.items():
        config = Config(steps=STEPS, **settings)
        rounds = [[milliseconds(graph, config, seeds) for seeds in TOGETHER] for _ in range(ROUNDS)]
        print(
            f"| {name} | " + " | ".join(f"{min(times):.2f}" for times in zip(*rounds, strict=True)) + " |", flush=True
        )


if __name__ == "__main__":
    main()

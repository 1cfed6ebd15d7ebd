"""Small models, many seeds: several seeds side by side in one wide network, or each by itself on a core?

.venv/bin/python -m benchmarks.batching cora     # time of a step with its evaluation, per seed, on one thread
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.timing import interleaved
from ngcn.data import load_dataset
from ngcn.nn import build_network
from ngcn.ops import set_num_threads
from ngcn.training import Config
from ngcn.training.setup import build_inputs, neighbours_close

SEEDS = (1, 2, 5, 10, 20)


def step_and_evaluation(dataset: str, model: str, seeds: int) -> Callable[[], object]:
    """Seeds are towers of one power with a loss each: towers share nothing but the passes over Â and X."""
    graph = neighbours_close(load_dataset(dataset))
    A_hat, X = build_inputs(graph, Config(model=model))
    wide = {"gcn": "ngcn", "sage": "nsage"}[model]
    network = build_network(wide, X.shape[1], graph.classes, powers=(1,), replicas=seeds, classifier="attention")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=2e-5, fused=True)
    labels = torch.from_numpy(graph.labels)
    train, val = (torch.from_numpy(np.flatnonzero(mask)) for mask in (graph.train, graph.val))

    def loss(rows: Tensor) -> Tensor:
        towers = network.towers(A_hat, X, rows)
        return seeds * cross_entropy(towers.flatten(0, 1), labels[rows].repeat_interleave(seeds))

    def both() -> None:
        network.train()
        optimizer.zero_grad()
        loss(train).backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            loss(val)

    return both


def main() -> None:
    set_num_threads(1)
    dataset = sys.argv[1] if len(sys.argv) > 1 else "cora"
    print(f"{dataset}, one thread: ms per seed of a step with its evaluation (least of some)\n")
    print("| | " + " | ".join(f"{seeds} together" for seeds in SEEDS) + " |\n|" + "---|" * (len(SEEDS) + 1))
    for model in ("gcn", "sage"):
        functions = {str(seeds): step_and_evaluation(dataset, model, seeds) for seeds in SEEDS}
        times = interleaved(functions, dict.fromkeys(functions, 5), rounds=5)
        cells = [f"{min(times[str(seeds)]) / seeds:.2f}" for seeds in SEEDS]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

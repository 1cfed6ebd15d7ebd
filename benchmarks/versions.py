"""Two installed versions of ngcn against each other: time of a training step and of an evaluation, and peak memory.

    .venv/bin/python -m benchmarks.versions OLD/.venv/bin/python .venv/bin/python     # Cora, Citeseer, Pubmed

In a round, each version is a process that waits for its turn. They take turns of some steps and evaluations, so that
other work on the machine slows both alike. N-GCN fc, K = 6, r = 4, dropout on, as in training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from typing import Any

MEASURE = """
import contextlib, json, resource, sys, time
import torch
from ngcn import Config, build_network, load_dataset
from ngcn.ops import Features, normalize
from torch.nn.functional import cross_entropy

try:  # 0.3.0 and later
    from ngcn.model import prepare
    from ngcn.ops import Workspace
    from ngcn.training.order import neighbours_close
except ImportError:
    from ngcn.training.setup import neighbours_close, prepare
    Workspace = contextlib.nullcontext

dataset, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
graph = neighbours_close(load_dataset(dataset))
A_hat, X = normalize(graph.adjacency), Features(prepare(graph, Config(model="ngcn"))(graph.features))
network = build_network("ngcn", X.shape[1], graph.classes, powers=6, replicas=4, classifier="fc")
optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=2e-5, fused=True)
train, val = (torch.from_numpy(mask.nonzero()[0]) for mask in (graph.train, graph.val))
labels = torch.from_numpy(graph.labels)

def step():
    network.train()
    optimizer.zero_grad()
    cross_entropy(network(A_hat, X, train), labels[train]).backward()
    optimizer.step()

def evaluation():
    network.eval()
    with torch.no_grad():
        network(A_hat, X, val).argmax(dim=1)

def milliseconds(function):
    begun = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begun)

with Workspace():
    for line in sys.stdin:
        step(), evaluation()  # the caches belonged to the other version
        times = [(milliseconds(step), milliseconds(evaluation)) for _ in range(int(line))]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"step": [s for s, _ in times], "evaluation": [e for _, e in times], "MB": peak}), flush=True)
"""


class Version:
    """A process with one version."""

    def __init__(self, python: str, dataset: str, threads: int) -> None:
        command = [python, "-c", MEASURE, dataset, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def turn(self, repeats: int) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        print(repeats, file=self.process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


def one_round(pythons: list[str], dataset: str, threads: int, turns: int, repeats: int) -> list[dict[str, float]]:
    """For each version, the median time of a step and of an evaluation, and the peak memory."""
    versions = [Version(python, dataset, threads) for python in pythons]
    for version in versions:
        version.turn(1)  # compiles
    found: list[list[dict[str, Any]]] = [[], []]
    for turn in range(turns):
        for i in (0, 1) if turn % 2 else (1, 0):
            found[i].append(versions[i].turn(repeats))
    for version in versions:
        version.process.communicate()
    return [
        {name: statistics.median(ms for each in turns_ for ms in each[name]) for name in ("step", "evaluation")}
        | {"MB": turns_[-1]["MB"]}
        for turns_ in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs=2, metavar="PYTHON", help="the interpreters of the old and the new version")
    parser.add_argument("--datasets", nargs="*", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=20, help="per round and version")
    parser.add_argument("--repeats", type=int, default=5, help="steps and evaluations per turn")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print("| | | old | new | new / old, median of rounds | all rounds |\n|---|---|---|---|---|---|")
    for dataset in given.datasets:
        rounds = [
            one_round(given.pythons, dataset, given.threads, given.turns, given.repeats) for _ in range(given.rounds)
        ]
        for what, unit in (("step", "ms"), ("evaluation", "ms"), ("MB", "MB")):
            old, new = (statistics.median(pair[i][what] for pair in rounds) for i in (0, 1))
            ratios = sorted(pair[1][what] / pair[0][what] for pair in rounds)
            name = "peak memory" if what == "MB" else what
            row = (dataset, name, f"{old:.1f} {unit}", f"{new:.1f} {unit}", f"{statistics.median(ratios):.3f}")
            print("|", " | ".join((*row, " ".join(f"{ratio:.2f}" for ratio in ratios))), "|", flush=True)


if __name__ == "__main__":
    main()

"""Two installed versions of ngcn against each other: time of a training step and of an evaluation, and peak memory.

    .venv/bin/python -m benchmarks.versions OLD/.venv/bin/python .venv/bin/python     # Cora, Citeseer, Pubmed

Each measurement is a process of its own; the versions alternate. N-GCN fc, K = 6, r = 4, dropout on, as in training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess

MEASURE = """
import contextlib, json, resource, statistics, sys, time
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

dataset, repeats, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
torch.manual_seed(0)
graph = neighbours_close(load_dataset(dataset))
A_hat, X = normalize(graph.adjacency), Features(prepare(graph, Config())(graph.features))
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

times = {"step": [], "evaluation": []}
with Workspace():
    for round in range(repeats + 3):
        for name, function in (("step", step), ("evaluation", evaluation)):
            begun = time.perf_counter()
            function()
            if round >= 3:
                times[name].append(1e3 * (time.perf_counter() - begun))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({**{name: statistics.median(each) for name, each in times.items()}, "MB": peak}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs=2, metavar="PYTHON", help="the interpreters of the old and the new version")
    parser.add_argument("--datasets", nargs="*", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print("| | | old | new | new / old, median of rounds |\n|---|---|---|---|---|")
    for dataset in given.datasets:
        rounds = []
        for number in range(given.rounds):
            found = {}
            for python in given.pythons if number % 2 else given.pythons[::-1]:
                command = [python, "-c", MEASURE, dataset, str(given.repeats), str(given.threads)]
                found[python] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rounds.append([found[python] for python in given.pythons])
        for what, unit in (("step", "ms"), ("evaluation", "ms"), ("MB", "MB")):
            old, new = (statistics.median(pair[i][what] for pair in rounds) for i in (0, 1))
            ratio = statistics.median(pair[1][what] / pair[0][what] for pair in rounds)
            name = "peak memory" if what == "MB" else what
            print(f"| {dataset} | {name} | {old:.1f} {unit} | {new:.1f} {unit} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""Seconds of whole trainings: ours beside PyTorch Geometric's GCN, in turns, in one run.

    NGCN_DATA=... python -m benchmarks.trainings amazon-photo --rounds 3 --threads 2

The GCN has 64 hidden units, dense features and 200 epochs, each with an evaluation of the validation nodes: once with
an edge list, as in PyTorch Geometric's examples, and once with a sparse CSR matrix. 20 training nodes per class.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import GCNConv

from benchmarks.alternatives import EPOCHS, HIDDEN, csr, prepared
from benchmarks.graphs import GRAPHS, with_split
from ngcn import Config, Graph, Result, normalize, train


class PyG(torch.nn.Module):
    def __init__(self, features: int, classes: int, normalized: bool) -> None:
        super().__init__()
        given = {"normalize": False} if normalized else {"cached": True}
        self.first, self.second = GCNConv(features, HIDDEN, **given), GCNConv(HIDDEN, classes, **given)

    def forward(self, X: torch.Tensor, A: torch.Tensor) -> torch.Tensor:
        Z = self.first(dropout(X, 0.5, self.training), A).relu()
        return self.second(dropout(Z, 0.5, self.training), A)


def peer(graph: Graph, sparse: bool) -> str:
    X = prepared(graph)
    X = torch.from_numpy(X.toarray() if hasattr(X, "toarray") else X)
    source, target = graph.adjacency.nonzero()
    A = csr(normalize(graph.adjacency).matrix) if sparse else torch.tensor([source.tolist(), target.tolist()])
    y, rows, val = torch.from_numpy(graph.labels), torch.from_numpy(graph.train), torch.from_numpy(graph.val)
    model = PyG(X.shape[1], graph.classes, sparse)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(EPOCHS):
        model.train()
        adam.zero_grad()
        cross_entropy(model(X, A)[rows], y[rows]).backward()
        adam.step()
        with torch.no_grad():
            right = model.eval()(X, A)[val].argmax(dim=1) == y[val]
    return f"{EPOCHS} epochs, last validation accuracy {float(right.float().mean()):.3f}"


def ours(graph: Graph, config: Config) -> str:
    result = train(graph, config)
    assert isinstance(result, Result)
    return f"{result.steps} steps"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", choices=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    logging.disable()
    warnings.simplefilter("ignore")
    for name in args.graphs:
        graph = with_split(GRAPHS[name](), "20", 0)
        functions: dict[str, Callable[[], str]] = {
            "PyG GCN, edge list": lambda graph=graph: peer(graph, False),  # type: ignore[misc]
            "PyG GCN, CSR": lambda graph=graph: peer(graph, True),  # type: ignore[misc]
            "ngcn, default": lambda graph=graph: ours(graph, Config()),  # type: ignore[misc]
            "N-GCN": lambda graph=graph: ours(graph, Config(model="ngcn")),  # type: ignore[misc]
        }
        train(graph, Config(steps=2))  # compiles the kernels
        seconds: dict[str, list[float]] = {method: [] for method in functions}
        for _ in range(args.rounds):
            for method, function in functions.items():
                begun = time.perf_counter()
                what = function()
                seconds[method].append(time.perf_counter() - begun)
                print(f"{name}: {method}: {seconds[method][-1]:.1f} s, {what}", flush=True)
        fastest = min(statistics.median(seconds[method]) for method in list(functions)[:2])
        for method, taken in seconds.items():
            median = statistics.median(taken)
            print(f"{name}: {method}: median {median:.1f} s, {median / fastest:.2f} times the faster PyG GCN")


if __name__ == "__main__":
    main()

"""Time of a training step and of an evaluation: ours beside two PyTorch Geometric versions, interleaved in one run.

make bench                                     # Cora
.venv/bin/python -m benchmarks.step citeseer   # another graph
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ngcn.data import load_dataset
from ngcn.nn import build_network
from ngcn.ops import Features, bag_of_words, normalize, set_num_threads

warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
warnings.filterwarnings("ignore", message="`torch.jit", category=DeprecationWarning)


def steps_of(
    network: nn.Module, forward: Callable[[Tensor], Tensor], train: Tensor, val: Tensor, labels: Tensor
) -> dict[str, Callable[[], None]]:
    """A training step and an evaluation of a network, as functions without arguments."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=2e-5, fused=True)

    def step() -> None:
        network.train()
        optimizer.zero_grad()
        cross_entropy(forward(train), labels[train]).backward()
        optimizer.step()

    def evaluation() -> None:
        network.eval()
        with torch.no_grad():
            forward(val).argmax(dim=1)

    return {"step": step, "evaluation": evaluation}


def main() -> None:
    from benchmarks.peers import Peer

    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dataset", nargs="?", default="cora")
    arguments.add_argument("--powers", type=int, default=6)
    arguments.add_argument("--replicas", type=int, default=4)
    arguments.add_argument("--repeats", type=int, default=3, help="of each peer; ours is timed ten times as often")
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()

    set_num_threads(given.threads)
    graph = load_dataset(given.dataset)
    labels = torch.from_numpy(graph.labels)
    train, val = (torch.from_numpy(np.flatnonzero(mask)) for mask in (graph.train, graph.val))
    X, A_hat = Features(bag_of_words(graph.features)), normalize(graph.adjacency)
    dense = X.dense()

    shape = {"powers": given.powers, "replicas": given.replicas}
    ours = build_network("ngcn", X.shape[1], graph.classes, classifier="fc", **shape)
    sgconv, linear_first = (Peer(graph, kind, given.powers, given.replicas) for kind in ("SGConv", "linear-first"))
    contestants = {
        "ngcn": steps_of(ours, lambda rows: ours(A_hat, X, rows), train, val, labels),
        "PyG, SGConv towers": steps_of(sgconv, lambda rows: sgconv(dense, rows), train, val, labels),
        "PyG, linear first, CSR": steps_of(linear_first, lambda rows: linear_first(dense, rows), train, val, labels),
    }

    times: dict[tuple[str, str], list[float]] = {}
    for repeat in range(given.repeats + 1):  # the first is for warming up
        for name, functions in contestants.items():
            for what, function in functions.items():
                for _ in range(10 if name == "ngcn" else 1):
                    begin = time.perf_counter()
                    function()
                    if repeat:
                        times.setdefault((name, what), []).append(time.perf_counter() - begin)

    print(
        f"N-GCN fc, K={given.powers}, r={given.replicas}, {graph.name}, {given.threads} threads; median (min to max)\n"
    )
    print("| | training step | times ours | evaluation | times ours |\n|---|---|---|---|---|")
    for name in contestants:
        cells = [name]
        for what in ("step", "evaluation"):
            own, mine = times[name, what], times["ngcn", what]
            spread = f"({1e3 * min(own):.1f} to {1e3 * max(own):.1f})"
            cells += [f"{1e3 * statistics.median(own):.1f} ms {spread}"]
            cells += [f"{statistics.median(own) / statistics.median(mine):.0f}"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

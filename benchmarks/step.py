"""Time of a training step and of an evaluation: ours beside two PyTorch Geometric versions, interleaved in one run.

make bench                                        # all four graphs, and docs/performance.{md,json,svg}
.venv/bin/python -m benchmarks.step cora --rounds 5   # one graph, on the screen only
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.floor import fastest, products
from benchmarks.timing import interleaved
from ngcn import Config, Features, Graph, Operator, load_dataset, normalize
from ngcn.model import Card
from ngcn.nn import build_network
from ngcn.ops import Workspace
from ngcn.scoring import cross_entropy
from ngcn.training.order import neighbours_close

warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
warnings.filterwarnings("ignore", message="`torch.jit", category=DeprecationWarning)

DATASETS = ("cora", "citeseer", "pubmed", "ppi-synthetic")
POWERS, REPLICAS = 6, 4
MOST_BYTES = 16e9  # a peer that would need more for one step is left out

Functions = dict[str, Callable[[], object]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("datasets", nargs="*", help=f"of {', '.join(DATASETS)}; all of them if none is named")
    arguments.add_argument("--rounds", type=int, default=3, help="each peer once a round, ours up to ten times")
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()

    torch.set_num_threads(given.threads)
    results = []
    for name in given.datasets or DATASETS:
        with Workspace():  # as in training
            results.append(measure(load_dataset(name), given.rounds))
        print(table(results[-1], given.threads), flush=True)
    if not given.datasets:
        from benchmarks.page import DOCS, plot_steps, put

        measured = {"threads": given.threads, "results": results}
        (DOCS / "performance.json").write_text(json.dumps(measured, indent=1) + "\n")
        put("steps", "\n".join(table(result, given.threads) for result in results))
        plot_steps(results, DOCS / "performance.svg")


def measure(graph: Graph, rounds: int) -> dict[str, Any]:
    """The times of all contestants on a graph, in milliseconds, and the floor."""
    contestants, left_out, kernels = _contestants(graph)
    functions = {f"{name}, {what}": f for name, steps in contestants.items() for what, f in steps.items()}
    small = graph.nodes < 30_000
    repeats = {name: (10 if small else 2) if name.startswith("ngcn") else 1 for name in functions}
    of_floor = {f"{name} / {kernel}": f for name, choice in kernels.items() for kernel, f in choice.items()}
    times = interleaved(functions | of_floor, repeats | dict.fromkeys(of_floor, 3 if small else 1), rounds)
    medians = {
        name: {kernel: statistics.median(times.pop(f"{name} / {kernel}")) for kernel in choice}
        for name, choice in kernels.items()
    }
    return {"dataset": graph.name, "times": times, "left out": left_out, "floor": fastest(medians)}


def inputs(graph: Graph) -> tuple[Operator, Features]:
    """Â and X, as training takes them."""
    X = Card.of(graph, Config(recipe="paper")).preparation(graph.features)
    return normalize(graph.adjacency), Features(X)


def _contestants(graph: Graph) -> tuple[dict[str, Functions], dict[str, str], dict[str, Functions]]:
    from benchmarks.peers import Peer

    ordered = neighbours_close(graph)  # as training does; the peers get the nodes as they come
    A_hat, X = inputs(ordered)
    shape: dict[str, Any] = {"powers": POWERS, "replicas": REPLICAS, "classifier": "fc"}
    ours = build_network("ngcn", X.shape[1], graph.classes, **shape)
    contestants = {"ngcn": _steps(ours, lambda rows: ours(A_hat, X, rows), ordered)}
    left_out = {}
    dense = inputs(graph)[1].dense()
    for name, kind in (("PyG, linear first, CSR", "linear-first"), ("PyG, SGConv towers", "SGConv")):
        # SGConv keeps a message per edge and column, for every hop of every tower, until the backward pass
        messages = 4 * (A_hat.matrix.nnz * (X.shape[1] + 16)) * REPLICAS * sum(range(POWERS))
        if kind == "SGConv" and messages > MOST_BYTES:
            left_out[name] = f"needs {messages / 1e9:.0f} GB"
            continue
        peer = Peer(graph, kind, POWERS, REPLICAS)
        contestants[name] = _steps(peer, lambda rows, peer=peer: peer(dense, rows), graph)  # type: ignore[misc]
    train = torch.from_numpy(np.flatnonzero(ordered.train))
    return contestants, left_out, products(ours, A_hat, X, train)


def _steps(network: nn.Module, forward: Callable[[Tensor], Tensor], graph: Graph) -> Functions:
    """A training step and an evaluation of a network, as functions without arguments."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=2e-5, fused=True)
    train, val = (torch.from_numpy(np.flatnonzero(mask)) for mask in (graph.train, graph.val))
    labels = torch.from_numpy(graph.labels)

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


def table(result: dict[str, Any], threads: int) -> str:
    """Markdown: a row per contestant, then the floor product by product."""
    times, names = result["times"], []
    for key in result["times"]:
        names += [key.rsplit(", ", 1)[0]] if key.endswith("step") else []
    lines = [
        f"### {result['dataset']}",
        "",
        f"N-GCN fc, K={POWERS}, r={REPLICAS}, dropout on, {threads} threads; median (least to most).",
        "",
        "| | training step | times ours | evaluation | times ours |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        cells = [name]
        for what in ("step", "evaluation"):
            own, ours = times[f"{name}, {what}"], times[f"ngcn, {what}"]
            cells.append(f"{statistics.median(own):.1f} ms ({min(own):.1f} to {max(own):.1f})")
            cells.append(f"{statistics.median(own) / statistics.median(ours):.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += [f"| {name} | {why} | – | {why} | – |" for name, why in result["left out"].items()]
    total = sum(ms for _, ms in result["floor"].values())
    ratio = statistics.median(times["ngcn, step"]) / total
    lines += ["", f"Floor of the step: {total:.1f} ms, of which our step is {ratio:.2f} times.", ""]
    lines += ["| product | best kernel | ms |", "|---|---|---|"]
    lines += [f"| {name} | {kernel} | {ms:.2f} |" for name, (kernel, ms) in result["floor"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

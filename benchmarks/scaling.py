"""Time and peak memory of a training step on generated power-law graphs: against the edges, against K, against r.

.venv/bin/python -m benchmarks.scaling     # writes docs/results/scaling.json and docs/results/scaling.svg
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import median_ms, milliseconds
from ngcn.graph import Graph

EDGES = (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000)
SECONDS = 4  # of steps, at least, since a machine has better and worse moments
USUAL = {"edges": 1_000_000, "powers": 4, "replicas": 2}


def power_law_graph(edges: int, seed: int = 0) -> Graph:
    """Ends of edges are drawn with probability proportional to a power of their rank: 5 edges and 10 words a node."""
    random = np.random.default_rng(seed)
    nodes, words, classes = edges // 5, 1000, 5
    chance = (1 + np.arange(nodes)) ** -0.4
    ends = random.choice(nodes, size=(2, edges), p=chance / chance.sum())
    adjacency = sp.csr_array((np.ones(edges, np.float32), ends), shape=(nodes, nodes))
    adjacency.data[:] = 1
    bags = (np.ones(10 * nodes, np.float32), random.integers(0, words, 10 * nodes), 10 * np.arange(nodes + 1))
    part = random.random(nodes)
    labels = random.integers(0, classes, nodes)
    return Graph(
        adjacency, sp.csr_array(bags, shape=(nodes, words)), labels, part < 0.1, part > 0.9, (part > 0.4) & (part < 0.5)
    )


def measure(edges: int, powers: int, replicas: int) -> dict[str, Any]:
    """One step in this process: its median time, and the most memory that the process ever had."""
    import torch

    from benchmarks.step import _steps, inputs
    from ngcn.nn import build_network
    from ngcn.ops import Workspace
    from ngcn.training.order import neighbours_close

    torch.set_num_threads(2)
    torch.manual_seed(0)
    graph = neighbours_close(power_law_graph(edges))
    A_hat, X = inputs(graph)
    network = build_network("ngcn", X.shape[1], graph.classes, powers=powers, replicas=replicas, classifier="fc")
    step = _steps(network, lambda rows: network(A_hat, X, rows), graph)["step"]
    with Workspace():  # as in training
        step()
        ms = median_ms(step, repeats=max(5, int(SECONDS * 1000 / milliseconds(step))))
    return {
        "edges": graph.edges,
        "K": powers,
        "r": replicas,
        "ms": ms,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _table(results: dict[str, list[dict[str, Any]]], slope: float) -> str:
    lines = ["| edges | K | r | ms a step | peak MB |", "|---|---|---|---|---|"]
    for point in (point for points in results.values() for point in points):
        lines.append(
            f"| {point['edges']:,} | {point['K']} | {point['r']} | {point['ms']:.1f} | {point['megabytes']:.0f} |"
        )
    return "\n".join([*lines, "", f"Slope of the time in log-log, from 10^5 to 10^7 edges: {slope:.2f}."])


def main() -> None:
    if len(sys.argv) > 1:  # a process of its own for each measurement, for its own peak memory
        print(json.dumps(measure(*map(int, sys.argv[1:]))))
        return
    from benchmarks.page import DOCS, plot_scaling, put

    sweeps = {
        "edges": [{**USUAL, "edges": edges} for edges in EDGES],
        "K": [{**USUAL, "powers": powers} for powers in range(2, 7)],
        "r": [{**USUAL, "replicas": replicas} for replicas in (1, 2, 4, 8)],
    }
    results: dict[str, list[dict[str, Any]]] = {}
    for what, points in sweeps.items():
        for point in points:
            command = [sys.executable, "-m", "benchmarks.scaling", *map(str, point.values())]
            results.setdefault(what, []).append(json.loads(subprocess.check_output(command)))
            print(what, results[what][-1], flush=True)
    large = [point for point in results["edges"] if point["edges"] > 90_000]
    logs = np.log([[point["edges"], point["ms"], point["megabytes"]] for point in large])
    slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    print(f"log-log slope of the time from 10^5 to 10^7 edges: {slope:.3f}")
    put("scaling", _table(results, slope))
    (DOCS / "scaling.json").write_text(json.dumps({"slope": slope, **results}, indent=1) + "\n")
    plot_scaling(results, DOCS / "scaling.svg")


if __name__ == "__main__":
    main()

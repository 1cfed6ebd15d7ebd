"""How much the order of the nodes matters to the products with Â of a graph on disk.

python -m benchmarks.node_order FOLDER     # a folder that ngcn build wrote

Times a product with 16 columns in the order of the graph, with nodes in random order, and sorted by degree, in turns on
one thread; prints processor seconds, the least of five, and their ratio.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from ngcn.graph import open_graph
from ngcn.large import Links, links_of

COLUMNS, TIMES = 16, 5
CHUNK = 1 << 20  # rows that are reordered together


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    torch.set_num_threads(1)
    links = links_of(open_graph(arguments.parse_args().folder))
    random = np.random.default_rng(0).permutation(links.nodes)
    by_degree = np.argsort(-links.degrees, kind="stable")
    orders = {"as built": links, "random": _ordered(links, random), "by degree": _ordered(links, by_degree)}
    source = np.random.default_rng(0).standard_normal((links.nodes, COLUMNS), np.float32)
    out, seconds = np.empty_like(source), dict.fromkeys(orders, np.inf)
    for _ in range(TIMES):
        for name, of_order in orders.items():
            start = time.process_time()
            of_order.multiply("symmetric", source, out=out)
            seconds[name] = min(seconds[name], time.process_time() - start)
    for name, taken in seconds.items():
        print(f"{name}: {taken:.3f} s, {taken / seconds['as built']:.2f}", flush=True)


def _ordered(links: Links, order: np.ndarray) -> Links:
    """The same graph with node ``order[i]`` at position i."""
    place = np.empty(links.nodes, np.int32)
    place[order] = np.arange(links.nodes)
    lengths = np.diff(links.indptr)[order]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty_like(links.indices)
    weights = np.empty_like(links.weights) if links.weighted else links.weights
    for start in range(0, links.nodes, CHUNK):
        rows = slice(start, start + CHUNK)
        begin, stop = indptr[start], indptr[min(links.nodes, start + CHUNK)]
        at = np.arange(begin, stop) + np.repeat(links.indptr[order[rows]] - indptr[:-1][rows], lengths[rows])
        indices[begin:stop] = place[links.indices[at]]
        if links.weighted:
            weights[begin:stop] = links.weights[at]
    return Links(indptr, indices, weights, links.degrees[order])


if __name__ == "__main__":
    main()

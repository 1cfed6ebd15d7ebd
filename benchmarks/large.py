"""Sampled batches and large graphs: accuracy, the cost of a step, one run in bounded memory, peers.

.venv/bin/python -m benchmarks.large accuracy --seeds 10           # needs NGCN_DATA with planetoid/ and graphs/; hours
.venv/bin/python -m benchmarks.large cost FOLDER --edges 3e5 1e6 1e7 1e8
.venv/bin/python -m benchmarks.large run FOLDER --edges 1e8        # from tables to predictions, RLIMIT_DATA of 4 GB
.venv/bin/python -m benchmarks.large peers FOLDER --edges 1e6 1e7  # needs the extra pyg

FOLDER takes the generated graphs (benchmarks/power_law.py), which are kept there. Each line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

LIMIT = 4 * 10**9  # bytes of private memory
MODELS = ("ngcn", "nsage")
STEPS = 40  # of a measurement
BATCH, FEW_LABELS = 160, "random:10"  # 16 classes: one batch on the smallest graph, whose own split lacks classes
LONGEST = 300.0  # seconds that a peer may take to reach the target
HIDDEN = 64


def accuracy(seeds: int, **settings: Any) -> None:
    """Sampled against full batches, 20 training nodes per class; a graph without a split gets one per seed."""
    from benchmarks.graphs import GRAPHS, with_split
    from ngcn import Config
    from ngcn.training import fit

    for name in ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs"):
        given = GRAPHS[name]()
        for model in MODELS:
            tests: dict[str, list[float]] = {"full": [], "sampled": []}
            for seed in range(seeds):
                graph = with_split(given, "20", seed) if name in ("amazon-photo", "coauthor-cs") else given
                for batch, found in tests.items():
                    found.append(100 * (fit(graph, Config(model=model, batch=batch, **settings), seed).test or 0.0))
            scores = {batch: round(mean(found), 2) for batch, found in tests.items()}
            error = stdev(map(float.__sub__, tests["sampled"], tests["full"])) / seeds**0.5 if seeds > 1 else None
            _print(graph=name, model=model, seeds=seeds, **scores, error_of_difference=error)


def cost(folder: Path, edges: int) -> None:
    """The median time of a step, without validation, for batches of the same size. Full batches up to 10^7 edges.
    Sampled batches are trained twice, and the second training, whose rows are in the cache of files, is timed."""
    from ngcn import Config
    from ngcn.training import fit
    from ngcn.training.sampled import SampledInputs

    setattr(SampledInputs, "_interval", lambda inputs: 10**9)  # noqa: B010 - validation is measured elsewhere
    graph = _built(folder, edges, split=FEW_LABELS if edges < 1e6 else "given")
    for batch in ("sampled", "full") if edges <= 1e7 else ("sampled",):
        config = Config(batch=batch, batch_size=BATCH, steps=STEPS if batch == "sampled" else 6, patience=None)
        for _ in range(2 if batch == "sampled" else 1):
            times = [time.perf_counter()]
            fit(graph, config, on_step=partial(_note_time, times))
        steps = [after - before for before, after in pairwise(times[2:-1])]
        _print(edges=graph.edges, batch=batch, ms_per_step=round(1000 * median(steps), 1))


def _note_time(times: list[float], step: Any) -> None:
    times.append(time.perf_counter())


def run(folder: Path, edges: int) -> None:
    """One command from the tables to a file with every node, in limited private memory."""
    tables, out = _tables(folder, edges), folder / f"run-{edges}"
    command = ["train", str(tables), "--batch", "sampled", "--memory", "4GB", "--out", str(out)]
    begun = time.monotonic()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))

    for arguments in (command, ["predict", str(out), "--all", "--out", str(folder / f"all-{edges}.parquet")]):
        subprocess.run([sys.executable, "-m", "ngcn", *arguments], check=True, preexec_fn=limit)
    result, references = (json.loads((out / name).read_text()) for name in ("result.json", "references.json"))
    _print(
        edges=edges,
        minutes=round((time.monotonic() - begun) / 60, 1),
        test=result["test_mean"],
        logistic_regression=references["regression"]["test"]["accuracy"],
        resident_gb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9,
    )


def peers(folder: Path, edges: int, method: str, target: float) -> None:
    """Seconds until the validation accuracy reaches the target, and the most private memory, in this process. Nothing
    is computed beforehand but the graph on disk."""
    graph = _built(folder, edges)
    shutil.rmtree(graph.folder / "products", ignore_errors=True)
    private = [0.0]
    threading.Thread(target=_watch, args=(private,), daemon=True).start()
    begun = time.perf_counter()
    best = (_ours if method in ("full", "sampled") else _pyg)(graph, method, target)
    _print(
        edges=graph.edges,
        method=method,
        target=target,
        best=round(best, 4),
        seconds=round(time.perf_counter() - begun, 1) if best >= target else None,
        private_gb=round(max(private), 2),
    )


def _watch(private: list[float]) -> None:
    """Note the private memory of this process: pages of memory-mapped files do not count."""
    while True:
        private.append(int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) * 1024 / 1e9)
        time.sleep(0.02)


class _ReachedError(Exception):
    pass


def _ours(graph: Any, method: str, target: float) -> float:
    from ngcn import Config
    from ngcn.training import fit

    best, begun = 0.0, time.perf_counter()

    def on_step(step: Any) -> None:
        nonlocal best
        best = max(best, step.val)
        if best >= target or time.perf_counter() - begun > LONGEST:
            raise _ReachedError

    with suppress(_ReachedError):
        fit(graph, Config(batch=method, patience=None), on_step=on_step)
    return best


def _pyg(graph: Any, method: str, target: float) -> float:
    """GCN and SGC on the whole graph, or SIGN: an MLP on X, Â X, Â² X, ... side by side."""
    import torch
    from torch import nn
    from torch_geometric.nn import GCN, SGConv
    from torch_geometric.transforms import SIGN

    data = graph.in_memory().to_pyg()
    data.x = (data.x - data.x.mean(dim=0)) / data.x.std(dim=0)
    train, val = data.train_mask.nonzero()[:, 0], data.val_mask.nonzero()[:, 0]
    if method == "pyg-sign":
        signed = SIGN(4)(data)
        X = torch.cat([signed.x, *(signed[f"x{k}"] for k in range(1, 5))], dim=1)
        network: nn.Module = nn.Sequential(
            nn.Linear(X.shape[1], HIDDEN), nn.ReLU(), nn.Dropout(), nn.Linear(HIDDEN, graph.classes)
        )

        def forward(rows: Any) -> Any:
            return network(X[rows])

    else:
        features = data.x.shape[1]
        network = (
            GCN(features, HIDDEN, 2, graph.classes, 0.5) if method == "pyg-gcn" else SGConv(features, graph.classes, 4)
        )

        def forward(rows: Any) -> Any:
            return network(data.x, data.edge_index)[rows]

    optimizer, best, begun = torch.optim.Adam(network.parameters(), 0.01), 0.0, time.perf_counter()
    while best < target and time.perf_counter() - begun < LONGEST:
        network.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(train), data.y[train]).backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            best = max(best, float((forward(val).argmax(dim=1) == data.y[val]).float().mean()))
    return best


def _tables(folder: Path, edges: int) -> Path:
    from benchmarks.power_law import write

    tables = folder / f"tables-{edges}"
    if not (tables / "edges.parquet").exists():
        write(tables, edges)
    return tables


def _built(folder: Path, edges: int, split: str = "given") -> Any:
    from ngcn import build, load_dataset

    if not (folder / f"graph-{edges}" / "meta.json").exists():
        build(str(_tables(folder, edges)), out=str(folder / f"graph-{edges}"))
    return load_dataset(folder / f"graph-{edges}", split=split)


def _print(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["accuracy", "cost", "run", "peers"])
    arguments.add_argument("folder", type=Path, nargs="?", default=Path("large"))
    arguments.add_argument("--edges", type=float, nargs="+", default=[1e6])
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--steps", type=int, default=600, help="Of accuracy, as the next two.")
    arguments.add_argument("--powers", type=int, default=6)
    arguments.add_argument("--replicas", type=int, default=4)
    arguments.add_argument("--target", type=float, default=0.6, help="The validation accuracy that peers must reach.")
    arguments.add_argument("--method", help="Of peers: full, sampled, pyg-gcn, pyg-sgc or pyg-sign; all if not given.")
    given = arguments.parse_args()
    if given.what == "accuracy":
        accuracy(given.seeds, steps=given.steps, powers=given.powers, replicas=given.replicas)
        return
    for edges in map(int, given.edges):
        if given.what == "cost":
            cost(given.folder, edges)
        elif given.what == "run":
            run(given.folder, edges)
        elif given.method:
            peers(given.folder, edges, given.method, given.target)
        else:  # a process of its own for each, for its own peak memory
            for method in ("full", "sampled", "pyg-gcn", "pyg-sgc", "pyg-sign"):
                sizes = ["--edges", str(edges), "--target", str(given.target), "--method", method]
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.large", "peers", str(given.folder), *sizes], check=True
                )


if __name__ == "__main__":
    main()

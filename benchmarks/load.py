"""How long a user's own tables take to become a graph, and how much memory.

python -m benchmarks.load [--nodes 100000] [--features 100] [--edges 1000000] [--kind csv|csv.gz|parquet]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".gz":
        with pa.CompressedOutputStream(str(path), "gzip") as stream:
            pa.csv.write_csv(table, stream)
    else:
        pa.csv.write_csv(table, path)


def make(folder: Path, kind: str, nodes: int, features: int, edges: int) -> None:
    random = np.random.default_rng(0)
    ids = np.array([f"node-{number:07}" for number in range(nodes)])
    columns = {"id": ids, "label": random.integers(0, 5, nodes)}
    columns |= {f"x{c}": random.standard_normal(nodes, np.float32) for c in range(features)}
    write(folder / f"nodes.{kind}", columns)
    source, target = ids[random.integers(0, nodes, (2, edges))]
    write(folder / f"edges.{kind}", {"source": source, "target": target})


def load(folder: Path) -> None:
    from ngcn import load_dataset

    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    graph = load_dataset(f"{folder}/")
    seconds, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"{graph}\n{seconds:.1f} s ({cpu:.1f} s of CPU), {used.ru_maxrss / 2**20:.2f} GB at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=("csv", "csv.gz", "parquet"), default="csv")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # for the process that is measured
    args = parser.parse_args()
    if args.folder:
        load(args.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), args.kind, args.nodes, args.features, args.edges)
            subprocess.run([sys.executable, "-m", "benchmarks.load", "--folder", folder], check=True)


if __name__ == "__main__":
    main()

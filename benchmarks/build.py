"""What ngcn build takes: seconds, processor seconds and private memory, under a limit of the latter.

python -m benchmarks.power_law TABLES --edges 1e8
python -m benchmarks.build TABLES OUT              # private memory (RLIMIT_DATA) of 4 GB at most
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from pathlib import Path

from ngcn import build
from ngcn.large import memory_bytes


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tables", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--limit", type=memory_bytes, default="4GB")
    given = arguments.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (given.limit, given.limit))
    peak, start, stages = [0], time.monotonic(), dict[str, float]()

    def watch() -> None:
        while True:
            status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            peak[0] = max(peak[0], 1024 * int(status["RssAnon"].split()[0]))
            time.sleep(0.05)

    threading.Thread(target=watch, daemon=True).start()
    graph = build(
        given.tables,
        out=given.out,
        memory=given.limit,
        on_progress=lambda stage, done, total: stages.update({stage: time.monotonic() - start}),
    )
    for stage, end in stages.items():
        print(f"{stage}: done after {end:.1f} s")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{graph.nodes:,} nodes, {graph.edges:,} edges: {time.monotonic() - start:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} processor seconds, {peak[0] / 1e9:.2f} GB of private memory"
    )


if __name__ == "__main__":
    main()

"""Whether the stored results of the paper's tables still hold: trains some of them again and compares every digit.

.venv/bin/python -m benchmarks.stored            # seeds 0 to 2, about 5 minutes on one core
.venv/bin/python -m benchmarks.stored --seeds 1
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ngcn.experiments import Store
from ngcn.experiments.cell import setup

# Dataset, model, settings: those of Table 2 with the largest networks
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("cora", "gcn", {}),
    ("cora", "sage", {}),
    ("cora", "dcnn", {"powers": 6}),
    ("cora", "ngcn", {"powers": 6, "replicas": 4, "classifier": "attention"}),
    ("cora", "ngcn", {"powers": 6, "replicas": 4, "classifier": "fc"}),
    ("cora", "nsage", {"powers": 6, "replicas": 4, "classifier": "attention"}),
    ("citeseer", "gcn", {}),
    ("citeseer", "ngcn", {"powers": 6, "replicas": 4, "classifier": "attention"}),
)
COMPARED = ("val", "test", "best_step", "steps", "scale_weights")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=3)
    seeds, store, different = arguments.parse_args().seeds, Store("docs/results"), 0
    for dataset, model, settings in CASES:
        for cell in setup(dataset, model, **settings).cells(seeds):
            stored, found = store.get(cell), cell.run()
            if stored is None:
                sys.exit(f"{cell.name} is not in docs/results/summary.jsonl.")
            same = all(found[name] == stored[name] for name in COMPARED)
            different += not same
            seconds = f"{found['seconds']:.1f} s, was {stored['seconds']:.1f} s"
            print(f"{cell.name}: test {found['test']:.4f}, {'same' if same else 'DIFFERENT'} ({seconds})", flush=True)
    print(f"{different} of {len(CASES) * seeds} differ.")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()

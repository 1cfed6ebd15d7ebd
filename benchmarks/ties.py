"""How much the paper's rule leaves to ties: the test scores of all steps that share the highest validation score.

    python -m benchmarks.ties                     # of the outcomes in docs/results
    python -m benchmarks.ties cora:ngcn

A validation score is a count of 500 nodes, so that several steps of a run, and several runs, share the highest one. We
keep the first. The program that the paper's authors published keeps the one with the best test score
(github.com/samihaija/mixhop, ngcn_trainer.py): this shows what that is worth, and is used for nothing else.

Outcomes of ngcn 0.1.0 cannot be had again: they come out as other draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.luck import RESULTS, ROWS
from benchmarks.validation import hits
from ngcn.experiments import Cell, Plan, Store, table2
from ngcn.experiments.section import all_runs, paper_rule


def curve(cell: Cell) -> list[tuple[float, float]]:
    """Validation and test score after every step of a training."""
    val, test = (right.mean(axis=1).tolist() for right in hits(cell.setup.config, cell.seed, "val", "test"))
    return list(zip(val, test, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, help="such as cora:ngcn")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    store = Store(arguments.results)
    store.refresh()
    torch.set_num_threads(1)  # as in the store: the same bits
    for row in arguments.rows:
        dataset, model = row.split(":")
        groups = table2.groups(model, dataset, Plan())
        best = paper_rule(all_runs(store, groups))
        tied = [cell for group in groups for cell in group if (store.get(cell) or {}).get("val") == best["val"]]
        print(f"{row}: {100 * best['test']:.1f}, published {table2.PUBLISHED[model][dataset]:.1f}")
        for cell in tied:
            scores = curve(cell)
            peak = max(val for val, _ in scores)
            tests = [100 * test for val, test in scores if val == peak]
            again = "" if round(peak, 6) == best["val"] else f" (not the {best['val']:.1%} of the store, another draw)"
            name = table2.describe(cell.setup) or model
            print(
                f"    {name}, seed {cell.seed}: {len(tests)} of {len(scores)} steps have validation {peak:.1%}{again}; "
                f"test {tests[0]:.1f} at the first, {min(tests):.1f} to {max(tests):.1f}"
            )


if __name__ == "__main__":
    main()

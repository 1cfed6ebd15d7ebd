"""How much luck there is in the paper's rule, the test score of the run with the best validation score.

    python -m benchmarks.luck                     # of the outcomes in docs/results
    python -m benchmarks.luck cora:ngcn --draws 5000

The seeds of every configuration are drawn again, with replacement, from those that were run, and the rule is applied to
what was drawn: the spread is what other seeds might have given.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ngcn.experiments import Plan, Store, table2
from ngcn.experiments.section import Runs, all_runs, paper_rule

RESULTS = Path(__file__).parents[1] / "docs" / "results"
ROWS = [f"{dataset}:{model}" for dataset in ("cora", "citeseer", "pubmed") for model in ("ngcn", "nsage")]


def redrawn(groups: list[Runs], draws: int) -> np.ndarray:
    """The figure of the paper's rule in %, for each of ``draws`` times that the seeds are drawn."""
    generator = np.random.default_rng(0)

    def again(runs: Runs) -> Runs:
        return Runs(runs.setup, [runs.outcomes[i] for i in generator.integers(len(runs), size=len(runs))])

    return 100 * np.array([paper_rule([again(runs) for runs in groups])["test"] for _ in range(draws)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, help="such as cora:ngcn")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    store = Store(arguments.results)
    store.refresh()
    for row in arguments.rows:
        dataset, model = row.split(":")
        groups = all_runs(store, table2.groups(model, dataset, Plan()))
        published, rule = table2.PUBLISHED[model][dataset], 100 * paper_rule(groups)["test"]
        tests = redrawn(groups, arguments.draws)
        low, high = np.percentile(tests, [2.5, 97.5])
        print(
            f"{row}, {sum(map(len, groups))} runs: {rule:.1f}, published {published:.1f}; drawn again "
            f"{tests.mean():.1f} ± {tests.std():.1f}, 95 % within {low:.1f} and {high:.1f}, as high as published in "
            f"{np.mean(tests > published - 0.05):.1%}"
        )
        means = sorted(((runs.test, table2.describe(runs.setup)) for runs in groups), reverse=True)
        lucky = sum(any(100 * one["test"] > published - 0.05 for one in runs.outcomes) for runs in groups)
        print(
            f"    best mean of a configuration {means[0][0]:.1f} ({means[0][1]}); {lucky} of {len(groups)} "
            "configurations have a run as high as published"
        )


if __name__ == "__main__":
    main()

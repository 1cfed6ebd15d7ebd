"""From the outcomes of many seeds to the numbers of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from ngcn.experiments.cell import Cell, Outcome, Setup
from ngcn.experiments.store import Store
from ngcn.text import mean_std

NOT_RUN = "–"


@dataclass(frozen=True)
class Runs:
    """The outcomes of one configuration, over seeds. Scores are means, in %."""

    setup: Setup
    outcomes: Sequence[Outcome]

    @classmethod
    def of(cls, store: Store, cells: Sequence[Cell]) -> Runs:
        return cls(cells[0].setup, store.outcomes(cells))

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def val(self) -> float:
        return 100 * mean(outcome["val"] for outcome in self.outcomes)

    @property
    def test(self) -> float:
        return 100 * mean(outcome["test"] for outcome in self.outcomes)

    @property
    def std(self) -> float:
        """The standard deviation of the test score over seeds; 0 for one seed."""
        return 100 * mean_std([outcome["test"] for outcome in self.outcomes])[1]

    @property
    def best(self) -> Outcome:
        """The first seed with the best validation score."""
        return max(self.outcomes, key=lambda outcome: outcome["val"])

    def __str__(self) -> str:
        if not self:
            return NOT_RUN
        return f"{self.test:.1f}" + (f" ± {self.std:.1f}" if len(self) > 1 else "")


def all_runs(store: Store, groups: Iterable[Sequence[Cell]]) -> list[Runs]:
    """The runs of each configuration with at least one finished cell."""
    return [runs for cells in groups if (runs := Runs.of(store, cells))]


def paper_rule(groups: Sequence[Runs]) -> Outcome:
    """The paper's choice: the run with the highest validation score of all seeds of all configurations. Ties, common
    with a few hundred validation nodes, go to the configuration with the best mean validation score."""
    return max(groups, key=lambda runs: (runs.best["val"], runs.val)).best


def chosen(groups: Sequence[Runs]) -> Runs:
    """The configuration with the best mean validation score. It must have at least half as many seeds as the others,
    since the mean of few seeds varies more."""
    most = max(map(len, groups))
    return max((runs for runs in groups if 2 * len(runs) >= most), key=lambda runs: runs.val)


def difference(ours: float, published: float) -> str:
    """The difference of the numbers as shown, with one decimal.

    >>> difference(82.96, 83.0), difference(70.24, 71.2)
    ('0.0', '-1.0')
    """
    gap = round(round(ours, 1) - published, 1) + 0.0  # no -0.0
    return f"{gap:+.1f}" if gap else "0.0"

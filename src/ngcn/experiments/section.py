"""The results of an experiment: scores over seeds, tables and figures, for a Markdown page or the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

from ngcn.experiments.cell import Cell, Outcome, Setup
from ngcn.experiments.store import Store
from ngcn.figures import COLORS, MARKERS, Drawing
from ngcn.text import mean_std

if TYPE_CHECKING:
    from rich.table import Table as Shown

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


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; the first column has names, the others have numbers.

    Example:
        >>> print(Table("Accuracy in %", ["", "ours"], [["GCN", "80.7"]]).markdown())
        | | ours |
        |---|---:|
        | GCN | 80.7 |
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        rule = "|---|" + "---:|" * (len(self.header) - 1)
        head, *body = [
            "".join(f"| {text} ".replace("  ", " ") for text in row) + "|" for row in (self.header, *self.rows)
        ]
        return "\n".join([head, rule, *body])

    def shown(self) -> Shown:
        """For a terminal. To fit 80 characters, names may wrap; numbers do not."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Shown

        shown = Shown(title=self.title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        shown.show_edge = False
        for number, (name, *column) in enumerate(zip(self.header, *self.rows, strict=True)):
            numeric = number > 0 and all(text[:1] in "+-–0123456789" for text in column)
            header = name.replace(" ", "\n") if numeric else name
            shown.add_column(header, justify="right" if number else "left", no_wrap=numeric, vertical="bottom")
        for row in self.rows:
            shown.add_row(*row)
        return shown


@dataclass(frozen=True)
class Figure:
    """A drawing, made by ``draw``, with its alternative text."""

    name: str
    alt: str
    draw: Callable[[], Drawing]


Part = str | Table | Figure


@dataclass(frozen=True)
class Section:
    """The results of an experiment so far; ``done`` of its ``cells`` cells are in the store."""

    title: str
    done: int
    cells: int
    parts: Sequence[Part]


def draw_line(panel: Any, points: Sequence[tuple[float, Runs]], number: int, label: str) -> None:
    """Mean test scores with their standard deviations, in the colour and with the marker of this number."""
    if points:
        x, y, std = zip(*((x, runs.test, runs.std) for x, runs in points), strict=True)
        style = {"color": COLORS[number], "marker": MARKERS[number], "capsize": 2, "linewidth": 1.5}
        panel.errorbar(x, y, std, label=label, **style)

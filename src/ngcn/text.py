"""How numbers and names are written for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from statistics import mean, stdev

METRICS = {"accuracy": "Accuracy", "micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}


def dataset_title(dataset: str) -> str:
    """
    >>> dataset_title("cora"), dataset_title("ppi")
    ('Cora', 'PPI')
    """
    return "PPI" if dataset == "ppi" else dataset.capitalize()


def count(number: int, what: str) -> str:
    """
    >>> count(1, "seed"), count(20, "seed")
    ('1 seed', '20 seeds')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """
    >>> percent(0.5), percent(0.815, 1)
    ('50 %', '81.5 %')
    """
    return f"{100 * share:.{digits}f} %"


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the sample standard deviation, which is 0 for a single value.

    >>> mean_std([0.5]), mean_std([1.0, 2.0, 3.0])
    ((0.5, 0.0), (2.0, 1.0))
    """
    return mean(values), stdev(values) if len(values) > 1 else 0.0


def plus_minus(values: Sequence[float], digits: int = 1, unit: str = "") -> str:
    """Mean ± standard deviation; of a single value, just the value.

    >>> plus_minus([80.0, 81.0]), plus_minus([80.0], unit=" %")
    ('80.5 ± 0.7', '80.0 %')
    """
    center, spread = mean_std(values)
    return f"{center:.{digits}f}{unit}" + (f" ± {spread:.{digits}f}" if len(values) > 1 else "")


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """
    >>> did_you_mean("atention", ["attention", "fc"]), did_you_mean("xyz", ["fc"])
    ("did you mean 'attention'?", '')
    """
    near = get_close_matches(name, list(known), n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""

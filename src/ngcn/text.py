"""How numbers and names are written for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from statistics import mean, stdev

METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "Average precision",
    "loss": "Loss",
}


def plain(text: str) -> str:
    r"""Escape characters that a terminal would act on, or cannot show; spaces, tabs and line ends stay.

    >>> print(plain("a\x1b[31m b"))
    a\x1b[31m b
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def shorten(text: str, most: int) -> str:
    """The start and the end of a long text: the end of a message is its remedy.

    >>> shorten("0123456789" * 3, 20)
    '01234567890 ... 6789'
    """
    if len(text) <= most:
        return text
    start = (most - 5) * 3 // 4
    return f"{text[:start]} ... {text[len(text) - (most - 5 - start) :]}"


def shown(value: object) -> str:
    """A value in a message, in a few words whatever it is.

    >>> shown("a"), shown(10**9999)
    ("'a'", 'a number of 33216 bits')
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    try:
        return shorten(repr(value), 100)
    except Exception:  # of a class of the user's, or of what it holds
        return f"a {type(value).__name__}"


def dataset_title(dataset: str) -> str:
    """
    >>> dataset_title("cora"), dataset_title("ppi"), dataset_title("ppi-rebuilt")
    ('Cora', 'PPI', 'PPI, rebuilt labels')
    """
    return {"ppi": "PPI", "ppi-rebuilt": "PPI, rebuilt labels"}.get(dataset, dataset.capitalize())


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


def score_text(metric: str, value: float, digits: int = 1) -> str:
    """A score for people: the loss is no percentage.

    >>> score_text("accuracy", 0.815), score_text("loss", 0.5)
    ('81.5 %', '0.500')
    """
    return f"{value:.3f}" if metric == "loss" else percent(value, digits)


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


def gigabytes(size: float) -> str:
    """
    >>> gigabytes(2_500_000_000), gigabytes(3_000_000)
    ('2.5 GB', '3 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"

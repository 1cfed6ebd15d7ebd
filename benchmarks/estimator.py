"""`NGCNClassifier` beside scikit-learn's own classifiers, with few labels and no graph: mean test accuracy over seeds.

.venv/bin/python -m benchmarks.estimator            # the table of docs/guides/scikit-learn.md
.venv/bin/python -m benchmarks.estimator --seeds 2  # a quick look
.venv/bin/python -m benchmarks.estimator --settings '{"n_neighbors": 5}'  # to choose settings by

Half of the samples, the same for all seeds, are only tested on. Labels are drawn from the other half. Every method is
given the features of all samples and these labels; logistic regression can use those of the labelled samples only.

With --settings, NGCNClassifier alone is fitted, for other seeds and on two datasets more, and judged on the samples of
the first half that have no label: validation accuracy. Columns are as they come then.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from ngcn import NGCNClassifier

PER_CLASS = (5, 10, 20)


def datasets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pixels as they are, since they have one unit; measures of cells standardised, since they have many."""
    digits, digit = load_digits(return_X_y=True)
    cells, cancer = load_breast_cancer(return_X_y=True)
    return {"digits": (digits / 16, digit), "breast cancer": (StandardScaler().fit_transform(cells), cancer)}


def methods(seed: int) -> dict[str, Any]:
    return {
        "NGCNClassifier()": NGCNClassifier(random_state=seed),
        'LabelSpreading(kernel="knn")': LabelSpreading(kernel="knn"),
        'LabelSpreading(kernel="knn", alpha=0.8)': LabelSpreading(kernel="knn", alpha=0.8, max_iter=1000),
        "SelfTrainingClassifier(LogisticRegression())": SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
        "LogisticRegression()": LogisticRegression(max_iter=1000),
    }


def predictions(method: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The class of every sample, after fitting to y with its -1."""
    if isinstance(method, LogisticRegression):
        return method.fit(X[y != -1], y[y != -1]).predict(X)
    method.fit(X, y)
    return method.predict(X) if isinstance(method, SelfTrainingClassifier) else method.transduction_


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument(
        "--settings", type=json.loads, help="of NGCNClassifier, as JSON: measure validation accuracy"
    )
    given = arguments.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    warnings.filterwarnings("ignore", message="invalid value encountered in divide")  # LabelSpreading's, out of reach
    if given.settings is None:
        measure(datasets(), PER_CLASS, range(given.seeds), methods)
        return
    loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    data = {name: loader(return_X_y=True) for name, loader in loaders.items()}
    ours = f"NGCNClassifier(**{given.settings})"
    seeds = range(100, 100 + given.seeds)
    measure(data, (5, 20), seeds, lambda seed: {ours: NGCNClassifier(**given.settings, random_state=seed)}, test=False)


def measure(
    data: dict[str, tuple[np.ndarray, np.ndarray]],
    labels: tuple[int, ...],
    seeds: range,
    methods: Callable[[int], dict[str, Any]],
    *,
    test: bool = True,
) -> None:
    """Print the table after every seed, so far as it goes."""
    accuracies = defaultdict(list)
    for seed in seeds:
        random = np.random.default_rng(seed)
        for name, (X, y) in data.items():
            pool, other = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
            for per_class in labels:
                of_each = [random.choice(pool[y[pool] == c], per_class, replace=False) for c in np.unique(y)]
                few = np.full(len(y), -1)
                few[np.concatenate(of_each)] = y[np.concatenate(of_each)]
                judged = other if test else pool[few[pool] == -1]
                for method, classifier in methods(seed).items():
                    right = predictions(classifier, X, few)[judged] == y[judged]
                    accuracies[method, name, per_class].append(right.mean())
        print_table(accuracies, f"{'Test' if test else 'Validation'} accuracy in %, {seed - seeds[0] + 1} seed(s)")


def print_table(accuracies: dict[tuple[str, str, int], list[float]], title: str) -> None:
    columns = list(dict.fromkeys(key[1:] for key in accuracies))
    print(f"\n{title}")
    print("| | " + " | ".join(f"{data}, {per_class} per class" for data, per_class in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in dict.fromkeys(key[0] for key in accuracies):
        cells = [100 * np.array(accuracies[name, *column]) for column in columns]
        print(f"| `{name}` | " + " | ".join(f"{c.mean():.1f} ± {c.std():.1f}" for c in cells) + " |", flush=True)


if __name__ == "__main__":
    main()

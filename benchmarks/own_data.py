"""Three graphs that no default of `ngcn train` was chosen on, as files, beside logistic regression on their features.

python -m benchmarks.own_data [--seeds 5] [--splits planetoid random:5] [--graphs scipy]

scipy: its modules; words of their code, imports as edges, and the subpackage to be found.
sympy: the same for sympy, not one of the three: that long rows have length 1 was decided on its validation nodes.
digits, cancer: scikit-learn's images of digits and measurements of cells, linked to their 10 nearest by features.

Every seed draws a split of its own. The regression sees the features as N-GCN does, and its C is chosen on the
validation nodes; nobody sees test labels before the end.
"""

from __future__ import annotations

import argparse
import ast
import logging
import re
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from ngcn import Config, Graph, load_dataset, train
from ngcn.data.knn import knn_graph
from ngcn.model import prepare

C = (0.01, 0.1, 1, 10, 100)
SPLITS = ("planetoid", "random:20", "random:5")


def imports(folder: Path, package: str) -> None:
    """A module is a node; which modules it imports is in the edges, which words it uses in the features."""
    root = Path(str(import_module(package).__file__)).parent
    modules = {".".join(path.relative_to(root.parent).with_suffix("").parts): path for path in root.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    words: list[tuple[str, str]] = []
    edges: list[tuple[str, str]] = []
    for name, path in modules.items():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom | ast.Import):
                edges += [(name, target) for target in _targets(node, name, path) if target in modules]
                lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)  # type: ignore[operator]
        used = set(re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", "\n".join(lines)).lower()))
        words += [(name, word) for word in used]
    seen = Counter(word for _, word in words)
    words = [(name, word) for name, word in words if 5 <= seen[word] <= len(modules) / 2]
    packages = {name: [*name.split("."), ""][1] for name in modules}
    sizes = Counter(packages.values())
    labels = [packages[name] if sizes[packages[name]] >= 30 and "." in name else "" for name in modules]
    pd.DataFrame({"id": list(modules), "label": labels}).to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    pd.DataFrame(words, columns=["id", "feature"]).to_csv(folder / "features.csv.gz", index=False)


def _targets(node: ast.Import | ast.ImportFrom, name: str, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
    module = (base + (node.module or "")).rstrip(".")
    return [module, *(f"{module}.{alias.name}" for alias in node.names)]


def neighbours(folder: Path, data: object) -> None:
    X, y = data.data, data.target_names[data.target]  # type: ignore[attr-defined]
    nodes = pd.DataFrame(X, columns=[str(name) for name in data.feature_names])  # type: ignore[attr-defined]
    nodes.insert(0, "id", np.arange(len(X)))
    nodes.insert(1, "label", y)
    nodes.to_parquet(folder / "nodes.parquet")
    edges = np.argwhere(np.triu(knn_graph(scale(X), 10).toarray()))
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.tsv", sep="\t", index=False)


GRAPHS = {
    "scipy": lambda folder: imports(folder, "scipy"),
    "sympy": lambda folder: imports(folder, "sympy"),
    "digits": lambda folder: neighbours(folder, load_digits()),
    "cancer": lambda folder: neighbours(folder, load_breast_cancer()),
}


def regression(graph: Graph) -> float:
    """The test accuracy of logistic regression, C chosen on validation."""
    X: Any = prepare(graph, Config())(graph.features)
    if graph.features.shape[1] > 1000:  # rows of length 1 suit a regression on words better than rows of sum 1
        X = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1)).clip(1e-12)[:, None]).tocsr()
    fits = [LogisticRegression(C=c, max_iter=1000).fit(X[graph.train], graph.labels[graph.train]) for c in C]
    best = max(fits, key=lambda fit: fit.score(X[graph.val], graph.labels[graph.val]))
    return best.score(X[graph.test], graph.labels[graph.test])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", nargs="+", default=SPLITS)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    args = parser.parse_args()
    logging.disable()  # that there is no split is meant
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.graphs:
            folder = Path(scratch) / name
            folder.mkdir()
            GRAPHS[name](folder)
            print(load_dataset(f"{folder}/"), flush=True)
            for split in args.splits:
                ours, theirs, start = [], [], time.process_time()
                for seed in range(args.seeds):
                    graph = load_dataset(f"{folder}/", split=split, seed=seed)
                    theirs.append(regression(graph))
                    ours.append(train(graph, Config(seed=seed)).test or 0)
                a, b = (f"{100 * np.mean(x):.1f} ± {100 * np.std(x, ddof=1):.1f}" for x in (ours, theirs))
                took = (time.process_time() - start) / args.seeds
                print(f"  {split}: N-GCN {a}, logistic regression {b}  ({took:.0f} s of CPU a seed)", flush=True)


if __name__ == "__main__":
    main()

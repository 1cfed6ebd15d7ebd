"""Plain `ngcn train` beside what else one would try on a graph: PyTorch Geometric's models, features or edges alone.

python -m benchmarks.alternatives STORE.jsonl [--graphs cora town] [--methods ngcn GCN] [--splits 20 half] [--seeds 5]

Every cell of graph x split x seed x method is trained once and appended to the store; finished cells are
skipped. `python -m benchmarks.alternatives STORE.jsonl --show` prints the tables. Peers have 64 hidden units and 200
epochs, and keep the epoch with the best validation accuracy, ties broken by validation loss; the settings of the
features-only peers are chosen on validation too. Times are CPU seconds.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout
from torch_geometric import nn as pyg

from benchmarks.graphs import GRAPHS, append, options, with_split
from ngcn import Config, Graph, train
from ngcn.model import prepare
from ngcn.ops import normalize

Method = Callable[[Graph, int], Any]  # graph and seed -> probabilities, and prediction sets if it has them
HIDDEN, EPOCHS, C = 64, 200, (0.01, 0.1, 1, 10, 100)


def prepared(graph: Graph) -> Any:
    X = prepare(graph, Config(recipe="paper"))(graph.features)
    return sp.csr_array(X) if sp.issparse(X) else X


def csr(matrix: Any) -> Tensor:
    matrix = sp.csr_array(matrix)
    rows, columns = (torch.from_numpy(index.astype(np.int64)) for index in (matrix.indptr, matrix.indices))
    return torch.sparse_csr_tensor(rows, columns, torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)


class Input:
    """X, sparse or dense, as something to multiply with a weight; dropout leaves a sparse X sparse."""

    def __init__(self, X: Any) -> None:
        self.sparse = sp.issparse(X)
        self.columns = X.shape[1]
        if self.sparse:
            coo = X.tocoo()
            self.index, self.shape = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)), X.shape
            self.values = torch.from_numpy(coo.data.astype(np.float32))
        else:
            self.values = torch.from_numpy(np.ascontiguousarray(X, np.float32))

    def __call__(self, training: bool) -> Tensor:
        values = dropout(self.values, 0.5, training)
        if not self.sparse:
            return values
        return torch.sparse_coo_tensor(self.index, values, self.shape, is_coalesced=True, check_invariants=False)


class GCN(nn.Module):
    def __init__(self, X: Input, graph: Graph) -> None:
        super().__init__()
        self.A = csr(normalize(graph.adjacency).matrix)
        self.first = pyg.GCNConv(X.columns, HIDDEN, normalize=False)
        self.second = pyg.GCNConv(HIDDEN, graph.classes, normalize=False)

    def forward(self, X: Input) -> Tensor:
        Z = self.first(X(self.training), self.A).relu()
        return self.second(dropout(Z, 0.5, self.training), self.A)


class SAGE(nn.Module):
    """PyG's SAGEConv with the mean, multiplied before it is averaged: the same function, and sparse X stays sparse."""

    def __init__(self, X: Input, graph: Graph) -> None:
        super().__init__()
        A = (graph.adjacency + graph.adjacency.T != 0).astype(np.float32)
        degree = np.maximum(np.asarray(A.sum(axis=1)), 1)
        self.P = csr(sp.diags_array(1 / degree) @ A)
        widths = (X.columns, HIDDEN, graph.classes)
        self.own = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairwise(widths))
        self.mean = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(widths))

    def forward(self, X: Input) -> Tensor:
        Z = X(self.training)
        layers: Any = zip(self.own, self.mean, strict=True)
        for i, (own, mean) in enumerate(layers):
            Z = dropout(Z.relu(), 0.5, self.training) if i else Z
            Z = Z @ own.weight.T + self.P @ (Z @ mean.weight.T) + mean.bias
        return Z


class APPNP(nn.Module):
    def __init__(self, X: Input, graph: Graph) -> None:
        super().__init__()
        self.A = csr(normalize(graph.adjacency).matrix)
        self.first, self.second = nn.Linear(X.columns, HIDDEN), nn.Linear(HIDDEN, graph.classes)
        self.propagate = pyg.APPNP(K=10, alpha=0.1, normalize=False)

    def forward(self, X: Input) -> Tensor:
        Z = (X(self.training) @ self.first.weight.T + self.first.bias).relu()
        return self.propagate(self.second(dropout(Z, 0.5, self.training)), self.A)


class GCNII(nn.Module):
    def __init__(self, X: Input, graph: Graph, layers: int = 8) -> None:
        super().__init__()
        self.A = csr(normalize(graph.adjacency).matrix)
        self.first, self.last = nn.Linear(X.columns, HIDDEN), nn.Linear(HIDDEN, graph.classes)
        self.layers = nn.ModuleList(
            pyg.GCN2Conv(HIDDEN, alpha=0.1, theta=0.5, layer=i + 1, normalize=False) for i in range(layers)
        )

    def forward(self, X: Input) -> Tensor:
        Z = first = (X(self.training) @ self.first.weight.T + self.first.bias).relu()
        for layer in self.layers:
            Z = layer(dropout(Z, 0.5, self.training), first, self.A).relu()
        return self.last(dropout(Z, 0.5, self.training))


def neural(kind: type[nn.Module]) -> Method:
    def probabilities(graph: Graph, seed: int) -> np.ndarray:
        torch.manual_seed(seed)
        X = Input(prepared(graph))
        model, y = kind(X, graph), torch.from_numpy(graph.labels)
        rows, val = torch.from_numpy(graph.train.nonzero()[0]), torch.from_numpy(graph.val.nonzero()[0])
        adam = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        best, kept = (-1.0, 0.0), torch.zeros(0)
        for _ in range(EPOCHS):
            model.train()
            adam.zero_grad()
            cross_entropy(model(X)[rows], y[rows]).backward()
            adam.step()
            with torch.no_grad():
                logits = model.eval()(X)
            accuracy = float((logits[val].argmax(dim=1) == y[val]).float().mean())
            score = (accuracy, -float(cross_entropy(logits[val], y[val])))
            if score > best:
                best, kept = score, logits
        return kept.softmax(dim=1).numpy()

    return probabilities


def regression(graph: Graph, seed: int) -> np.ndarray:
    X = prepared(graph)
    if sp.issparse(X):  # rows of length 1 suit a regression on words better than rows of sum 1
        X = sp.csr_array(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1)).clip(1e-12)[:, None]))
    fits = [LogisticRegression(C=c, max_iter=200).fit(X[graph.train], graph.labels[graph.train]) for c in C]
    best = max(fits, key=lambda fit: fit.score(X[graph.val], graph.labels[graph.val]))
    return best.predict_proba(X)


def trees(graph: Graph, seed: int) -> np.ndarray:
    from lightgbm import LGBMClassifier, early_stopping

    X, y = sp.csr_matrix(graph.features) if sp.issparse(graph.features) else graph.features, graph.labels
    model = LGBMClassifier(
        n_estimators=200, learning_rate=0.1, min_child_samples=5, verbose=-1, n_jobs=1, random_state=seed
    )
    fit = model.fit(
        X[graph.train],
        y[graph.train],
        eval_set=[(X[graph.val], y[graph.val])],
        callbacks=[early_stopping(20, verbose=False)],
    )
    return np.asarray(fit.predict_proba(X))


def propagation(graph: Graph, seed: int) -> np.ndarray:
    return train(graph, Config(model="lp", seed=seed)).model.predict_proba(graph)


def ours(*models: str, **settings: Any) -> Method:
    """A model of this package, with prediction sets; of several, the one with the best validation score."""

    def probabilities(graph: Graph, seed: int) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        results = [train(graph, Config(model=name, seed=seed, **settings)) for name in models]
        model = max(results, key=lambda result: result.val).model
        p = model.predict_proba(graph)
        if not len(model.network.calibration.conformal):  # too few validation nodes for prediction sets
            return p
        return p, model.predict_set(graph, coverage=0.9)

    return probabilities


METHODS: dict[str, Method] = {
    "GCN": neural(GCN),
    "SAGE": neural(SAGE),
    "APPNP": neural(APPNP),
    "GCNII": neural(GCNII),
    "regression": regression,
    "LightGBM": trees,
    "LP": propagation,
    "ngcn": ours("mixed"),
    "attention": ours("mixed", recipe="standard", hidden=16),
    "portfolio": ours("ngcn", "nsage", "mlp", "mixed", recipe="standard", hidden=16),
}


def calibration_error(p: np.ndarray, y: np.ndarray, bins: int = 15) -> float:
    """The gap between confidence and accuracy, averaged over bins of confidence."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    bin_of = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [abs((right - sure)[bin_of == b].sum()) for b in range(bins)]
    return float(sum(gaps) / len(y))


def error_by_chance(p: np.ndarray, draws: int = 200) -> float:
    """The calibration error that predictions as sure as these have on average if they are perfectly calibrated: few
    nodes are never correct exactly as often as expected."""
    random, sure = np.random.default_rng(0), p.max(axis=1)
    right = p.argmax(axis=1)
    drawn = (np.where(random.random(len(p)) < sure, right, right - 1) for _ in range(draws))
    return float(np.mean([calibration_error(p, y) for y in drawn]))


def measure(graph: Graph, method: str, seed: int) -> dict[str, float]:
    start = time.process_time()
    found = METHODS[method](graph, seed)
    y, seconds = graph.labels[graph.test], time.process_time() - start
    sets = {}
    if isinstance(found, tuple):
        found, inside = found[0], found[1][graph.test]
        sets = {"coverage": float(inside[np.arange(len(y)), y].mean()), "size": float(inside.sum(axis=1).mean())}
    p = found[graph.test]
    try:
        auc = roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")
    except ValueError:  # a class without test nodes
        auc = float("nan")
    right = float((p.argmax(axis=1) == y).mean())
    errors = {"ece": calibration_error(p, y), "chance": error_by_chance(p)}
    return {"accuracy": right, "auc": float(auc), **errors, "seconds": seconds, **sets}


def show(store: Path) -> None:
    """Means over the splits that all methods of a row have been trained on."""
    cells: dict[tuple[str, str], dict[str, dict[int, dict[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    for line in store.read_text().splitlines():
        row = json.loads(line)
        cells[row["graph"], row["split"]][row["method"]][row["seed"]] = row
    methods = [name for name in METHODS if any(name in of for of in cells.values())]
    for what, scale in (
        ("accuracy", 100),
        ("ece", 100),
        ("chance", 100),
        ("seconds", 1),
        ("coverage", 100),
        ("size", 1),
    ):
        columns = [name for name in methods if any(what in row for of in cells.values() for row in of[name].values())]
        print(f"\n| {what} | splits | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 2))
        for (graph, split), of in sorted(cells.items(), key=lambda item: (item[0][1], list(GRAPHS).index(item[0][0]))):
            seeds = set.intersection(*(set(rows) for rows in of.values() if rows))
            means = [[of[name][seed].get(what, np.nan) for seed in seeds if seed in of[name]] for name in columns]
            shown = [f"{scale * np.mean(values):.1f}" if values else "" for values in means]
            if what == "accuracy" and any(shown):
                most = max(shown, key=lambda text: float(text or 0))
                shown = [f"**{text}**" if text == most else text for text in shown]
            print(f"| {graph}, {split} | {len(seeds)} | " + " | ".join(shown).replace("nan", "") + " |")


def main() -> None:
    parser = options(__doc__, graphs=GRAPHS, methods=METHODS, default=METHODS, seeds=5)
    parser.add_argument("--splits", nargs="+", default=["20", "half"])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.disable()
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")  # sparse CSR is in beta; a regression may not converge
    if args.show:
        show(args.store)
        return
    known = {
        tuple(json.loads(line)[key] for key in ("graph", "split", "seed", "method"))
        for line in (args.store.read_text().splitlines() if args.store.exists() else ())
    }
    for name in args.graphs:
        graph = GRAPHS[name]()
        for seed in range(args.seeds):
            for split in args.splits:
                for method in args.methods:
                    if (name, split, seed, method) not in known:
                        found = measure(with_split(graph, split, seed), method, seed)
                        append(args.store, {"graph": name, "split": split, "seed": seed, "method": method, **found})


if __name__ == "__main__":
    main()

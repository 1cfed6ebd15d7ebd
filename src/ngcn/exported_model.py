"""A trained network in plain PyTorch. It needs only this file and model.pt next to it.

    from model import load

    model = load()                             # model.pt, from the folder of this file
    p = model(X, edges)                        # (nodes, classes) probabilities
    names = [model.classes[c] for c in p.argmax(dim=1)]

X is a ``(nodes, features)`` tensor of raw features, in the order of ``model.features``; edges is a ``(2, edges)``
tensor of node indices, each edge in one or both directions; optional edge weights are an ``(edges,)`` tensor. Written
by `ngcn export` (https://arxiv.org/abs/1802.08888).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid, normalize


class Model(nn.Module):
    """The network, from raw features to class probabilities.

    Tower t applies the operator ``operators[t]`` ``powers[t]`` times in each of its layers.

    ``tensors`` has an ``(inputs, outputs)`` weight for layer i of tower t, ``weight_t_i``; for SAGE also that of the
    node itself, ``own_t_i``; a row ``bias_t_i`` where there are biases; the weights of a fully-connected classifier,
    ``classifier_0``, ..., or the ``scores`` of the towers in a mixture; the ``slope`` and the ``offset`` of the
    calibration; ``mean`` and ``deviation`` for standardised features; and ``fill``, the mean of each column, from which
    missing values (NaN in X) are filled.
    """

    def __init__(self, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super().__init__()
        self.settings = settings
        self.classes: list[str] = settings["classes"]
        self.features: list[str] = settings["features"]
        self.powers: list[int] = settings["powers"]
        self.tensors = nn.ParameterDict(tensors)

    def forward(self, X: Tensor, edges: Tensor, weights: Tensor | None = None) -> Tensor:
        """The class probabilities, ``(nodes, classes)``; for multi-label, each class is independent."""
        Z = self.towers(edges, weights, self.prepare(X.float(), edges, weights))
        logits = self.classify(Z) * self.tensors["slope"] + self.tensors["offset"]
        return torch.sigmoid(logits) if self.settings["multilabel"] else torch.softmax(logits, dim=1)

    def prepare(self, X: Tensor, edges: Tensor, weights: Tensor | None) -> Tensor:
        """Prepare the features as in training."""
        how, missing = self.settings["preparation"], X.isnan()
        X = (X != 0).to(X.dtype) if how in ("bag", "unit") else X
        if missing.any():
            X = self.fill(X, missing, edges, weights)
        if how == "standard":
            return (X - self.tensors["mean"]) / self.tensors["deviation"]
        if how == "none":
            return X
        if how == "unit":
            return normalize(X, dim=1)
        total = X.abs().sum(dim=1, keepdim=True)
        return X / torch.where(total > 0, total, 1)

    def fill(self, X: Tensor, missing: Tensor, edges: Tensor, weights: Tensor | None) -> Tensor:
        """Fill missing values as in training: from the neighbours, or with the mean of the column in training."""
        if "fill" not in self.tensors or self.settings["missing"] == "error":
            raise ValueError("X has missing values (NaN); fill them, since this model was trained without any.")
        X = torch.where(missing, self.tensors["fill"], X)
        if self.settings["missing"] == "mean":
            return X
        T = self.adjacency(edges, weights, len(X), "walk")
        alone = torch.bincount(T.coalesce().indices()[0], minlength=len(X))[:, None] == 0
        for _ in range(40):
            X = torch.where(missing & ~alone, torch.sparse.mm(T, X), X)
        return X

    def adjacency(self, edges: Tensor, weights: Tensor | None, nodes: int, how: str) -> Tensor:
        """The normalised adjacency. symmetric and row: undirected, with the larger weight of both directions, and with
        self-loops; walk: the same without them; in and out: the mean over edges in one direction."""
        edges = edges.long()  # nodes * nodes may exceed 32 bits
        if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < nodes:
            raise ValueError(
                f"edges must be indices from 0 to {nodes - 1}, not {int(edges.min())} to {int(edges.max())}."
            )
        once, number = torch.unique(edges[0] * nodes + edges[1], return_inverse=True)
        weight = torch.ones(len(once))
        if weights is not None:  # duplicate edges are summed
            weight = torch.zeros(len(once)).index_add_(0, number, weights.float())
        row, column = once // nodes, once % nodes
        if how == "in":
            row, column = column, row
        elif how != "out":
            both, number = torch.unique(torch.cat([once, column * nodes + row]), return_inverse=True)
            weight = torch.zeros(len(both)).scatter_reduce_(0, number, weight.repeat(2), "amax")
            row, column = both // nodes, both % nodes
        kept = (row != column) & (weight != 0)
        row, column, weight = row[kept], column[kept], weight[kept]
        if how in ("symmetric", "row"):
            itself = torch.arange(nodes)
            row, column, weight = (
                torch.cat([row, itself]),
                torch.cat([column, itself]),
                torch.cat([weight, torch.ones(nodes)]),
            )
        degree = torch.zeros(nodes).index_add_(0, row, weight)
        weight = weight / ((degree[row] * degree[column]).sqrt() if how == "symmetric" else degree[row])
        return torch.sparse_coo_tensor(torch.stack([row, column]), weight, (nodes, nodes), check_invariants=False)

    def towers(self, edges: Tensor, weights: Tensor | None, X: Tensor) -> Tensor:
        """The outputs of all towers, ``(nodes, towers, width)``."""
        operators = self.settings["operators"]
        A = {how: self.adjacency(edges, weights, len(X), how) for how in dict.fromkeys(operators)}
        return torch.stack([self.tower(A[how], X, t) for t, how in enumerate(operators)], dim=1)

    def tower(self, A: Tensor, X: Tensor, t: int) -> Tensor:
        Z, i, unit_rows = X, 0, self.settings["unit_rows"][t]
        while f"weight_{t}_{i}" in self.tensors:
            if i > 0:
                Z = torch.relu(Z)
                Z = normalize(Z, dim=1) if unit_rows else Z
            own = Z @ self.tensors[f"own_{t}_{i}"] if f"own_{t}_{i}" in self.tensors else 0.0
            Z = Z @ self.tensors[f"weight_{t}_{i}"]
            for _ in range(self.powers[t]):
                Z = torch.sparse.mm(A, Z)
            Z = Z + own
            Z = Z + self.tensors[f"bias_{t}_{i}"] if f"bias_{t}_{i}" in self.tensors else Z
            i += 1
        Z = torch.relu(Z) if "classifier_0" in self.tensors else Z
        return normalize(Z, dim=1) if unit_rows else Z

    def classify(self, Z: Tensor) -> Tensor:
        """Combine the towers into one logit per class."""
        if "classifier_0" in self.tensors:
            H = Z.flatten(1) @ self.tensors["classifier_0"]
            return torch.relu(H) @ self.tensors["classifier_1"] if "classifier_1" in self.tensors else H
        if "scores" not in self.tensors:
            return Z[:, 0]
        log_m = log_softmax(self.tensors["scores"], dim=0)[:, None]
        if self.settings["multilabel"]:
            yes, no = (torch.logsumexp(log_m + logsigmoid(score), dim=1) for score in (Z, -Z))
            return yes - no
        return torch.logsumexp(log_m + log_softmax(Z, dim=2), dim=1)


def load(path: str | Path | None = None) -> Model:
    """Load the model from a file, in evaluation mode."""
    saved = torch.load(path or Path(__file__).with_name("model.pt"), weights_only=True)
    return Model(saved["settings"], saved["tensors"]).eval().requires_grad_(False)

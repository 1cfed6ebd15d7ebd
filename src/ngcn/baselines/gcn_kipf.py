r"""GCN as its authors trained it: two layers on Â, L2 on the first alone, stopped early by the validation loss.

The network is that of ``gcn``; the recipe differs from ours, which takes the parameters at peak validation accuracy and
has L2 on all of them. (T. Kipf and M. Welling, *Semi-supervised classification with graph convolutional networks*, ICLR
2017, and the code they published with it.)

.. math:: \mathrm{softmax}\big(\hat{A} \, \mathrm{ReLU}(\hat{A} X W_0) \, W_1\big), \qquad
    \text{loss} = \text{cross entropy} + \tfrac{\lambda}{2} \|W_0\|^2

Settings: theirs, among them rows of the features that sum to 1. Training stops when the validation loss is above its
mean over the ``window`` steps before, and the parameters of that step are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ngcn.baselines.protocol import Baseline
from ngcn.graph import Graph
from ngcn.nn import build_network
from ngcn.ops import Features, normalize


@dataclass(kw_only=True)
class KipfGCN(Baseline):
    """GCN with the training recipe of Kipf and Welling."""

    title: ClassVar[str] = "GCN (Kipf and Welling's settings)"
    auto_features: ClassVar[str] = "row"

    hidden: int = 16
    dropout: float = 0.5
    lr: float = 0.01
    l2: float = 5e-4
    steps: int = 200
    window: int = 10

    def fit(self, graph: Graph, seed: int) -> None:
        A_hat, X = normalize(graph.adjacency), Features(graph.features)
        train, val = (torch.from_numpy(mask.nonzero()[0]) for mask in (graph.train, graph.val))
        labels = torch.from_numpy(graph.labels)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network_ = build_network("gcn", X.shape[1], graph.classes, hidden=self.hidden, dropout=self.dropout)
            first, second = self.network_.parameters()
            groups = [{"params": [first], "weight_decay": self.l2}, {"params": [second], "weight_decay": 0.0}]
            adam = torch.optim.Adam(groups, lr=self.lr)
            self.val_losses_: list[float] = []
            for _ in range(self.steps):
                self.network_.train()
                adam.zero_grad()
                cross_entropy(self.network_(A_hat, X, train), labels[train]).backward()
                adam.step()
                self.val_losses_.append(self._val_loss(self.network_.eval()(A_hat, X, val), labels[val], first))
                *before, now = self.val_losses_[-self.window - 1 :]
                if len(self.val_losses_) > self.window + 1 and now > np.mean(before):
                    break

    def _val_loss(self, logits: Tensor, labels: Tensor, first: Tensor) -> float:
        with torch.no_grad():
            return float(cross_entropy(logits, labels) + self.l2 / 2 * first.square().sum())

    def predict_proba(self, graph: Graph) -> np.ndarray:
        with torch.no_grad():
            logits = self.network_.eval()(normalize(graph.adjacency), Features(graph.features))
        return logits.softmax(dim=1).numpy()

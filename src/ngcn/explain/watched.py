"""Features that record their products, for gradients by node and feature, and that can leave one out."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ngcn.ops import NONE, Dropout, Features, Reach


class Watched(Features):
    """X that records the products with it. It can set the features of one node, or one feature, to 0."""

    def __init__(self, X: Features, node: int | None = None, feature: int | None = None) -> None:
        self.__dict__.update(X.__dict__)
        self.node, self.feature = node, feature
        self.products: list[tuple[Tensor, Tensor, Tensor]] = []  # W, X W, and a mask of its computed rows
        self.inputs: list[Tensor] = []  # X itself, for graph models that take it dense

    def times(self, W: Tensor, replicas: int, dropout: Dropout = NONE, reach: Reach | None = None) -> Tensor:
        XW = super().times(W, replicas, dropout, reach)
        if self.node is not None:
            XW = XW.index_fill(1, torch.tensor([self.node]), 0)
        if self.feature is not None:
            column = torch.from_numpy(self.matrix[:, [self.feature]].toarray())
            XW = XW - column * W[:, [self.feature]]
        near = torch.ones(XW.shape[:2], dtype=torch.bool)
        if reach is not None:
            near = torch.from_numpy(reach.distance <= reach.limits[:, None])
        self.products.append((W, XW, near))
        return XW.clone()  # a layer may change it in place

    def dense(self, device: torch.device | str | None = None) -> Tensor:
        X = super().dense(device).clone()
        if self.node is not None:
            X[self.node] = 0
        if self.feature is not None:
            X[:, self.feature] = 0
        self.inputs.append(X.requires_grad_(torch.is_grad_enabled()))
        return X

    def points(self, probability: Tensor, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradient times input: by node, by feature, and by feature for `node` alone.

        In X W the row of a node is linear in its features, so its gradient times the row is the sum over its features.
        In the same way, a row of W sums up the effect of a feature at all nodes.
        """
        by_node, by_feature, own = (torch.zeros(self.shape[axis]) for axis in (0, 1, 1))
        x = torch.from_numpy(self.matrix[[node]].toarray()[0])
        tensors = [W for W, _, _ in self.products] + [XW for _, XW, _ in self.products] + self.inputs
        slopes = torch.autograd.grad(probability, tensors)
        count = len(self.products)
        for (W, XW, near), of_W, of_XW in zip(self.products, slopes, slopes[count:], strict=False):
            points = torch.einsum("knc,knc->kn", XW.detach(), of_XW)
            by_node += torch.where(near, points, 0).sum(dim=0)  # the other rows were not computed
            by_feature += (W.detach() * of_W).sum(dim=(0, 2))
            own += x * torch.einsum("kfc,kc->f", W.detach(), of_XW[:, node])
        for X, slope in zip(self.inputs, slopes[2 * count :], strict=True):
            by_node += (X.detach() * slope).sum(dim=1)
            by_feature += (X.detach() * slope).sum(dim=0)
            own += x * slope[node]
        return by_node.numpy(), by_feature.numpy(), own.numpy()

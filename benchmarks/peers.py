"""The same N-GCN as a PyTorch Geometric user would write it: what the engine is measured against."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import SGConv

from ngcn.graph import Graph
from ngcn.ops import normalize


class SGConvTower(nn.Module):
    """The obvious one: ``SGConv(K=k)`` per layer, which propagates the features before it multiplies them."""

    def __init__(self, graph: Graph, k: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        edges = normalize(graph.adjacency).power(1).edges()
        self.edge_index, self.edge_weight = edges
        make: Any = nn.Linear if k == 0 else SGConv
        settings: dict[str, Any] = {} if k == 0 else {"K": k, "add_self_loops": False}
        self.layers = nn.ModuleList(make(i, o, bias=False, **settings) for i, o in pairwise(widths))
        self.k = k

    def forward(self, Z: Tensor) -> Tensor:
        for layer in self.layers:
            Z = dropout(Z, 0.5, self.training)
            Z = torch.relu(layer(Z) if self.k == 0 else layer(Z, self.edge_index, self.edge_weight))
        return Z


class LinearFirstTower(nn.Module):
    """The careful one: multiply by the weights first, then k products with a torch CSR matrix."""

    def __init__(self, A_hat: Tensor, k: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairwise(widths))
        self.A_hat, self.k = A_hat, k

    def forward(self, Z: Tensor) -> Tensor:
        for layer in self.layers:
            Z = layer(dropout(Z, 0.5, self.training))
            for _ in range(self.k):
                Z = self.A_hat @ Z
            Z = torch.relu(Z)
        return Z


class Peer(nn.Module):
    """N-GCN with the fully-connected classifier over towers of one of these kinds."""

    def __init__(self, graph: Graph, kind: str, powers: int, replicas: int) -> None:
        super().__init__()
        widths = (graph.features.shape[1], 16, graph.classes)
        if kind == "linear-first":
            A = normalize(graph.adjacency).matrix
            indptr, indices, values = (torch.from_numpy(a) for a in (A.indptr, A.indices, A.data))
            A_hat = torch.sparse_csr_tensor(indptr, indices, values, size=A.shape)
            towers: list[nn.Module] = [
                LinearFirstTower(A_hat, k, widths) for k in range(powers) for _ in range(replicas)
            ]
        else:
            towers = [SGConvTower(graph, k, widths) for k in range(powers) for _ in range(replicas)]
        self.towers = nn.ModuleList(towers)
        self.classifier = nn.Linear(len(towers) * graph.classes, graph.classes, bias=False)

    def forward(self, X: Tensor, rows: Tensor) -> Tensor:
        return self.classifier(torch.cat([tower(X) for tower in self.towers], dim=1)[rows])

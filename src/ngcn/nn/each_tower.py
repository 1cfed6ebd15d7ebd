"""Graph models of your own in the towers: any layer, and PyG's layers through an adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from ngcn.nn.graph_model import Activation
from ngcn.ops import Power


@dataclass(frozen=True)
class EachTower:
    r"""Towers made of a layer of your own, called as ``layer(P, Z)`` with P for :math:`\hat{A}^{k}`.

    .. math:: Z \leftarrow \mathrm{ReLU}(\mathrm{layer}_i(\hat{A}^{k}, \mathrm{drop}(Z))), \quad i = 1 \dots L

    The last layer has the activation function of the classifier in place of ReLU. ``hidden`` and ``layers`` of a config
    set the widths.

    Args:
        make: called as ``make(width_in, width_out)`` for each layer of each tower. The module that it returns takes a
            :class:`~ngcn.ops.Power` (``P @ Z`` multiplies, ``P.edges()`` is PyG's form, ``P.matrix()`` scipy's) and Z.

    Example:
        A network with attention over the powers 0, 1, 2:

        >>> class Linear(nn.Module):
        ...     def __init__(self, width_in, width_out):
        ...         super().__init__()
        ...         self.W = nn.Linear(width_in, width_out)
        ...     def forward(self, P, Z):
        ...         return P @ self.W(Z)
        >>> from ngcn.nn import Network
        >>> network = Network(EachTower(Linear), features=5, classes=2, powers=3, replicas=1, classifier="attention")
        >>> [layer.W.out_features for layer in network.graph_models["2"][0].layers]
        [16, 2]
    """

    make: Callable[[int, int], nn.Module]

    def __call__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        widths: tuple[int, ...],
        dropout: float,
        activation: Activation,
        bias: bool = False,
    ) -> nn.ModuleDict:
        """The towers of each power. :class:`~ngcn.Network` applies `activation` to their outputs; a layer of your own
        decides by itself whether it has a bias."""

        def tower() -> Tower:
            return Tower([self.make(width_in, width_out) for width_in, width_out in pairwise(widths)], dropout)

        return nn.ModuleDict({str(k): nn.ModuleList(tower() for _ in range(replicas)) for k in powers})


class Tower(nn.Module):
    """One graph model: layers of the user's own, with dropout before each and ReLU between them.

    Shape:
        - Z: ``(nodes, features)``
        - output: ``(nodes, width)``, before the activation function of the last layer
    """

    def __init__(self, layers: list[nn.Module], dropout: float) -> None:
        super().__init__()
        self.layers, self.dropout = nn.ModuleList(layers), dropout

    def forward(self, P: Power, Z: Float[Tensor, "nodes features"]) -> Float[Tensor, "nodes width"]:
        for i, layer in enumerate(self.layers):
            Z = layer(P, dropout(torch.relu(Z) if i else Z, self.dropout, self.training))
        return Z


class PyG(nn.Module):
    r"""A PyG layer as a layer of a tower, called as ``module(x, edge_index, edge_weight)`` on :math:`\hat{A}^{k}`.

    Args:
        module: such as ``torch_geometric.nn.GCNConv(5, 2, normalize=False)``.
        largest: how many entries of each row of :math:`\hat{A}^{k}` to keep, the largest; all if None. Powers fill up
            fast: prune them on anything but a small graph.
        weights: pass the entries as edge weights; without, only the pattern (for layers that take none).

    Example:
        >>> import scipy.sparse as sp
        >>> from torch_geometric.nn import GCNConv
        >>> from ngcn import normalize
        >>> A_hat = normalize(sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(6, 6)).tocsr())
        >>> layer = PyG(GCNConv(5, 2, normalize=False), largest=3)
        >>> layer(A_hat.power(2), torch.randn(6, 5)).shape
        torch.Size([6, 2])
    """

    def __init__(self, module: nn.Module, *, largest: int | None = None, weights: bool = True) -> None:
        super().__init__()
        self.module, self.largest, self.weights = module, largest, weights

    def forward(self, P: Power, Z: Float[Tensor, "nodes width_in"]) -> Float[Tensor, "nodes width_out"]:
        edge_index, edge_weight = P.edges(self.largest, Z.device)
        return self.module(Z, edge_index, edge_weight) if self.weights else self.module(Z, edge_index)

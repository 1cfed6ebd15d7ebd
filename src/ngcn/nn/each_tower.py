"""Graph models of your own in the towers: any module, and PyG's layers through an adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from ngcn.ops import Features, Operator, Power


@dataclass(frozen=True)
class EachTower:
    r"""A module of your own in every tower, each called as ``module(P, Z)`` with P for :math:`\hat{A}^{k}`.

    Args:
        make: called as ``make(width_in, width_out)`` for each tower. The module it returns takes a
            :class:`~ngcn.ops.Power` (``P @ Z`` multiplies, ``P.matrix()`` is the scipy matrix) and Z.

    Example:
        A tower of a single convolution, in a network with attention over the powers 0, 1, 2:

        >>> class Linear(nn.Module):
        ...     def __init__(self, width_in, width_out):
        ...         super().__init__()
        ...         self.W = nn.Linear(width_in, width_out)
        ...     def forward(self, P, Z):
        ...         return P @ self.W(Z)
        >>> from ngcn.nn import Network
        >>> network = Network(EachTower(Linear), features=5, classes=2, powers=3, replicas=1, classifier="attention")
        >>> len(network.graph_models.each)
        3
    """

    make: Callable[[int, int], nn.Module]

    def __call__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        widths: tuple[int, ...],
        dropout: float,
        activation: Callable[[Tensor], Tensor],
    ) -> ModulesOfTowers:
        towers = [k for k in powers for _ in range(replicas)]
        modules = [self.make(widths[0], widths[-1]) for _ in towers]
        return ModulesOfTowers(towers, modules, dropout, activation)


class ModulesOfTowers(nn.Module):
    """What :class:`EachTower` makes: a module per tower, called one after the other on X."""

    def __init__(
        self,
        towers: list[int],
        modules: list[nn.Module],
        dropout: float,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.towers, self.dropout, self.activation = towers, dropout, activation
        self.each = nn.ModuleList(modules)

    def forward(
        self, A_hat: Operator, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        Z = X.dense(next((p.device for p in self.parameters()), None))
        outputs = torch.stack(
            [
                module(A_hat.power(k), dropout(Z, self.dropout, self.training))
                for k, module in zip(self.towers, self.each, strict=True)
            ],
            dim=1,
        )
        return self.activation(outputs if rows is None else outputs[rows])


class PyG(nn.Module):
    r"""A PyG-style module as a graph model, called as ``module(x, edge_index, edge_weight)`` on :math:`\hat{A}^{k}`.

    Args:
        module: e.g. ``torch_geometric.nn.GCNConv(5, 2, normalize=False)``.
        largest: how many entries of each row of :math:`\hat{A}^{k}` to keep, the largest; all if None. Powers fill up
            fast: on anything but a small graph, prune.
        weights: pass the entries as edge weights; without, only the pattern (for layers that take none).
    """

    def __init__(self, module: nn.Module, *, largest: int | None = None, weights: bool = True) -> None:
        super().__init__()
        self.module, self.largest, self.weights = module, largest, weights

    def forward(self, P: Power, Z: Float[Tensor, "nodes width_in"]) -> Float[Tensor, "nodes width_out"]:
        edge_index, edge_weight = P.edges(self.largest, Z.device)
        return self.module(Z, edge_index, edge_weight) if self.weights else self.module(Z, edge_index)

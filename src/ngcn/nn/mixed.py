"""Towers of several kinds in one network: graph models on operators of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ngcn.checks import Part
from ngcn.nn.gcn import GCN
from ngcn.nn.graph_model import Activation, GraphModel
from ngcn.nn.mlp import MLP, PowerMLP
from ngcn.nn.sage import PlainSAGE
from ngcn.ops import Features, Operators

GRAPH_MODELS: dict[str, type[GraphModel]] = {"gcn": GCN, "sage": PlainSAGE, "mlp": MLP, "power-mlp": PowerMLP}


@dataclass(frozen=True)
class Mix:
    """Graph models of several kinds, for :class:`~ngcn.Network`.

    Args:
        parts: each a graph model, an operator and powers, such as ``Part("sage", "walk", (1, 2, 3))``.

    Example:
        >>> from ngcn.nn import Network
        >>> mix = Mix((Part("gcn", "symmetric", (0, 2)), Part("sage", "walk", (1,))))
        >>> [str(tower) for tower in Network(mix, 5, 2, mix.powers, 1, classifier="attention").tower_names]
        ['features', 'GCN Â^2', 'SAGE P^1']
    """

    parts: tuple[Part, ...]

    @property
    def powers(self) -> tuple[int, ...]:
        return tuple(sorted({k for part in self.parts for k in part.powers}))

    def tower_powers(self, powers: tuple[int, ...], replicas: int) -> tuple[int | None, ...]:
        return tuple(k for part in self.parts for k in part.powers for _ in range(replicas))

    def __call__(
        self,
        powers: tuple[int, ...],
        replicas: int,
        widths: tuple[int, ...],
        dropout: float,
        activation: Activation = torch.relu,
        bias: bool = False,
    ) -> Mixed:
        models = [GRAPH_MODELS[p.model](p.powers, replicas, widths, dropout, activation, bias) for p in self.parts]
        return Mixed(self.parts, models)


class Mixed(nn.Module):
    """The graph models of each part, side by side. Inputs and outputs are those of :class:`GraphModel`, but for the
    operators, which each part takes by name."""

    def __init__(self, parts: tuple[Part, ...], models: list[GraphModel]) -> None:
        super().__init__()
        self.kinds, self.parts = parts, nn.ModuleList(models)

    def forward(
        self, A: Operators, X: Features, rows: Int[Tensor, " rows"] | None = None
    ) -> Float[Tensor, "rows towers width"]:
        pairs = zip(self.kinds, self.parts, strict=True)
        return torch.cat([model(A[kind.operator], X, rows) for kind, model in pairs], dim=1)

    @property
    def models(self) -> list[GraphModel]:
        return [cast(GraphModel, model) for model in self.parts]

    def tower(self, tensors: Mapping[str, Tensor], t: int) -> list[Tensor]:
        for i, model in enumerate(self.parts):
            assert isinstance(model, GraphModel)
            if t < model.towers:
                prefix = f"parts.{i}."
                return model.tower({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}, t)
            t -= model.towers
        raise IndexError(t)

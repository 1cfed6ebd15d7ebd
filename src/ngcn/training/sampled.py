"""Sampled batches: some nodes, rows of Â^k X, and random walks; the cost of a step is that of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ngcn.errors import ConfigError
from ngcn.nn import Network
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import Sampled, SampledPower, Walks


class Table(Protocol):
    """Rows of features on demand: an array, or something that reads them from disk."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def __getitem__(self, rows: np.ndarray) -> np.ndarray: ...


Products = Mapping[str, Mapping[int, Table]]  # operator -> power -> Â^k X


class Sampler:
    """Draws sampled batches for a network.

    Args:
        network: the network; its towers have at most two layers that multiply by Â^k.
        products: the rows of Â^k X for each operator and power in use.
        walks: the walks of each operator.
        per_node: the number of walks from each node of a batch.
    """

    def __init__(self, network: Network, products: Products, walks: Mapping[str, Walks], per_node: int) -> None:
        self.kinds = sampled_kinds(network)
        self.products, self.walks, self.per_node = products, walks, per_node
        self.hops = {operator: 0 for operator, _ in self.kinds}  # of the walks
        for operator, model in self.kinds:
            self.hops[operator] = max(self.hops[operator], *model.powers) if model.hops else self.hops[operator]

    def __call__(self, nodes: np.ndarray, key: tuple[int, int]) -> Sampled:
        """The batch of these nodes; the key draws the walks."""
        stops = {
            operator: self.walks[operator].stops(nodes, self.per_node, hops, key)
            for operator, hops in self.hops.items()
            if hops
        }
        kinds = []
        for operator, model in self.kinds:
            found = {}
            for k in model.powers:
                columns, entries = nodes[:, None], np.ones((len(nodes), 1), np.float32)
                if model.hops and k:
                    columns, entries = self.walks[operator].rows(stops[operator], k)
                found[k] = self._power(operator, model, k, nodes, columns, entries)
            kinds.append(found)
        return Sampled(torch.from_numpy(nodes), tuple(kinds))

    def _power(
        self, operator: str, model: GraphModel, k: int, nodes: np.ndarray, columns: np.ndarray, entries: np.ndarray
    ) -> SampledPower:
        if not model.hops:
            X = self._rows(operator, 0, nodes) if model.reads_own else None
            return SampledPower(self._inputs(operator, model, k, nodes), X, own=torch.arange(len(nodes)))
        wanted = np.concatenate([nodes, columns.ravel()]) if model.reads_own else columns.ravel()
        inputs, place = np.unique(wanted, return_inverse=True)  # rows are read once, and in order
        positions = torch.from_numpy(place.reshape(-1))
        return SampledPower(
            S=self._inputs(operator, model, k, inputs),
            X=self._rows(operator, 0, inputs) if model.reads_own else None,
            own=positions[: len(nodes)] if model.reads_own else None,
            columns=positions[-columns.size :].reshape(columns.shape),
            entries=torch.from_numpy(entries),
        )

    def _inputs(self, operator: str, model: GraphModel, k: int, nodes: np.ndarray) -> Tensor:
        if not model.averages:
            return self._rows(operator, k, nodes)
        return torch.stack([self._rows(operator, j, nodes) for j in range(k + 1)]).mean(dim=0)

    def _rows(self, operator: str, k: int, nodes: np.ndarray) -> Tensor:
        return torch.from_numpy(self.products[operator][k][nodes])


def sampled_kinds(network: Network) -> list[tuple[str, GraphModel]]:
    """The graph models of a network with their operators; an error if they cannot be trained on sampled batches."""
    kinds = network.kinds()
    for _, model in kinds:
        if model.hops > 1:
            raise ConfigError(
                f"Sampled batches are for towers of at most two layers, not {model.hops + 1}: a third layer needs "
                "walks from every stop of a walk. Use `layers=2`, or `batch='full'`."
            )
    return kinds


def wanted_powers(network: Network) -> dict[str, tuple[int, ...]]:
    """The powers of each operator whose products with X the towers take.

    Example:
        >>> from ngcn.nn import build_network
        >>> wanted_powers(build_network("mixed", features=5, classes=2))
        {'symmetric': (0, 1, 2, 4), 'walk': (0, 1, 2, 3)}
    """
    found: dict[str, set[int]] = {}
    for operator, model in sampled_kinds(network):
        powers = range(model.powers[-1] + 1) if model.averages else model.powers
        found.setdefault(operator, set()).update(powers, [0] if model.reads_own else [])
    return {operator: tuple(sorted(powers)) for operator, powers in found.items()}

"""`Inputs`: what the towers of a network read of a large graph, rows of X and of :math:`S_k = \\hat{A}^k X`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from ngcn.engine import Executor
from ngcn.errors import ConfigError
from ngcn.graph import Graph, StoredGraph
from ngcn.large.links import Links, links_of
from ngcn.large.products import Progress, powers_of
from ngcn.large.rows import Prepared
from ngcn.nn import Network
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import SampledPower

SAMPLE = 1 << 16  # rows that mean and standard deviation of a column are taken over
PRODUCTS = "products"  # the folder in a stored graph that keeps them


class Table(Protocol):
    """Rows of a matrix on demand: an array, or something that reads them from disk."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def __getitem__(self, rows: Any) -> np.ndarray: ...


Products = Mapping[str, Mapping[int, Table]]  # operator -> power -> Â^k X


@dataclass(frozen=True, eq=False)
class Inputs:
    r"""What a network reads of a large graph.

    Args:
        links: the edges.
        X: the prepared features.
        kinds: for each kind of graph model in the network, see :meth:`ngcn.Network.kinds`, the input of each power.
        scales: what the inputs were divided by, for :meth:`fold`.
        means: for each kind and power, :math:`\hat{A}^k` times its inputs, if training is to know them.
    """

    links: Links
    X: Table
    kinds: tuple[Mapping[int, Table], ...]
    scales: tuple[Mapping[int, Scale], ...] = ()
    means: tuple[Mapping[int, Means], ...] = ()

    def scaled(self, network: Network) -> Inputs:
        """The same with columns of standard deviation 1, and of mean 0 where the first layer has a bias.

        Averages over many nodes are small; a network learns slowly from small numbers.
        """
        scales, kinds, means = [], [], []
        of_kinds = zip(sampled_kinds(network), self.kinds, self.means or [{} for _ in self.kinds], strict=True)
        for (_, model), tables, of_inputs in of_kinds:
            centre = model.propagated[1] is not None
            of_kind = {k: Scale.of(table, centre) for k, table in tables.items() if k}
            kinds.append({k: Prepared(table, of_kind[k]) if k else table for k, table in tables.items()})
            means.append({k: table._replace(scale=of_kind[k]) for k, table in of_inputs.items()})
            scales.append(of_kind)
        return replace(self, kinds=tuple(kinds), scales=tuple(scales), means=tuple(means))

    @torch.no_grad()
    def fold(self, network: Network) -> None:
        """Change the weights of a network that was trained on scaled inputs, so that it takes those of any graph."""
        for (_, model), scales in zip(sampled_kinds(network), self.scales, strict=bool(self.scales)):
            weights, biases = model.propagated
            for p, k in enumerate(model.powers):
                if k in scales:
                    mean, deviation = (torch.from_numpy(values) for values in scales[k])
                    weights[p] /= deviation[:, None]
                    if biases is not None:
                        biases[p] -= mean @ weights[p]


class Scale(NamedTuple):
    """The mean and the standard deviation of columns, which a call removes from rows."""

    mean: np.ndarray
    deviation: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = (rows - self.mean) / self.deviation
        return scaled

    @classmethod
    def of(cls, table: Table, centre: bool = True) -> Scale:
        rows = table[np.arange(0, table.shape[0], -(-table.shape[0] // SAMPLE))].astype(np.float64)
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        deviation[deviation < 1e-6 * (1e-30 + abs(mean))] = 1.0  # a constant column
        return cls((mean if centre else 0 * mean).astype(np.float32), deviation.astype(np.float32))


class Means(NamedTuple):
    r"""Rows of :math:`\hat{A}^k` times the inputs of power k.

    Args:
        twice, once: :math:`\hat{A}^{2k} X` and :math:`\hat{A}^k X`.
        sums: ``(nodes, 1)`` the sums of the rows of :math:`\hat{A}^k`.
        scale: of S.
    """

    twice: Table
    once: Table
    sums: Table
    scale: Scale | None = None

    def rows(self, nodes: np.ndarray, reads_own: bool) -> SampledPower:
        S, sums = self.twice[nodes], self.sums[nodes]
        if self.scale is not None:
            S = (S - sums * self.scale.mean) / self.scale.deviation
        X = torch.from_numpy(self.once[nodes]) if reads_own else None
        return SampledPower(torch.from_numpy(S), X, sums=torch.from_numpy(sums))


class Average:
    """The mean of several tables."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables, self.shape, self.dtype = tables, tables[0].shape, np.dtype(np.float32)

    def __getitem__(self, rows: Any) -> np.ndarray:
        first, *others = self.tables
        total = first[rows].copy()
        for table in others:
            total += table[rows]
        total /= len(self.tables)
        return total


def inputs_of(
    network: Network,
    graph: Graph,
    preparation: Any,
    *,
    memory: int,
    means: bool = False,
    executor: Executor | None = None,
    on_progress: Progress | None = None,
) -> Inputs:
    r"""The inputs of a network. The products are computed, unless the folder of a stored graph has them already.

    Args:
        preparation: what makes X of the features, see :class:`ngcn.model.Preparation`.
        memory: the bytes that this process may use. Products that take more than that are stored in half precision,
            if the preparation bounds their size.
        means: also compute :math:`\hat{A}^{2k} X`, for :attr:`Inputs.means`.
    """
    wanted = wanted_powers(network)
    if isinstance(graph, StoredGraph):
        X = Prepared(graph, preparation)
    else:
        X = Prepared(preparation(graph.features, graph.adjacency))
    size = 4 * graph.nodes * X.shape[1] * sum(max(powers) for powers in wanted.values())
    half = size > memory and preparation.how != "none"
    links, products = links_of(graph), {}
    for operator, powers in wanted.items():
        settings: dict[str, Any] = {"memory": memory, "executor": executor, "on_progress": on_progress}
        if isinstance(graph, StoredGraph):
            key = _key(graph, preparation)
            settings |= {"folder": graph.folder / PRODUCTS / f"{operator}-{16 if half else 32}-{key}", "half": half}
            settings["key"] = key
            (graph.folder / PRODUCTS).mkdir(exist_ok=True)
        walked = [model for how, model in sampled_kinds(network) if how == operator and model.hops]
        computed = sorted({*powers, *(2 * k for model in walked for k in model.powers if means)})
        products[operator] = powers_of(links, operator, X, computed, **settings) if max(powers) else {0: X}
    inputs = Inputs(links, X, tables_of(network, products))
    return replace(inputs, means=tuple(_means(network, products, graph, memory))) if means else inputs


def _means(network: Network, products: Products, graph: Graph, memory: int) -> Iterator[Mapping[int, Means]]:
    links, ones = links_of(graph), Prepared(np.broadcast_to(np.float32(1), (graph.nodes, 1)))
    for operator, model in sampled_kinds(network):
        of, powers = products[operator], [k for k in model.powers if k and model.hops]
        folder = graph.folder / PRODUCTS / f"{operator}-sums-{_key(graph)}" if isinstance(graph, StoredGraph) else None
        sums = powers_of(links, operator, ones, powers, folder=folder, memory=memory) if powers else {}
        yield {k: Means(of[2 * k], of[k], sums[k]) for k in powers}


def tables_of(network: Network, products: Products) -> tuple[Mapping[int, Table], ...]:
    """For each kind of graph model, the input of each power."""
    kinds = []
    for operator, model in sampled_kinds(network):
        of = products[operator]
        kinds.append({k: Average([of[j] for j in range(k + 1)]) if model.averages else of[k] for k in model.powers})
    return tuple(kinds)


def sampled_kinds(network: Network) -> list[tuple[str, GraphModel]]:
    """The graph models of a network with their operators; an error if they cannot be computed in parts."""
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


def _key(graph: StoredGraph, preparation: Any = ()) -> str:
    """Tells X from that of other graphs and preparations."""
    digest = sha256(graph.meta["fingerprint"].encode())
    for value in preparation:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return digest.hexdigest()[:16]

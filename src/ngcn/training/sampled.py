"""Sampled batches: some nodes, rows of Â^k X, and random walks; the cost of a step is that of the batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngcn.config import Config
from ngcn.engine import Executor
from ngcn.errors import ConfigError
from ngcn.graph import Graph, StoredGraph
from ngcn.large import Exact, Inputs, inputs_of, sampled_kinds
from ngcn.large.products import Progress
from ngcn.model import Card, Model, working_memory
from ngcn.nn import Network
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import Sampled, SampledPower, Walks, undirected
from ngcn.ops.threads import stay_alone
from ngcn.training.batches import Batch, split_of

VALIDATIONS = 12  # in a training, at least
FAR = 4  # an addition to a row that is far away in memory costs as much as so many multiplications


class Sampler:
    """Draws sampled batches for a network.

    Args:
        network: the network; its towers have at most two layers that multiply by Â^k.
        inputs: what it reads.
        walks: the walks of each operator.
        per_node: the number of walks from each node of a batch.
    """

    def __init__(self, network: Network, inputs: Inputs, walks: Mapping[str, Walks], per_node: int) -> None:
        self.kinds = sampled_kinds(network)
        self.inputs, self.walks, self.per_node = inputs, walks, per_node
        self.hops = {operator: 0 for operator, _ in self.kinds}  # of the walks
        for operator, model in self.kinds:
            self.hops[operator] = max(self.hops[operator], *model.powers) if model.hops else self.hops[operator]

    def __call__(self, nodes: np.ndarray, key: tuple[int, int]) -> Sampled:
        """The batch of these nodes; the key draws the walks. Those of a node do not depend on the other nodes."""
        stops = {
            operator: self.walks[operator].stops(nodes, self.per_node, hops, key)
            for operator, hops in self.hops.items()
            if hops
        }
        kinds = []
        for i, (operator, model) in enumerate(self.kinds):
            found = {}
            for k in model.powers:
                columns, entries = nodes[:, None], np.ones((len(nodes), 1), np.float32)
                if model.hops and k:
                    columns, entries = self.walks[operator].rows(stops[operator], k)
                found[k] = self._power(i, model, k, nodes, columns, entries)
            kinds.append(found)
        return Sampled(torch.from_numpy(nodes), tuple(kinds))

    def _power(
        self, i: int, model: GraphModel, k: int, nodes: np.ndarray, columns: np.ndarray, entries: np.ndarray
    ) -> SampledPower:
        if not model.hops:
            return SampledPower(*self._rows(i, model, k, nodes), own=torch.arange(len(nodes)))
        wanted = np.concatenate([nodes, columns.ravel()]) if model.reads_own else columns.ravel()
        inputs, place = np.unique(wanted, return_inverse=True)  # rows are read once, and in order
        positions = torch.from_numpy(place.reshape(-1))
        return SampledPower(
            *self._rows(i, model, k, inputs),
            own=positions[: len(nodes)] if model.reads_own else None,
            columns=positions[-columns.size :].reshape(columns.shape),
            entries=torch.from_numpy(entries),
            mean_inputs=self.inputs.means[i][k].rows(nodes, model.reads_own) if k and self.inputs.means else None,
        )

    def _rows(self, i: int, model: GraphModel, k: int, nodes: np.ndarray) -> tuple[Tensor, Tensor | None]:
        S = torch.from_numpy(self.inputs.kinds[i][k][nodes])
        return S, torch.from_numpy(self.inputs.X[nodes]) if model.reads_own else None


class SampledInputs:
    """Batches of training nodes in an order that the seed draws, and exact validation; see :class:`FullInputs`.

    A batch is a function of the seed and the number of the step. An epoch has batches of almost equal size.

    Args:
        unlabelled: add as many nodes that are not for training.
        executor: computes the products with powers of Â.
    """

    def __init__(
        self,
        model: Model,
        graph: Graph,
        config: Config,
        weights: Tensor | None,
        *,
        seed: int = 0,
        unlabelled: bool = False,
        executor: Executor | None = None,
    ) -> None:
        if config.device != "cpu":
            raise ConfigError(f"Sampled batches are trained on the CPU, not on {config.device}; use `device='cpu'`.")
        self.model, self.graph, self.config, self.seed, self.weights = model, graph, config, seed, weights
        network, memory = model.network, working_memory(config)
        preparation = model.card.preparation
        inputs = inputs_of(network, graph, preparation, memory=memory, means=True, executor=executor)
        self.inputs = inputs.scaled(network) if preparation.how == "standard" else inputs
        operators = {operator for operator, model in sampled_kinds(network) if model.hops}
        self.sampler = Sampler(network, self.inputs, {how: _walks(graph, how) for how in operators}, config.walks)
        self.exact = Exact(network, self.inputs, memory)
        if isinstance(graph, StoredGraph):
            self.exact = replace(self.exact, scratch=graph.folder, executor=executor)
        self.train = np.flatnonzero(graph.train)
        self.others = np.flatnonzero(~graph.train) if unlabelled else np.zeros(0, np.int64)
        self.rows, self.labels = split_of(graph, graph.val, "cpu")
        self.validation_weights = None if weights is None else weights[self.rows]
        self.every = self._interval() if len(self.rows) else 1

    def batches(self, step: int) -> Iterator[Batch]:
        """From number ``step`` on. The next one is drawn in a thread of its own meanwhile."""
        with ThreadPoolExecutor(1, "batches", initializer=stay_alone) as thread:
            coming = thread.submit(self.batch, step)
            for number in count(step + 1):
                batch = coming.result()
                coming = thread.submit(self.batch, number)
                yield batch

    def batch(self, step: int, part: slice = slice(None)) -> Batch:
        """A batch, or a part of its nodes."""
        train = self.nodes(step)[part]
        others = (self._nodes(self.others, step, 1) if len(self.others) else self.others)[part]
        sampled: Any = self.sampler(np.concatenate([train, others]), (self.seed, step))
        return Batch(
            sampled,
            sampled,
            rows=torch.arange(len(train)),
            labels=torch.from_numpy(np.asarray(self.graph.labels[train])),
            weights=None if self.weights is None else self.weights[torch.from_numpy(train)],
            unlabelled=torch.arange(len(train), len(train) + len(others)),
            step=step,
            labelled=len(self.train),
        )

    def nodes(self, step: int) -> np.ndarray:
        """The training nodes of a batch."""
        return self._nodes(self.train, step, 0)

    def towers(self) -> Tensor:
        """The outputs of all towers for the validation nodes."""
        return self.exact.towers(self.rows.numpy())

    def validates(self, step: int) -> bool:
        """Whether the parameters after so many steps are validated."""
        return step % self.every == 0 or step in (1, self.config.steps)

    def finish(self) -> None:
        """Make the network one that takes inputs as they are."""
        self.inputs.fold(self.model.network)

    def workspace(self) -> AbstractContextManager[Any]:
        return nullcontext()  # arrays of two steps hardly ever have the same size

    @property
    def smallest_batch(self) -> int:
        """The number of training nodes in the smallest batch; others have one more."""
        return len(self.train) // self._parts(self.train)

    def _parts(self, nodes: np.ndarray) -> int:
        """The number of batches in an epoch."""
        return -(-len(nodes) // self.config.batch_size)

    def _nodes(self, nodes: np.ndarray, step: int, stream: int) -> np.ndarray:
        """The part of the nodes that the step takes, ascending: rows are read in order."""
        parts = self._parts(nodes)
        epoch, part = divmod(step, parts)
        order = np.random.default_rng([self.seed, stream, epoch]).permutation(nodes) if parts > 1 else nodes
        return np.sort(order[part * len(nodes) // parts : (part + 1) * len(nodes) // parts])

    def _interval(self) -> int:
        """The steps between two validations: so many that these cost less than training, by a count of operations."""
        links, features = self.inputs.links, self.inputs.X.shape[1]
        entries, nodes = len(links.indices), min(self.config.batch_size, len(self.train))
        of_step = of_validation = 0.0
        for _, model in sampled_kinds(self.model.network):
            weight = model.propagated[0]
            first = features * weight.shape[2] * (2 if model.reads_own else 1)
            for p, k in enumerate(model.powers):
                of_step += 3 * first * nodes * (self.config.walks if model.hops and k else 1)  # backward, too
                if model.hops and k:
                    of_validation += links.nodes * first + k * entries * model.second(p).columns * FAR
        return max(1, min(math.ceil(of_validation / of_step), self.config.steps // VALIDATIONS))


def prepare_products(graph: StoredGraph, config: Config, on_progress: Progress) -> None:
    """Compute the products with powers of Â that training on this graph reads; it finds them in the graph's folder."""
    with torch.random.fork_rng(devices=[]):
        model = Model.build(Card.of(graph, config), config)
    how: dict[str, Any] = {"memory": working_memory(config), "means": True, "on_progress": on_progress}
    inputs_of(model.network, graph, model.card.preparation, **how)


def _walks(graph: Graph, operator: str) -> Walks:
    if isinstance(graph, StoredGraph):
        return Walks(graph.adjacency, operator, degrees=graph.degrees)
    return Walks(undirected(graph.adjacency), operator)

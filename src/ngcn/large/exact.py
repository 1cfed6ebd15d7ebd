"""`Exact`: the outputs of all towers on a large graph, layer by layer, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.engine import Executor
from ngcn.files import atomic
from ngcn.large.inputs import Inputs, sampled_kinds
from ngcn.large.links import EVERYTHING, Links
from ngcn.large.products import working_set
from ngcn.large.rows import chunks
from ngcn.nn import Network
from ngcn.nn.graph_model import GraphModel
from ngcn.ops import SampledPower

MOST_KEPT = 0.05  # of the memory for what the second layers propagate; more of it goes to files


@dataclass(frozen=True, eq=False)
class Exact:
    r"""Computes what :meth:`ngcn.Network.towers` returns, but for the last digits, in bounded memory.

    The second layer of tower k at node i is :math:`\sum_j \hat{A}^k_{ij} H_j W` with :math:`H_j` the hidden units of
    node j. :math:`H W` is computed for all nodes, as many columns at a time as fit into memory, and multiplied k times.

    Args:
        network: the network.
        inputs: what it reads, see :func:`~ngcn.large.inputs_of`.
        memory: the bytes that this process may use.
        scratch: where to put files that take much space for a while; the system's folder if None.
        executor: computes what the second layers propagate, in files, which its processes must see; this process if
            None.
    """

    network: Network
    inputs: Inputs
    memory: int
    scratch: Path | None = None
    executor: Executor | None = None

    def towers(self, nodes: np.ndarray) -> Float[Tensor, "nodes towers width"]:
        """The outputs of all towers for these nodes."""
        return torch.cat([Z for _, Z in self.stream(nodes)])

    @torch.no_grad()
    def stream(
        self, nodes: np.ndarray, folder: Path | None = None
    ) -> Iterator[tuple[slice, Float[Tensor, "rows towers width"]]]:
        """The outputs for some of the nodes at a time, with their positions among them.

        Args:
            nodes: the nodes, ascending.
            folder: where to keep what is computed before the first of them; existing files are reused.
        """
        self.network.eval()
        kinds = sampled_kinds(self.network)
        columns = sum(model.second(p).columns for _, model in kinds if model.hops for p in range(len(model.powers)))
        if folder is None and (self.executor or 4 * len(nodes) * columns > MOST_KEPT * self.memory):
            with TemporaryDirectory(prefix="ngcn-", dir=self.scratch) as scratch:
                yield from self.stream(nodes, Path(scratch))
            return
        second = self._second_layers(nodes, folder)
        width = self.inputs.X.shape[1] + columns + sum(model.towers for _, model in kinds) * self.network.classes
        for start, stop in chunks(len(nodes), width):
            rows = slice(start, stop)
            of_kinds = [self._outputs(i, model, nodes[rows], rows, second) for i, (_, model) in enumerate(kinds)]
            yield rows, torch.cat(of_kinds, dim=1)

    def _second_layers(self, nodes: np.ndarray, folder: Path | None) -> dict[tuple[int, int], list[np.ndarray]]:
        """What reaches the nodes along the edges, in slabs of columns, for each kind and number of a power above 0."""
        near = _Near(self.inputs.links, nodes)
        slabs = {
            (i, p): self._slabs(model.second(p).columns)
            for i, (_, model) in enumerate(sampled_kinds(self.network))
            for p, k in enumerate(model.powers)
            if model.hops and k
        }
        if self.executor and folder:
            keep = replace(self, executor=None)._keep
            for _ in self.executor.run([partial(keep, *at, of, near, folder) for at in slabs for of in slabs[at]]):
                pass
        return {at: [self._kept(*at, of, near, folder) for of in slabs[at]] for at in slabs}

    def _outputs(
        self,
        i: int,
        model: GraphModel,
        nodes: np.ndarray,
        rows: slice,
        second: dict[tuple[int, int], list[np.ndarray]],
    ) -> Tensor:
        """The outputs of the towers of a kind for some nodes, which are these rows of the second layers."""
        powers = {k: self._power(i, model, k, nodes) for k in model.powers}
        if not model.hops:
            return model.sampled(powers)
        blocks = []
        for p, k in enumerate(model.powers):
            H, layer = model.hidden(p, powers[k]), model.second(p)
            if k:
                M = torch.from_numpy(np.concatenate([slab[rows] for slab in second[i, p]], axis=1))
                M = M if layer.narrows else layer.times(M)
            else:
                M = layer.times(H)
            blocks.append(model.outputs(p, H if model.reads_own else None, M))
        return torch.cat(blocks, dim=1)

    def _slabs(self, columns: int) -> list[tuple[int, int]]:
        """Ranges of columns that fit into memory twice: before a product, and after it."""
        nodes = self.inputs.links.nodes
        most = max(1, int(working_set(self.memory, nodes) * 0.8) // (8 * nodes))
        return [(first, min(columns, first + most)) for first in range(0, columns, most)]

    def _kept(self, i: int, p: int, columns: tuple[int, int], near: _Near, folder: Path | None) -> np.ndarray:
        """Some columns of what reaches the nodes along the edges; from a file, if there is one."""
        if folder is None:
            return self._propagated(i, p, columns, near)[near.nodes]
        kept: np.ndarray = np.load(self._keep(i, p, columns, near, folder), mmap_mode="r")
        return kept

    @torch.no_grad()
    def _keep(self, i: int, p: int, columns: tuple[int, int], near: _Near, folder: Path) -> Path:
        """The file with them."""
        path = folder / f"{i}-{p}-{columns[0]}-{columns[1]}.npy"
        if not path.exists():
            with atomic(path) as temporary, temporary.open("wb") as file:
                np.save(file, self._propagated(i, p, columns, near)[near.nodes])
        return path

    def _propagated(self, i: int, p: int, columns: tuple[int, int], near: _Near) -> np.ndarray:
        r"""Some columns of :math:`\hat{A}^k H W`, or of :math:`\hat{A}^k H` if that is narrower, in the rows of the
        nodes; others may be 0."""
        links, (operator, model) = self.inputs.links, sampled_kinds(self.network)[i]
        k, inner = model.powers[p], links.scales(operator)[0]
        Y, other = (np.zeros((links.nodes, columns[1] - columns[0]), np.float32) for _ in range(2))
        layer = model.second(p)
        for start, stop in chunks(links.nodes, self.inputs.X.shape[1] + layer.weight.shape[0] * layer.weight.shape[1]):
            rows = near.rows(k, start, stop)
            H = model.hidden(p, self._power(i, model, k, rows))
            HW = (layer.times(H) if layer.narrows else H)[:, slice(*columns)].numpy()
            Y[rows] = HW if inner is None else HW * inner[rows][:, None]
        for hop in reversed(range(k)):
            links.multiply(operator, Y, wanted=near.mask(hop), out=other)
            Y, other = other, Y
            if hop and inner is not None:
                Y *= inner[:, None]
        return Y

    def _power(self, i: int, model: GraphModel, k: int, nodes: slice | np.ndarray) -> SampledPower:
        X = torch.from_numpy(self.inputs.X[nodes]) if model.reads_own else None
        return SampledPower(torch.from_numpy(self.inputs.kinds[i][k][nodes]), X)


class _Near:
    """The nodes within some hops of given ones: nothing else is computed."""

    def __init__(self, links: Links, nodes: np.ndarray) -> None:
        self.links, self.nodes = links, nodes
        first = np.zeros(links.nodes, np.uint8)
        first[nodes] = 1
        self.masks = [first if 2 * len(nodes) < links.nodes else EVERYTHING]

    def mask(self, hops: int) -> np.ndarray:
        """1 for the nodes within so many hops; a single 1 if that is most of all nodes."""
        while len(self.masks) <= hops:
            last = self.masks[-1]
            if len(last) > 1:
                reached = self.links.multiply("row", last.astype(np.float32)[:, None])[:, 0] > 0
                last = reached.astype(np.uint8) if 2 * reached.sum() < len(reached) else EVERYTHING
            self.masks.append(last)
        return self.masks[hops]

    def rows(self, hops: int, start: int, stop: int) -> slice | np.ndarray:
        """The nodes within so many hops, from number ``start`` to ``stop``."""
        mask = self.mask(hops)
        return slice(start, stop) if len(mask) == 1 else start + np.flatnonzero(mask[start:stop])

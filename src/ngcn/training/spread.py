r"""Sampled batches on a cluster: the workers compute gradients, and this process takes the steps.

A batch consists of the same parts for any number of workers, and their gradients are summed in the same order,
:math:`\nabla L = \sum_p \frac{n_p}{n} \nabla L_p` for the :math:`n_p` training nodes of part p. So the result does not
depend on the workers. A part that is lost with its worker is computed again by another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ngcn import registry
from ngcn.config import Config
from ngcn.engine import Cluster
from ngcn.graph import Graph
from ngcn.model import Model
from ngcn.nn import Network
from ngcn.ops import drawing_from
from ngcn.ops.modes import own_modes
from ngcn.training.recipe import Recipe
from ngcn.training.sampled import SampledInputs

PART = 512  # training nodes of a part: a smaller one takes almost as long


class Gradient(NamedTuple):
    """The share of a part of a batch in the loss, and in its gradient: an array per parameter that has one."""

    part: int
    loss: float
    of: list[Any]


@dataclass(frozen=True)
class Job:
    """What the parts of all batches have in common.

    Args:
        model, graph, config, weights, seed: see :class:`SampledInputs`.
        entries: those of the registries.
    """

    model: Model
    graph: Graph
    config: Config
    weights: Tensor | None
    seed: int
    entries: registry.Entries

    @cached_property
    def inputs(self) -> SampledInputs:
        how: dict[str, Any] = {"seed": self.seed, "unlabelled": self.recipe.reads_unlabelled}
        return SampledInputs(self.model, self.graph, self.config, self.weights, **how)

    @cached_property
    def recipe(self) -> Recipe:
        registry.add(self.entries)
        recipe: Recipe = registry.load(registry.RECIPES[self.config.recipe].recipe)(self.config)
        return recipe


@dataclass(frozen=True)
class Parts:
    """The task to compute the gradients of some parts of a batch.

    Args:
        job: what it has in common with others.
        parameters: of the network.
        step: the number of steps taken before.
        numbers: those of the parts.
        all: how many parts the batch has.
    """

    job: Callable[[], Job]
    parameters: list[Any]
    step: int
    numbers: range
    all: int

    @own_modes
    def __call__(self) -> list[Gradient]:
        job = self.job()
        return [self._gradient(job, number) for number in self.numbers]

    def _gradient(self, job: Job, number: int) -> Gradient:
        recipe, inputs, network = job.recipe, job.inputs, job.model.network.train()
        parameters = list(network.parameters())
        for parameter, value in zip(parameters, self.parameters, strict=True):
            parameter.data, parameter.grad = torch.from_numpy(value).clone(), None
        batch = inputs.batch(self.step, slice(number, None, self.all))
        share = len(batch.rows) / len(inputs.nodes(self.step))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed((job.seed + 2654435761 * (self.all * self.step + number + 1)) % 2**32)
            with drawing_from(torch.default_generator):
                loss = share * recipe.loss(network, batch)
        loss.backward()
        return Gradient(number, loss.item(), [None if p.grad is None else p.grad.numpy() for p in parameters])


class Spread:
    """Stands for batches and for the recipe of a training: the workers of a cluster draw the batches, and compute the
    loss and its gradient."""

    def __init__(self, cluster: Cluster, inputs: SampledInputs) -> None:
        config = inputs.config
        entries = registry.entries(config.model, config.classifier, config.recipe)
        job = Job(inputs.model, inputs.graph, config, inputs.weights, inputs.seed, entries)
        self.cluster, self.job = cluster, cluster.share(job)
        self.parts = max(1, round(inputs.smallest_batch / PART))
        # A task takes a few milliseconds more than its parts; if a machine is lost, the others should share its work
        self.tasks = min(self.parts, 2 * cluster.workers) if cluster.workers > 1 else 1

    def batches(self, step: int) -> Iterator[Any]:
        """Their numbers, from this one on."""
        return count(step)

    def loss(self, network: Network, step: Any) -> Tensor:
        """The loss of the batch with this number."""
        parameters = [parameter.detach().numpy() for parameter in network.parameters()]
        numbers = [range(first, self.parts, self.tasks) for first in range(self.tasks)]
        tasks = [Parts(self.job, parameters, step, each, self.parts) for each in numbers]
        found = sorted(chain.from_iterable(self.cluster.run(tasks)), key=attrgetter("part"))
        sums = [_sum(gradients) for gradients in zip(*(each.of for each in found), strict=True)]
        loss: Tensor = _Computed.apply(sum(each.loss for each in found), sums, *network.parameters())
        return loss


class _Computed(torch.autograd.Function):
    """A loss whose gradient is known."""

    @staticmethod
    def forward(ctx: Any, loss: float, gradients: list[Tensor | None], *parameters: Tensor) -> Tensor:
        ctx.gradients = gradients
        return torch.tensor(loss)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(None if gradient is None else upstream * gradient for gradient in ctx.gradients)


def _sum(gradients: tuple[Any, ...]) -> Tensor | None:
    return None if gradients[0] is None else torch.from_numpy(sum(gradients))

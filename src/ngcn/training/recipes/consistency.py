r"""The scales teach each other on all nodes: their predictions are drawn towards a sharpened mixture of themselves.

.. math::
    \mathrm{mean}_s \Big[ L(q_s) + \sum_t L(p_{t,s}) \Big] + \frac{1}{n} \, \mathrm{penalty}(\tilde{m}) \;+\;
    \lambda \min(1, \tfrac{\mathrm{step}}{w}) \; \mathrm{mean}_i \, [\max q_i > \gamma / C] \;
    \mathrm{mean}_s \sum_t \| p_{t,s,i} - y^*_i \|^2

:math:`p_{t,s}` are the probabilities of tower t under the s-th draw of the dropout masks, :math:`q_s = \sum_t m_t
p_{t,s}` is their mixture and :math:`q = \mathrm{mean}_s \, q_s`. The target :math:`y^* = q^{1/\tau} / \sum
q^{1/\tau}` has no gradient. The idea of consistency between random augmentations is that of GRAND (Feng et al., 2020);
here the towers, which see different scales, also teach each other.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngcn.errors import ConfigError
from ngcn.nn import MLP, Network
from ngcn.scoring import cross_entropy, metric_of, probabilities
from ngcn.training.batches import Batch
from ngcn.training.best_steps import BestSteps
from ngcn.training.recipes.standard import Standard
from ngcn.training.selection import Selection

DRAWS = 2  # S, of the dropout masks
ONCE = 0.2, 2.0  # tau and lambda of towers that propagate once; a lower tau is sharper
EACH_LAYER = 0.4, 1.0  # of all others: each was chosen on validation nodes (docs/research/recipes.md)
WARM_UP = 100  # w, steps until the whole weight counts
SURE = 2.0  # gamma: a node counts if its largest probability is above gamma / C


class Consistency(Standard):
    reads_unlabelled = True

    def check(self, network: Network) -> None:
        if not network.classifier.mixes_classes:
            raise ConfigError(
                f"The recipe {self.config.recipe} needs towers that predict classes, and those of a fully-connected "
                "classifier do not; use attention, harmonic, linear or identity."
            )

    def loss(self, network: Network, batch: Batch) -> Tensor:
        draws = [network.towers(batch.A_hat, batch.X) for _ in range(DRAWS)]  # of all nodes
        mixtures = [network.classifier(Z) for Z in draws]
        multilabel = batch.labels.ndim == 2
        loss = network.classifier.penalty() / batch.labelled
        for Z, mixture in zip(draws, mixtures, strict=True):
            loss = loss + cross_entropy(mixture[batch.rows], batch.labels, batch.weights) / DRAWS
            loss = loss + self.tower_losses(Z[batch.rows], batch) / DRAWS
        temperature, weight = ONCE if isinstance(network.graph_models, MLP) else EACH_LAYER
        teachers = [self.teacher(*pair) for pair in zip(draws, mixtures, strict=True)]
        target, sure = _target(teachers, temperature, multilabel)
        distances = [sure * (probabilities(Z, multilabel) - target).square() for Z in draws]
        distance = torch.stack([each.sum(dim=(1, 2)) for each in distances]).mean()
        return loss + weight * min(1.0, batch.step / WARM_UP) * distance

    def teacher(self, Z: Tensor, mixture: Tensor) -> Tensor:
        """The logits that the targets are made of, ``(nodes, 1, classes)``: a target for all towers."""
        return mixture[:, None]

    def l2(self, parameter: str, labelled: int) -> float:
        return 0.0 if parameter.startswith("classifier") else self.config.l2

    def selection(self, multilabel: bool) -> Selection:
        reported = self.config.metric or metric_of(multilabel)
        return BestSteps(self.config.patience, self.config.metric or "loss", reported=reported, whole=True)


@torch.no_grad()
def _target(teachers: list[Tensor], temperature: float, multilabel: bool) -> tuple[Tensor, Tensor]:
    """y*, given the logits of each draw, ``(nodes, targets, classes)``; and which nodes count."""
    q = torch.stack([probabilities(logits, multilabel) for logits in teachers]).mean(dim=0)
    sharp = q ** (1 / temperature)
    if multilabel:
        return sharp / (sharp + (1 - q) ** (1 / temperature)), torch.ones_like(q[..., :1])
    return sharp / sharp.sum(dim=-1, keepdim=True), (q.amax(dim=-1, keepdim=True) > SURE / q.shape[-1]).to(q.dtype)

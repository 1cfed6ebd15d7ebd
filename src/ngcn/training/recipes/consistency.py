r"""The scales teach each other on all nodes: their predictions are drawn towards a sharpened mixture of themselves.

.. math::
    \mathrm{mean}_s \Big[ L(q_s) + \sum_t L(p_{t,s}) \Big] + \frac{1}{n} \, \mathrm{penalty}(\tilde{m}) \;+\;
    \lambda \min(1, \tfrac{\mathrm{step}}{w}) \; \mathrm{mean}_i \, [\max q_i > \gamma / C] \;
    \mathrm{mean}_s \sum_t \| p_{t,s,i} - y^*_i \|^2

:math:`p_{t,s}` are the probabilities of tower t under the s-th draw of the dropout masks, :math:`q_s = \sum_t m_t
p_{t,s}` is their mixture and :math:`q = \mathrm{mean}_s \, q_s`. The target has no gradient:

.. math:: y^* \propto \Big( \frac{q}{\bar{q}^h} \Big)^{1/\tau} \bar{q}^h, \qquad \bar{q} = \mathrm{mean}_i \, q_i

With :math:`h = 0` it is :math:`q^{1/\tau} / \sum q^{1/\tau}`. This makes a frequent class more frequent, until it takes
all nodes when labels are few. With :math:`h = 1` the frequencies :math:`\bar{q}` of classes are not sharpened. The idea
of consistency between random augmentations is that of GRAND (Feng et al., 2020); here the towers, which see different
scales, also teach each other.
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
FEW, ENOUGH = 10, 20  # training nodes per class: h is 1 up to the first, and falls to 0 at the second


class Consistency(Standard):
    reads_unlabelled = True
    corrects_priors = True

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
        few = (ENOUGH - batch.labelled / mixtures[0].shape[1]) / (ENOUGH - FEW)
        target, sure = _target(teachers, temperature, multilabel, hold=min(1.0, max(0.0, few)))
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
def _target(teachers: list[Tensor], temperature: float, multilabel: bool, hold: float = 0.0) -> tuple[Tensor, Tensor]:
    """y*, given the logits of each draw, ``(nodes, targets, classes)``, and h; and which nodes count."""
    q = torch.stack([probabilities(logits, multilabel) for logits in teachers]).mean(dim=0)
    if multilabel:
        sharp = q ** (1 / temperature)
        return sharp / (sharp + (1 - q) ** (1 / temperature)), torch.ones_like(q[..., :1])
    frequencies = q.mean(dim=0).clamp(min=1e-6)
    sharp = (q * frequencies ** (hold * (temperature - 1))) ** (1 / temperature)
    return sharp / sharp.sum(dim=-1, keepdim=True), (q.amax(dim=-1, keepdim=True) > SURE / q.shape[-1]).to(q.dtype)

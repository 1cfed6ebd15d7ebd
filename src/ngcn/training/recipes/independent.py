r"""Towers that are trained each by itself, and weighted by how well they explain the validation nodes.

.. math:: \sum_t L(Z_t), \qquad \max_m \sum_{\text{validation}} \log \sum_t m_t \, p_t(y) + \sum_t \log m_t

Weights that are learned from the training loss starve the towers that learn slowly, and trust those that learn by
heart. Here each tower keeps its own best step, and the validation nodes decide. The paper allows this: m may be set "by
hand using the validation split". Without validation nodes all towers have the same weight.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ngcn.errors import ConfigError
from ngcn.nn import Network
from ngcn.nn.classifiers import FreeAttention
from ngcn.scoring import cross_entropy, metric_of, score
from ngcn.training.batches import Batch
from ngcn.training.best_steps import BestSteps
from ngcn.training.calibrate import fit_weights
from ngcn.training.recipe import Recipe
from ngcn.training.selection import Selection

MANY = 1000  # training nodes, from which on the L2 penalty falls with the square root of their number


class Independent(Recipe):
    corrects_priors = True
    mixture: tuple[float, float] | None = None  # validation loss and score of the towers at their best steps so far

    def check(self, network: Network) -> None:
        if not isinstance(network.classifier, FreeAttention):
            raise ConfigError("The recipe independent sets the weights of towers; its classifier must be attention.")
        if self.config.intermediate:
            raise ConfigError("The recipe independent has a loss for every tower already; leave intermediate out.")

    def loss(self, network: Network, batch: Batch) -> Tensor:
        return self.tower_losses(network.towers(batch.A_hat, batch.X, batch.rows), batch)

    def l2(self, parameter: str, labelled: int) -> float:
        if "bias" in parameter or parameter.startswith("classifier"):
            return 0.0
        return self.config.l2 * min(1.0, MANY / labelled) ** 0.5  # many labels need less of a prior

    def selection(self, multilabel: bool) -> Selection:
        metric = self.config.metric
        return BestSteps(self.config.patience, metric or "loss", reported=metric or metric_of(multilabel))

    def validate(
        self, selection: Selection, step: int, network: Network, Z: Tensor, labels: Tensor, weights: Tensor | None
    ) -> tuple[float, float]:
        assert isinstance(selection, BestSteps)
        selection.observe(step, Z, labels, weights)
        if selection.improved or self.mixture is None:  # None also after a resumed run has started
            kept = selection.logits[0]
            self.finish(network, kept, labels)
            logits, metric = network.classifier(kept), self.config.metric or metric_of(labels.ndim == 2)
            self.mixture = cross_entropy(logits, labels, weights).item(), score(metric, logits, labels)
        return self.mixture

    def finish(self, network: Network, Z: Tensor, labels: Tensor) -> None:
        assert isinstance(network.classifier, FreeAttention)  # see check
        with torch.no_grad():
            network.classifier.scores.copy_(fit_weights(Z, labels).log())

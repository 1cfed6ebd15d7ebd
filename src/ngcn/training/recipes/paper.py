r"""The paper's recipe: cross entropy of the training nodes; the first step with the best validation score is kept.

.. math:: L(m(Z)) \;+\; \frac{1}{n} \, \mathrm{penalty}(\tilde{m}) \;\; \Big( + \sum_t L(Z_t) \Big)

Z are the outputs of the towers, m is the classifier, n the number of labelled nodes. The last term, a loss for each
tower, is the paper's intermediate supervision, and optional. The penalty keeps attention from choosing one tower early
(docs/research/differences.md); classifiers without attention have none.
"""

from __future__ import annotations

from torch import Tensor

from ngcn.errors import ConfigError
from ngcn.nn import Network
from ngcn.scoring import cross_entropy
from ngcn.training.batches import Batch
from ngcn.training.recipe import Recipe


class Paper(Recipe):
    def check(self, network: Network) -> None:
        if self.config.intermediate and not network.classifier.mixes_classes:
            raise ConfigError(
                "intermediate supervision needs towers that predict classes, and those of a fully-connected classifier "
                "do not; use attention, harmonic, linear or identity."
            )

    def loss(self, network: Network, batch: Batch) -> Tensor:
        Z = network.towers(batch.A_hat, batch.X, batch.rows)
        loss = cross_entropy(network.classifier(Z), batch.labels, batch.weights)
        loss = loss + network.classifier.penalty() / batch.labelled
        if self.config.intermediate:
            loss = loss + self.tower_losses(Z, batch)
        return loss

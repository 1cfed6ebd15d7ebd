r"""The paper's loss, with a safer choice: the step with the best validation score, ties broken by validation loss.

.. math:: L(m(Z)) \;+\; \frac{1}{n} \, \mathrm{penalty}(\tilde{m}) \;\; \Big( + \sum_t L(Z_t) \Big)

Layers have biases, which are not part of the L2 penalty. Training stops when neither score nor loss improve for
``patience`` steps.
"""

from __future__ import annotations

from torch import Tensor

from ngcn.nn import Network
from ngcn.scoring import metric_of
from ngcn.training.best_steps import BestSteps
from ngcn.training.recipes.paper import Paper
from ngcn.training.selection import Selection


class Standard(Paper):
    def l2(self, parameter: str, labelled: int) -> float:
        return 0.0 if "bias" in parameter else self.config.l2

    def selection(self, multilabel: bool) -> Selection:
        return BestSteps(self.config.patience, self.config.metric or metric_of(multilabel), whole=True)

    def validate(
        self, selection: Selection, step: int, network: Network, Z: Tensor, labels: Tensor, weights: Tensor | None
    ) -> tuple[float, float]:
        assert isinstance(selection, BestSteps)
        selection.observe(step, network.classifier(Z)[:, None], labels, weights)
        return super().validate(selection, step, network, Z, labels, weights)

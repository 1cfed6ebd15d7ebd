r"""GCN as its authors trained it: L2 on the first layer alone, stopped early by the validation loss.

.. math:: \text{loss} = \text{cross entropy} + \lambda \|W_0\|^2

Training stops when the validation loss is above its mean over the ``patience`` steps before, and keeps the parameters
of that step. (T. Kipf and M. Welling, *Semi-supervised classification with graph convolutional networks*, ICLR 2017,
and the code they published with it.) The default settings are theirs; rows of the features sum to 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mean

from torch import Tensor, nn

from ngcn.nn import Network
from ngcn.scoring import cross_entropy
from ngcn.training.batches import Batch
from ngcn.training.recipe import Recipe
from ngcn.training.selection import Selection


class Kipf(Recipe):
    def loss(self, network: Network, batch: Batch) -> Tensor:
        return cross_entropy(network(batch.A_hat, batch.X, batch.rows), batch.labels, batch.weights)

    def l2(self, parameter: str, labelled: int) -> float:
        return self.config.l2 if is_first_layer(parameter) else 0.0

    def validation_loss(
        self, network: Network, logits: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        first = [p.square().sum() for name, p in network.named_parameters() if is_first_layer(name)]
        return cross_entropy(logits, labels, weights) + self.config.l2 * sum(first)

    def selection(self, multilabel: bool) -> Selection:
        return WindowSelection(self.config.patience)


def is_first_layer(parameter: str) -> bool:
    """Whether a parameter, by its name, belongs to the first layer of a graph model.

    >>> is_first_layer("graph_models.layers.0.linear.weight"), is_first_layer("graph_models.layers.1.linear.weight")
    (True, False)
    """
    return re.match(r"graph_models\.(.*\.)?(layers|own|neighbours|weights)\.0(\.|$)", parameter) is not None


class WindowSelection(Selection):
    """Keeps the last step. Stops when the validation loss is above its mean over the window of steps before."""

    def update(self, history: Sequence[tuple[float, float, float]], module: nn.Module) -> None:
        self.keep(len(history), history[-1][2], module)

    def stop(self, history: Sequence[tuple[float, float, float]]) -> str:
        window = self.patience
        if window is None or len(history) <= window + 1:
            return ""
        *before, now = [val_loss for _, val_loss, _ in history[-window - 1 :]]
        if now <= mean(before):
            return ""
        return f"Stopped early at step {len(history)}: the validation loss is above its mean over {window} steps."

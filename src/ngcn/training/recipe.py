"""`Recipe`: the base class of all recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from ngcn.config import Config
from ngcn.nn import Network
from ngcn.scoring import cross_entropy, metric_of, score
from ngcn.training.batches import Batch
from ngcn.training.selection import Selection


class Recipe(ABC):
    """The base class of recipes: the loss of a training step, and rules for the step that is kept.

    A recipe must have the method :meth:`loss`; the others have defaults. One object serves one training.

    Example:
        Cross entropy with label smoothing, for every model:

        >>> from torch.nn.functional import cross_entropy
        >>> class Smooth(Recipe):
        ...     def loss(self, network, batch):
        ...         logits = network(batch.A_hat, batch.X, batch.rows)
        ...         return cross_entropy(logits, batch.labels, label_smoothing=0.1)
        >>> from ngcn import RECIPES, Config, RecipeSpec, load_dataset, train
        >>> RECIPES["smooth"] = RecipeSpec("cross entropy with label smoothing", Smooth)
        >>> train(load_dataset("cora"), Config(model="gcn", recipe="smooth", steps=5)).steps
        5
        >>> del RECIPES["smooth"]
    """

    corrects_priors = False  # whether calibration corrects the frequencies of classes
    reads_unlabelled = False  # whether a sampled batch needs nodes that are not for training

    def __init__(self, config: Config) -> None:
        self.config = config

    def check(self, network: Network) -> None:  # noqa: B027 - most recipes train every network
        """Raise an error if the recipe cannot train this network."""

    @abstractmethod
    def loss(self, network: Network, batch: Batch) -> Tensor:
        """The loss of a step, without the L2 penalty."""

    def tower_losses(self, Z: Tensor, batch: Batch) -> Tensor:
        """The sum of the losses of all towers, given their outputs for the labelled nodes."""
        towers = Z.shape[1]
        weights = None if batch.weights is None else batch.weights.repeat_interleave(towers)
        return towers * cross_entropy(Z.flatten(0, 1), batch.labels.repeat_interleave(towers, dim=0), weights)

    def l2(self, parameter: str, labelled: int) -> float:
        """The weight of the squares of a parameter, given its name in the network and the number of training nodes."""
        return self.config.l2

    def validation_loss(
        self, network: Network, logits: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        return cross_entropy(logits, labels, weights)

    def selection(self, multilabel: bool) -> Selection:
        """Which step to keep, and when to stop."""
        return Selection(self.config.patience, self.config.metric or metric_of(multilabel))

    def validate(
        self, selection: Selection, step: int, network: Network, Z: Tensor, labels: Tensor, weights: Tensor | None
    ) -> tuple[float, float]:
        """The loss and the score of the validation nodes, given the outputs of all towers for them."""
        logits = network.classifier(Z)
        metric = self.config.metric or metric_of(labels.ndim == 2)
        return self.validation_loss(network, logits, labels, weights).item(), score(metric, logits, labels)

    def finish(self, network: Network, Z: Tensor, labels: Tensor) -> None:  # noqa: B027 - most have nothing to do
        """Called once after training, with the outputs of the kept towers for the validation nodes."""

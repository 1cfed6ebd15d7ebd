"""`Recipe`: the base class of all recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from ngcn.config import Config
from ngcn.nn import Network
from ngcn.scoring import cross_entropy
from ngcn.training.batches import Batch
from ngcn.training.selection import Selection


class Recipe(ABC):
    """What training minimises. One object serves one training.

    A recipe is a class with the method :meth:`loss`; the others have sensible defaults.

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

    def __init__(self, config: Config) -> None:
        self.config = config

    def check(self, network: Network) -> None:  # noqa: B027 - most recipes train every network
        """Raise an error if the recipe cannot train this network."""

    @abstractmethod
    def loss(self, network: Network, batch: Batch) -> Tensor:
        """The loss of a step, without the L2 penalty."""

    def l2(self, parameter: str) -> float:
        """The weight of the squares of a parameter, given by its name in the network."""
        return self.config.l2

    def validation_loss(self, network: Network, logits: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(logits, labels)

    def selection(self) -> Selection:
        """Which step to keep, and when to stop."""
        return Selection(self.config.patience)

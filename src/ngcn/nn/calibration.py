"""The last step of every network: logits whose probabilities are as sure as they are right."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Calibration(nn.Module):
    r"""A slope and an offset of the logits, fitted on validation nodes after training; until then they change nothing.

    .. math:: Z \mapsto a Z + b

    The slope a is one over the temperature of Guo et al., *On calibration of modern neural networks*, ICML 2017: one
    number, or one per class for multi-label. The offset b corrects the frequencies of classes.

    Attributes:
        conformal: the conformity scores of the validation nodes, for prediction sets; empty if there are none.
    """

    slope: Tensor
    offset: Tensor
    conformal: Tensor

    def __init__(self, classes: int, multilabel: bool) -> None:
        super().__init__()
        self.register_buffer("slope", torch.ones(classes if multilabel else 1))
        self.register_buffer("offset", torch.zeros(classes))
        self.register_buffer("conformal", torch.zeros(0))

    def forward(self, Z: Float[Tensor, "rows classes"]) -> Float[Tensor, "rows classes"]:
        return Z * self.slope + self.offset

    def least_probability(self, coverage: float) -> float:
        r"""Classes at least this probable form a set that contains the true class with probability ``coverage``.

        Of n conformity scores :math:`1 - p(y_i)`, the set takes the :math:`\lceil (n + 1) \cdot
        \mathrm{coverage} \rceil`-th smallest as its limit (split conformal prediction, Vovk et al., 2005).

        Example:
            >>> calibration = Calibration(2, multilabel=False)
            >>> calibration.conformal = torch.linspace(0.1, 0.9, 9)
            >>> round(calibration.least_probability(0.8), 3), calibration.least_probability(0.95)
            (0.2, 0.0)
        """
        rank = math.ceil((len(self.conformal) + 1) * coverage)
        return 1 - float(self.conformal[rank - 1]) if rank <= len(self.conformal) else 0.0

    def complete(self, tensors: dict[str, Tensor], prefix: str = "calibration.") -> dict[str, Tensor]:
        """The stored tensors of a network, with those of this module where an older version stored none."""
        own = {prefix + name: value for name, value in self.state_dict().items()}
        tensors = {**own, **tensors}
        self.conformal = torch.zeros(len(tensors[prefix + "conformal"]))  # as long as the stored one
        return tensors

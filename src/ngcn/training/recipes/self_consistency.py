r"""Consistency in which each tower is its own teacher: the target of tower t is its own sharpened prediction.

.. math:: y^*_t \propto p_t^{1/\tau}, \qquad p_t = \mathrm{mean}_s \, p_{t,s}

The rest is the recipe consistency. With a single tower this is the training of GRAND (Feng et al., 2020), with a
warm-up and without targets from nodes that are not sure.
"""

from __future__ import annotations

from torch import Tensor

from ngcn.training.recipes.consistency import Consistency


class SelfConsistency(Consistency):
    def teacher(self, Z: Tensor, mixture: Tensor) -> Tensor:
        return Z

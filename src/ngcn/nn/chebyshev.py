"""Chebyshev graph convolution (Defferrard, Bresson and Vandergheynst, 2016)."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ngcn.nn.polynomial import Polynomial
from ngcn.ops import Operator


class Chebyshev(Polynomial):
    r"""Layers that are a polynomial of the Laplacian with a matrix per degree, in Chebyshev's basis.

    .. math:: Z \leftarrow \sigma\left(\sum_{k=0}^{K-1} T_k(\tilde{L}) \, \mathrm{drop}(Z) \, W_k\right), \qquad
        T_k(x) = 2 x T_{k-1}(x) - T_{k-2}(x), \quad T_1(x) = x, \quad T_0(x) = 1

    The operator is :math:`\tilde{L}` of :func:`~ngcn.ops.rescaled_laplacian`.
    M. Defferrard, X. Bresson and P. Vandergheynst,
    *Convolutional neural networks on graphs with fast localized spectral filtering*, NIPS 2016.

    Args and shapes are those of :class:`Polynomial`; ``powers`` are the degrees, 0 to K-1.
    """

    def __init__(self, powers: tuple[int, ...], *rest: Any) -> None:
        if powers != tuple(range(len(powers))):
            raise ValueError(f"Chebyshev's polynomials have every degree up to the highest, not just {powers}.")
        super().__init__(powers, *rest, matrices=len(powers))

    def polynomial(self, A_hat: Operator, Y: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes width"]:
        """Clenshaw's recurrence, which needs a product per degree, of the width of the result."""
        L = A_hat.power(1)
        lowest, *others = Y.chunk(len(self.powers), dim=1)
        b = after_b = torch.zeros_like(lowest)
        for Y_k in reversed(others):
            b, after_b = Y_k + 2 * (L @ b) - after_b, b
        return lowest + (L @ b) - after_b

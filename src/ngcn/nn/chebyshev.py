"""Chebyshev graph convolution (Defferrard, Bresson and Vandergheynst, 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from scipy.sparse.linalg import eigsh
from torch import Tensor

from ngcn.nn.polynomial import Polynomial
from ngcn.ops import Operator, undirected


class Chebyshev(Polynomial):
    r"""Layers that are a polynomial of the Laplacian with a matrix per degree, in Chebyshev's basis.

    .. math:: Z \leftarrow \sigma\left(\sum_{k=0}^{K-1} T_k(\tilde{L}) \, \mathrm{drop}(Z) \, W_k\right), \qquad
        T_k(x) = 2 x T_{k-1}(x) - T_{k-2}(x), \quad T_1(x) = x, \quad T_0(x) = 1

    The operator is :math:`\tilde{L}` of :func:`rescaled_laplacian`. M. Defferrard, X. Bresson and P. Vandergheynst,
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


def rescaled_laplacian(adjacency: sp.csr_array) -> Operator:
    r"""The normalised Laplacian, scaled to eigenvalues from -1 to 1.

    .. math:: \tilde{L} = 2 L / \lambda_{\max} - I, \qquad L = I - D^{-1/2} A D^{-1/2}

    A has no self-connections, and an edge counts both ways.

    Example:
        >>> rescaled_laplacian(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))).matrix.toarray()
        array([[ 0., -1.],
               [-1.,  0.]], dtype=float32)
    """
    A = undirected(adjacency)
    degree = A.sum(axis=1)
    scale = sp.diags_array(np.where(degree > 0, np.maximum(degree, 1e-12) ** -0.5, 0))
    nodes = A.shape[0]
    L = sp.csr_array(sp.eye_array(nodes) - scale @ A @ scale)
    if nodes > 100:
        start = np.random.default_rng(0).random(nodes)
        largest = eigsh(L, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0]
    else:  # too few for an iteration, and quick
        largest = np.linalg.eigvalsh(L.toarray())[-1]
    rescaled = sp.csr_array(2 / largest * L - sp.eye_array(nodes), dtype=np.float32)
    rescaled.eliminate_zeros()
    return Operator(rescaled, symmetric=True)

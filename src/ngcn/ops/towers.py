"""Operators between two sparse products: activation, dropout, a weight matrix per tower."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ngcn.ops._checks import checked, checked_reach
from ngcn.ops.backend import backend
from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.reach import Reach


def relu_dropout(
    Y: Float[Tensor, "powers nodes columns"], dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r""":math:`\mathrm{drop}(\max(Y, 0))`.

    Args:
        Y: a block for each power.
        dropout: the mask.
        reach: the rows that are wanted, by default all. Other rows are zero.

    Example:
        >>> import torch
        >>> relu_dropout(torch.tensor([[[-1.0, 2.0]]]))
        tensor([[[0., 2.]]])
    """
    Y = checked("Y", Y, (None, None, None))
    result: Tensor = backend(Y).relu_dropout(Y, dropout, _reach("Y", reach, Y))
    return result


def relu_normalize_dropout(
    Y: Float[Tensor, "powers nodes columns"], replicas: int, dropout: Dropout = NONE, reach: Reach | None = None
) -> Float[Tensor, "powers nodes columns"]:
    r""":math:`\mathrm{drop}(\mathrm{L2NormalizeRows}(\max(Y_t, 0)))` for each tower t; a row of zeros stays zero.

    Args:
        Y: a block for each power, its towers side by side.
        replicas: towers per power.
        dropout: the mask.
        reach: the rows that are wanted, by default all. Other rows are zero.

    Example:
        >>> import torch
        >>> relu_normalize_dropout(torch.tensor([[[-1.0, 2.0]]]), replicas=1)
        tensor([[[0., 1.]]])
    """
    Y = checked("Y", Y, (None, None, None))
    result: Tensor = backend(Y).relu_normalize_dropout(Y, replicas, dropout, _reach("Y", reach, Y))
    return result


def tower_linear(
    H: Float[Tensor, "powers nodes columns"],
    W: Float[Tensor, "powers replicas inner outer"],
    reach: Reach | None = None,
) -> Float[Tensor, "powers nodes columns_out"]:
    r"""The hidden units of each tower times its own weight matrix: :math:`H_t W_t`.

    Args:
        H: a block for each power, its towers side by side.
        W: a matrix for each tower.
        reach: the rows that are wanted, by default all. Other rows are zero.

    Example:
        >>> import torch
        >>> tower_linear(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[[3.0]], [[4.0]]]]))
        tensor([[[3., 8.]]])
    """
    W = checked("W", W, (None, None, None, None))
    powers, replicas, inner, _ = W.shape
    H = checked("H", H, (powers, None, replicas * inner), W.dtype)
    result: Tensor = backend(H).tower_linear(H, W, _reach("H", reach, H))
    return result


def _reach(name: str, reach: Reach | None, blocks: Tensor) -> Reach:
    powers, nodes = blocks.shape[:2]
    if reach is None:
        return Reach(np.zeros(nodes, dtype=np.int32), (1,) * powers, layers=1)
    return checked_reach(name, reach, powers, nodes)

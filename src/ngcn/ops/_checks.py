"""Checks of tensors. Kernels trust the shape, type and memory order of their arguments."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ngcn.ops.reach import Reach

FLOATS = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}


def checked(name: str, given: Tensor, shape: tuple[int | None, ...], dtype: torch.dtype | None = None) -> Tensor:
    """The tensor in C order. Raises an error unless it has this shape (None: any) and type (None: a float).

    Example:
        >>> checked("Z", torch.zeros(3, 2), (None, 5))
        Traceback (most recent call last):
        ValueError: Z has the shape 3 x 2 and the type float32; it must be any x 5 of float32 or float64.
    """
    fits = given.dtype is dtype or (dtype is None and given.dtype in FLOATS.values())
    fits = fits and given.ndim == len(shape)
    if fits:
        for has, want in zip(given.shape, shape, strict=True):
            fits = fits and (want is None or want == has)
    if not fits:
        is_shape, wanted = (" x ".join("any" if n is None else str(n) for n in each) for each in (given.shape, shape))
        kinds = (str(dtype or "float32 or float64"), str(given.dtype))
        must, is_ = (kind.removeprefix("torch.") for kind in kinds)
        raise ValueError(f"{name} has the shape {is_shape} and the type {is_}; it must be {wanted} of {must}.")
    return given.contiguous()


def checked_reach(name: str, reach: Reach, blocks: int, nodes: int) -> Reach:
    """The reach. Raises an error unless it fits the blocks and their rows."""
    if len(reach.distance) != nodes:
        raise ValueError(f"{name} has {nodes} rows, but the graph {len(reach.distance)} nodes.")
    if len(reach.powers) != blocks:
        raise ValueError(f"{name} has {blocks} blocks, but there are {len(reach.powers)} powers.")
    return reach

"""Checks of tensors. Kernels read memory by the shape, type and order that they are told."""

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
    fits = given.ndim == len(shape) and all(want in (None, has) for has, want in zip(given.shape, shape, strict=True))
    if not fits or given.dtype not in ((dtype,) if dtype else FLOATS.values()):
        has, wanted = (" x ".join("any" if n is None else str(n) for n in each) for each in (given.shape, shape))
        kinds = (str(dtype or "float32 or float64"), str(given.dtype))
        must, is_ = (kind.removeprefix("torch.") for kind in kinds)
        raise ValueError(f"{name} has the shape {has} and the type {is_}; it must be {wanted} of {must}.")
    return given.contiguous()


def checked_reach(name: str, reach: Reach | None, blocks: int, everything: np.ndarray) -> Reach:
    """The reach, or one of all nodes if it is None. Raises an error unless it fits the blocks and their rows."""
    if reach is None:
        return Reach(everything, (1,) * blocks, layers=1)
    if len(reach.distance) != len(everything):
        raise ValueError(f"{name} has {len(everything)} rows, but the graph {len(reach.distance)} nodes.")
    if len(reach.powers) != blocks:
        raise ValueError(f"{name} has {blocks} blocks, but there are {len(reach.powers)} powers.")
    return reach

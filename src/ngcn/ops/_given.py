"""What the kernels rely on: they read memory by the shape, type and order that they are told."""

from __future__ import annotations

import numpy as np
from torch import Tensor

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def checked(name: str, given: Tensor, shape: tuple[int | None, ...], dtype: np.dtype | None = None) -> Tensor:
    """The tensor with its entries in C order, if it has this shape (None: any) and this type (None: a float).

    Example:
        >>> import torch
        >>> checked("Z", torch.zeros(3, 2), (None, 5))
        Traceback (most recent call last):
        ValueError: Z has the shape 3 x 2 and the type float32; it must be any x 5 of float32 or float64.
    """
    array = given.detach().numpy()
    fits = array.ndim == len(shape) and all(want in (None, has) for has, want in zip(array.shape, shape, strict=True))
    if not fits or array.dtype not in ((dtype,) if dtype else FLOATS):
        has, wanted = (" x ".join("any" if n is None else str(n) for n in each) for each in (array.shape, shape))
        raise ValueError(
            f"{name} has the shape {has} and the type {array.dtype}; "
            f"it must be {wanted} of {dtype or 'float32 or float64'}."
        )
    return given.contiguous()

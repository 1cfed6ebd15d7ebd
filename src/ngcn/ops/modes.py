"""Torch's modes: what the user has set for other work does not apply to this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")


def own_modes(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with gradients and in single precision, whatever torch's modes and default type are.

    Example:
        >>> @own_modes
        ... def training() -> bool:
        ...     return torch.is_grad_enabled()
        >>> with torch.no_grad():
        ...     training(), torch.is_grad_enabled()
        (True, False)
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                return function(*args, **kwargs)
        finally:
            torch.set_default_dtype(default)

    return run

"""Which implementation computes an operator: :mod:`ngcn.ops.cpu` or :mod:`ngcn.ops.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

from torch import Tensor

from ngcn.ops import cpu, reference

_reference = ContextVar("reference", default=False)


def backend(tensor: Tensor) -> ModuleType:
    """The module with the operators for this tensor: the kernels on the CPU, the reference on any other device."""
    return reference if _reference.get() or tensor.device.type != "cpu" else cpu


@contextmanager
def use_reference() -> Iterator[None]:
    """Use the reference implementation on the CPU too: for tests and debugging.

    Example:
        >>> import torch
        >>> from ngcn.ops import relu_dropout
        >>> with use_reference():
        ...     relu_dropout(torch.tensor([[[-1.0, 2.0]]]))
        tensor([[[0., 2.]]])
    """
    before = _reference.set(True)
    try:
        yield
    finally:
        _reference.reset(before)

"""`Dropout`: which entries are kept, decided by a counter-based random generator, so that no mask is ever stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch

ONE = 1 << 16  # the probability 1 in units of `Dropout.keep`


@dataclass(frozen=True)
class Dropout:
    """One draw of a dropout mask. The same key gives the same mask, forward and backward, on any thread and device.

    Args:
        keep: the probability of keeping an entry, in units of 1/65536.
        key: two random 32-bit words.
    """

    keep: int
    key: tuple[int, int]

    @staticmethod
    def draw(probability: float) -> Dropout:
        """Draw a mask that drops entries with this probability. The key comes from a generator on the CPU.

        The generator is that of :func:`drawing_from`, or torch's default generator.

        Example:
            >>> Dropout.draw(0.25).keep / 65536
            0.75
        """
        key = (0, 0)
        if probability > 0:
            first, second = torch.randint(2**32, (2,), generator=_generator.get()).tolist()
            key = first, second
        return Dropout(max(1, round((1 - probability) * ONE)), key)


_generator: ContextVar[torch.Generator] = ContextVar("generator", default=torch.default_generator)


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Draw the keys of masks from this CPU generator while the context is open."""
    before = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(before)


NONE = Dropout.draw(0.0)

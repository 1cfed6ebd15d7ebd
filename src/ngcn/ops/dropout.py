"""`Dropout`: which entries are kept, decided by a counter-based generator so that no mask is ever stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Dropout:
    """One draw of a dropout mask: the same key gives the same mask, in forward and in backward, on any thread.

    Args:
        keep: the probability of keeping an entry, in units of 1/65536.
        keys: two random words; a line of them for each network, where several are computed together.
    """

    keep: int
    keys: np.ndarray

    @staticmethod
    def draw(probability: float) -> Dropout:
        """A fresh mask that drops with this probability; its keys come from the generators of :func:`drawing_from`.

        Example:
            >>> Dropout.draw(0.25).keep / 65536
            0.75
        """
        generators = _generators.get()
        keys = np.zeros((len(generators), 2), np.uint32)
        if probability > 0:
            for key, generator in zip(keys, generators, strict=True):
                key[:] = torch.randint(2**32, (2,), generator=generator).numpy()
        return Dropout(max(1, round((1 - probability) * 65536)), keys)


_generators: ContextVar[tuple[torch.Generator, ...]] = ContextVar("generators", default=(torch.default_generator,))


@contextmanager
def drawing_from(*generators: torch.Generator) -> Iterator[None]:
    """Meanwhile, masks are drawn from these generators, one for each of the networks that are computed together."""
    before = _generators.set(generators)
    try:
        yield
    finally:
        _generators.reset(before)


NONE = Dropout.draw(0.0)

"""`Dropout`: which entries are kept, decided by a counter-based generator so that no mask is ever stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Dropout:
    """One draw of a dropout mask: the same key gives the same mask, in forward and in backward, on any thread.

    Args:
        keep: the probability of keeping an entry, in units of 1/65536.
        key: two random words.
    """

    keep: int
    key: np.ndarray

    @staticmethod
    def draw(probability: float) -> Dropout:
        """A fresh mask that drops with this probability; its key comes from torch's default generator.

        Example:
            >>> Dropout.draw(0.25).keep / 65536
            0.75
        """
        key = torch.randint(2**32, (2,)).numpy().astype(np.uint32) if probability > 0 else np.zeros(2, np.uint32)
        return Dropout(max(1, round((1 - probability) * 65536)), key)


NONE = Dropout.draw(0.0)

"""`Reach`: the rows of each tower that the wanted result depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ngcn.ops.operator import Operator

CACHED = 16  # reaches per operator


@dataclass(frozen=True)
class Reach:
    """The distance of each node from the rows that are wanted, and the number of layers up to them.

    A layer of power k moves information by k hops. With `layers` layers to go, power k therefore needs exactly the rows
    within ``layers * k`` hops of the wanted ones, and its s-th sparse product those within ``layers * k - s``.

    Args:
        distance: ``(nodes,)`` hops to the nearest wanted row.
        powers: the powers in use, ascending.
        layers: the layers that follow.
    """

    distance: np.ndarray
    powers: tuple[int, ...]
    layers: int

    @staticmethod
    def of(A_hat: Operator, rows: np.ndarray | None, powers: tuple[int, ...], layers: int = 1) -> Reach:
        """The reach of the nodes `rows`, or of all nodes if it is None. The newest are cached, with all they derive."""
        cache = A_hat.cache.setdefault("reach", {})
        key = rows is not None and (rows.dtype.str, rows.tobytes()), powers, layers
        if key not in cache:
            if len(cache) == CACHED:
                del cache[next(iter(cache))]
            nearest = np.arange(A_hat.nodes) if rows is None else rows
            cache[key] = Reach(A_hat.distances(nearest, layers * powers[-1] + 1), powers, layers)
        reach: Reach = cache[key]
        return reach

    @cached_property
    def after_layer(self) -> Reach:
        return replace(self, layers=self.layers - 1)

    @cached_property
    def limits(self) -> np.ndarray:
        """For each power, the largest distance at which a row matters."""
        return self.layers * np.array(self.powers)

    @cached_property
    def first_block(self) -> np.ndarray:
        """For each distance, the index of the first power whose limit is at least as large.

        Example:
            >>> Reach(np.array([0, 1, 2, 3]), powers=(0, 1, 2), layers=1).first_block
            array([0, 1, 2, 3])
        """
        return np.searchsorted(self.limits, np.arange(self.distance.max() + 1))

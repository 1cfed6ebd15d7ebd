"""`Reach`: which rows of which towers the wanted result depends on, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ngcn.ops.operator import Operator


@dataclass(frozen=True)
class Reach:
    """How far each node is from the rows that are wanted, and how many layers lie between here and there.

    A layer of tower k moves information by k hops. With `layers` layers to go, tower k therefore needs just the rows
    within ``layers * k`` hops of the wanted ones, and its s-th sparse product those within ``layers * k - s``. Towers
    stand in ascending order of k, so at each distance a suffix of the towers matters.

    Args:
        distance: ``(nodes,)`` hops to the nearest wanted row.
        layers: layers still to come, from the point where this is used.
    """

    distance: np.ndarray
    layers: int

    @staticmethod
    def of(A_hat: Operator, rows: np.ndarray | None, layers: int, towers: tuple[int, ...]) -> Reach:
        """All nodes if `rows` is None."""
        if rows is None:
            return Reach(np.zeros(A_hat.nodes, dtype=np.uint8), layers)
        return Reach(A_hat.distances(rows, layers * towers[-1] + 1), layers)

    def after_layer(self) -> Reach:
        return replace(self, layers=self.layers - 1)

    def first_tower(self, towers: tuple[int, ...], products: int = 0) -> np.ndarray:
        """``first_tower[d]``: at distance d, this tower and those after it matter, `products` Â-products from here.

        Example:
            >>> Reach(np.zeros(3, dtype=np.uint8), layers=1).first_tower((0, 1, 2))[:4]
            array([0, 1, 2, 3])
        """
        return _first_tower(towers, self.layers, products)


@lru_cache(maxsize=1024)
def _first_tower(towers: tuple[int, ...], layers: int, products: int) -> np.ndarray:
    farthest = layers * np.array(towers) - products
    return (farthest[None, :] < np.arange(256)[:, None]).sum(axis=1)

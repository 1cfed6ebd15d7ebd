"""Builds a graph on disk from tables of any size, in bounded memory."""

from ngcn.large.building.build import build
from ngcn.large.building.cache import build_beside, needs_build
from ngcn.large.building.work import RowProgress

__all__ = ["RowProgress", "build", "build_beside", "needs_build"]

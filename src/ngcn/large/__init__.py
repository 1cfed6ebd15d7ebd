"""Graphs that do not fit into memory: built on disk, and multiplied by powers of Â in blocks."""

from ngcn.large.building import RowProgress, build, build_beside, needs_build
from ngcn.large.links import Links, links_of
from ngcn.large.products import Task, memory_bytes, powers_of
from ngcn.large.rows import Prepared, Slabs

__all__ = ["Links", "Prepared", "RowProgress", "Slabs", "Task", "links_of", "memory_bytes", "powers_of"]
__all__ += ["build", "build_beside", "needs_build"]

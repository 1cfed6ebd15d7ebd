"""Graphs that do not fit into memory: products with powers of Â in blocks, on memory-mapped files."""

from ngcn.large.links import Links, links_of
from ngcn.large.products import Task, memory_bytes, powers_of
from ngcn.large.rows import Prepared, Slabs

__all__ = ["Links", "Prepared", "Slabs", "Task", "links_of", "memory_bytes", "powers_of"]

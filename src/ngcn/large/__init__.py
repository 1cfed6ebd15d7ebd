"""Graphs that do not fit into memory: built on disk, and multiplied by powers of Â in blocks."""

from ngcn.large.building import RowProgress, build, build_beside, needs_build
from ngcn.large.exact import Exact
from ngcn.large.inputs import Inputs, inputs_of, sampled_kinds, wanted_powers
from ngcn.large.links import Links, links_of
from ngcn.large.products import Task, powers_of
from ngcn.large.rows import Prepared, Slabs
from ngcn.memory import memory_bytes

__all__ = ["Exact", "Inputs", "Links", "Prepared", "RowProgress", "Slabs", "Task", "inputs_of", "links_of"]
__all__ += ["build", "build_beside", "memory_bytes", "needs_build", "powers_of", "sampled_kinds", "wanted_powers"]

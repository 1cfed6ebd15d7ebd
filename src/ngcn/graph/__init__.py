"""`Graph`, the one input of every model, and the ways to make one."""

from ngcn.data.parts import UNKNOWN
from ngcn.errors import GraphError
from ngcn.graph.assemble import Schema, for_model, for_training, load_dataset, load_for_model, quietly
from ngcn.graph.graph import Graph

__all__ = ["UNKNOWN", "Graph", "GraphError", "Schema"]
__all__ += ["for_model", "for_training", "load_dataset", "load_for_model", "quietly"]

"""`Graph`, the one input of every model, and the ways to make one."""

from ngcn.data.parts import UNKNOWN
from ngcn.errors import GraphError
from ngcn.graph._features import HOPS, IDENTITY_NODES, describe_missing, missing_per_column, structural_names
from ngcn.graph.assemble import Schema, for_model, for_training, load_dataset, load_for_model, quietly
from ngcn.graph.facts import Facts, facts, is_identity
from ngcn.graph.graph import Graph, need_graph
from ngcn.graph.stored import StoredGraph, in_memory, is_stored, open_graph, store_graph

__all__ = ["UNKNOWN", "Facts", "Graph", "GraphError", "Schema", "StoredGraph"]
__all__ += ["describe_missing", "facts", "for_model", "for_training", "load_dataset", "load_for_model"]
__all__ += ["in_memory", "is_identity", "is_stored", "missing_per_column", "need_graph", "open_graph", "quietly"]
__all__ += ["HOPS", "IDENTITY_NODES", "store_graph", "structural_names"]

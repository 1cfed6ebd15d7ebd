"""HTML files that need no network connection: the report on a run, and the inspection of a graph."""

from ngcn.report.inspection import Inspection, inspect_graph
from ngcn.report.write import write_report

__all__ = ["Inspection", "inspect_graph", "write_report"]

"""The report: one HTML file that shows what a run has learned, and opens without a network."""

from ngcn.report.write import write_report

__all__ = ["write_report"]

"""The report: one HTML file about a run, which needs no network connection."""

from ngcn.report.write import write_report

__all__ = ["write_report"]

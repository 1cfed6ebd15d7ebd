"""The page: one HTML file that shows what a run has learned, and opens without a network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngcn.report.page import write_report

__all__ = ["write_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ngcn.report import page  # when first asked for: it imports torch

    return getattr(page, name)

"""What can go wrong through no fault of this package. The command line prints these in one sentence, without traceback.

Each message says what is wrong, where, and how to fix it. It names arguments in backticks, such as `one_hot=['town']`;
the command line prints them as options.
"""

from __future__ import annotations

from ngcn.text import plain, shorten

LONGEST = 1000  # characters of a message; names and values in it may come from a file


class NGCNError(ValueError):
    """The base class of all errors that this package raises on purpose."""

    def __init__(self, message: object = "") -> None:
        super().__init__(shorten(plain(str(message)), LONGEST))


class GraphError(NGCNError):
    """A graph is inconsistent, or lacks what was asked of it."""


class DatasetError(NGCNError):
    """A dataset or a file cannot be read as a graph."""


class ConfigError(NGCNError):
    """A setting has a value that cannot be used."""


class TrainingError(NGCNError):
    """Training failed before any step could be kept."""


class ModelError(NGCNError):
    """A model cannot do what was asked, such as explain a prediction of label propagation."""


class RunError(NGCNError):
    """A run folder, or a store of results, cannot be used as asked."""


class EngineError(NGCNError):
    """A cluster cannot be used as asked, or has lost its workers."""

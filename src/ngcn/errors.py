"""What can go wrong through no fault of this package. The command line prints these in one sentence, without traceback.

Each message says what is wrong, where, and how to fix it. It names arguments in backticks, such as `one_hot=['town']`;
the command line prints them as options.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngcn.text import plain, shorten

LONGEST = 1000  # characters of a message; names and values in it may come from a file


class NGCNError(ValueError):
    """The base class of all errors that this package raises on purpose.

    Example:
        >>> from ngcn import NGCNError, load_dataset
        >>> try:
        ...     load_dataset("corra")
        ... except NGCNError as error:
        ...     print(error)
        There is no dataset 'corra', nor a file or folder of that name; did you mean cora?
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shorten(plain(str(message)), LONGEST))


class GraphError(NGCNError):
    """A graph is inconsistent, or lacks what was asked of it.

    Example:
        >>> import numpy as np
        >>> import scipy.sparse as sp
        >>> from ngcn import Graph
        >>> nobody = np.zeros(3, bool)
        >>> Graph(sp.csr_array((3, 3)), np.eye(2), np.arange(3), nobody, nobody, nobody)
        Traceback (most recent call last):
            ...
        ngcn.errors.GraphError: The features have 2 rows, but the graph has 3 nodes.
    """


class DatasetError(NGCNError):
    """A dataset or a file cannot be read as a graph.

    Example:
        >>> from ngcn import load_dataset
        >>> load_dataset("corra")
        Traceback (most recent call last):
            ...
        ngcn.errors.DatasetError: There is no dataset 'corra', nor a file or folder of that name; did you mean cora?
    """


class SeveralProblemsError(DatasetError):
    """Several things are wrong with the files of a graph: ``errors`` has an error for each."""

    def __init__(self, errors: Sequence[NGCNError]) -> None:
        Exception.__init__(self, errors)  # what it is pickled with
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join([f"{len(self.errors)} problems:", *(f"- {error}" for error in self.errors)])


class Problems(list[NGCNError]):
    """Collects the errors of steps that do not depend on each other, so that all of them are reported at once.

    Example:
        >>> problems = Problems()
        >>> for number in (1, 2):
        ...     with problems:
        ...         raise DatasetError(f"Row {number} is bad.")
        >>> problems.check()
        Traceback (most recent call last):
            ...
        ngcn.errors.SeveralProblemsError: 2 problems:
        - Row 1 is bad.
        - Row 2 is bad.
    """

    def __init__(self, found: Iterable[NGCNError] = ()) -> None:
        super().__init__()
        for error in found:
            self.extend(error.errors if isinstance(error, SeveralProblemsError) else [error])

    def __enter__(self) -> Problems:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, NGCNError):
            self.extend(Problems([error]))
        return isinstance(error, NGCNError)

    def check(self) -> None:
        """Raise an error if there is any."""
        if self:
            raise self.error()

    def error(self) -> NGCNError:
        """The only error, or one about all of them."""
        found = list({str(error): error for error in self}.values())
        return found[0] if len(found) == 1 else SeveralProblemsError(found)


class ConfigError(NGCNError):
    """A setting has a value that cannot be used.

    Example:
        >>> from ngcn import Config
        >>> Config(model="gnc")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ngcn.errors.ConfigError: model must be one of mixed, ngcn, ..., not 'gnc'; did you mean 'gcn'?
    """


class TrainingError(NGCNError):
    """Training failed before any step could be kept.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> train(load_dataset("cora"), Config(model="gcn", lr=1e30))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ngcn.errors.TrainingError: The loss became nan at step 1 (seed 0, lr 1e+30), so no step can be kept; try ...
    """


class ModelError(NGCNError):
    """A model cannot do what was asked, such as explain a prediction of label propagation.

    Example:
        >>> from ngcn import Config, explain_node, load_dataset, train
        >>> graph = load_dataset("cora")
        >>> explain_node(train(graph, Config(model="lp")).model, 0, graph=graph)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ngcn.errors.ModelError: LP is a baseline without a network, so it cannot be explained, ...
    """


class RunError(NGCNError):
    """A run folder, or a store of results, cannot be used as asked.

    Example:
        >>> from ngcn import Run
        >>> Run.open("runs/none")
        Traceback (most recent call last):
            ...
        ngcn.errors.RunError: runs/none is not a run folder: it has no config.yaml.
    """


class EngineError(NGCNError):
    """A cluster cannot be used as asked, or has lost its workers.

    Example:
        >>> from ngcn import EngineError, NGCNError
        >>> issubclass(EngineError, NGCNError)  # as all errors of the package
        True
    """

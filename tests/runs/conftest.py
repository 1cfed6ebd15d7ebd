"""The small graphs of tests/training."""

from training.conftest import graph, in_folder, multilabel_graph  # noqa: F401

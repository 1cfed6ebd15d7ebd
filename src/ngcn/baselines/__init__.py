"""The other methods of the paper's tables, one file each; :data:`ngcn.registry.MODELS` lists them.

A baseline has two methods: ``fit(graph, seed)`` and ``predict_proba(graph)``. Unless its file says otherwise, its
default settings were chosen on validation accuracy, the same for all datasets (docs/results/baselines.md).
"""

from ngcn.baselines.protocol import Baseline

__all__ = ["Baseline"]

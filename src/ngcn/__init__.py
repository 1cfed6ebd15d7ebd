"""N-GCN: multi-scale graph convolution for semi-supervised node classification.

Public names are imported when they are first used, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngcn.version import __version__

if TYPE_CHECKING:
    from ngcn.baselines import Baseline
    from ngcn.config import Config
    from ngcn.data.files import READERS
    from ngcn.data.knn import knn_graph
    from ngcn.engine import Ray
    from ngcn.errors import (
        ConfigError,
        DatasetError,
        EngineError,
        GraphError,
        ModelError,
        NGCNError,
        RunError,
        TrainingError,
    )
    from ngcn.estimator import NGCNClassifier
    from ngcn.explain import explain_node
    from ngcn.export import export_torch
    from ngcn.graph import Graph, load_dataset
    from ngcn.large import build
    from ngcn.model import Model
    from ngcn.nn import GCN, SAGE, Classifier, EachTower, Network, PyG, build_network
    from ngcn.ops import Features, Operator, Power, normalize
    from ngcn.registry import CLASSIFIERS, MODELS, RECIPES, ModelSpec, RecipeSpec
    from ngcn.report import Inspection, inspect_graph, write_report
    from ngcn.runs import Run, predict, train, train_seeds
    from ngcn.training import Batch, Recipe, Result, Selection, Step
    from ngcn.tuning import CrossValidation, Tuned, cross_validate, tune

_HOMES = {
    "ngcn.baselines": ("Baseline",),
    "ngcn.config": ("Config",),
    "ngcn.data.files": ("READERS",),
    "ngcn.data.knn": ("knn_graph",),
    "ngcn.engine": ("Ray",),
    "ngcn.errors": tuple(
        f"{kind}Error" for kind in ("Config", "Dataset", "Engine", "Graph", "Model", "NGCN", "Run", "Training")
    ),
    "ngcn.estimator": ("NGCNClassifier",),
    "ngcn.explain": ("explain_node",),
    "ngcn.export": ("export_torch",),
    "ngcn.graph": ("Graph", "load_dataset"),
    "ngcn.large": ("build",),
    "ngcn.model": ("Model",),
    "ngcn.nn": ("GCN", "SAGE", "Classifier", "EachTower", "Network", "PyG", "build_network"),
    "ngcn.ops": ("Features", "Operator", "Power", "normalize"),
    "ngcn.registry": ("CLASSIFIERS", "MODELS", "RECIPES", "ModelSpec", "RecipeSpec"),
    "ngcn.report": ("Inspection", "inspect_graph", "write_report"),
    "ngcn.runs": ("Run", "predict", "train", "train_seeds"),
    "ngcn.training": ("Batch", "Recipe", "Result", "Selection", "Step"),
    "ngcn.tuning": ("CrossValidation", "Tuned", "cross_validate", "tune"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ngcn' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

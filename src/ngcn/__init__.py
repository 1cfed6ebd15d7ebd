"""N-GCN: multi-scale graph convolution for semi-supervised node classification.

The public names are loaded when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngcn.errors import DatasetError, GraphError
    from ngcn.estimator import NGCNClassifier
    from ngcn.explain import explain_node
    from ngcn.graph import Graph, load_dataset
    from ngcn.nn import GCN, SAGE, EachTower, Network, PyG, build_network
    from ngcn.ops import Features, Operator, normalize
    from ngcn.training import Config, train

_HOMES = {
    "ngcn.errors": ("DatasetError", "GraphError"),
    "ngcn.estimator": ("NGCNClassifier",),
    "ngcn.explain": ("explain_node",),
    "ngcn.graph": ("Graph", "load_dataset"),
    "ngcn.nn": ("GCN", "SAGE", "EachTower", "Network", "PyG", "build_network"),
    "ngcn.ops": ("Features", "Operator", "normalize"),
    "ngcn.training": ("Config", "train"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.2.0"
__all__ = [
    "GCN",
    "SAGE",
    "Config",
    "DatasetError",
    "EachTower",
    "Features",
    "Graph",
    "GraphError",
    "NGCNClassifier",
    "Network",
    "Operator",
    "PyG",
    "build_network",
    "explain_node",
    "load_dataset",
    "normalize",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ngcn' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

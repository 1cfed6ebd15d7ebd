"""Section 3 of the paper: graph models, the network of them, classifiers, and the named special cases."""

from ngcn.nn.chebyshev import Chebyshev
from ngcn.nn.classifiers import CLASSIFIERS
from ngcn.nn.each_tower import EachTower, PyG
from ngcn.nn.gcn import GCN
from ngcn.nn.network import Network, towers_side_by_side
from ngcn.nn.polynomial import Polynomial, WalkCoefficients
from ngcn.nn.sage import SAGE
from ngcn.nn.zoo import MODELS, Preset, build_network

__all__ = [
    "CLASSIFIERS",
    "GCN",
    "MODELS",
    "SAGE",
    "Chebyshev",
    "EachTower",
    "Network",
    "Polynomial",
    "Preset",
    "PyG",
    "WalkCoefficients",
    "build_network",
    "towers_side_by_side",
]

"""Section 3 of the paper: graph models, the network of them, and the classifiers."""

from ngcn.nn.build import build_network
from ngcn.nn.chebyshev import Chebyshev
from ngcn.nn.classifiers import Classifier
from ngcn.nn.each_tower import EachTower, PyG
from ngcn.nn.gcn import GCN
from ngcn.nn.mixed import Mix
from ngcn.nn.mlp import MLP, PowerMLP
from ngcn.nn.network import Network, TowerName
from ngcn.nn.polynomial import Polynomial, WalkCoefficients
from ngcn.nn.sage import SAGE

__all__ = [
    "GCN",
    "MLP",
    "SAGE",
    "Chebyshev",
    "Classifier",
    "EachTower",
    "Mix",
    "Network",
    "Polynomial",
    "PowerMLP",
    "PyG",
    "TowerName",
    "WalkCoefficients",
    "build_network",
]

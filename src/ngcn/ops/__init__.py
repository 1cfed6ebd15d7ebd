"""Sparse operators: normalisation, products with powers of Â, sparse features, dropout; compiled on the CPU."""

from ngcn.ops.average import propagate_average
from ngcn.ops.backend import use_reference
from ngcn.ops.dropout import NONE, Dropout, drawing_from
from ngcn.ops.features import Features
from ngcn.ops.normalize import Operators, bag_of_words, normalize, normalize_rows, rescaled_laplacian, undirected
from ngcn.ops.operator import Operator, Power, propagate
from ngcn.ops.reach import Reach
from ngcn.ops.rows import l2_normalize, select_rows
from ngcn.ops.sampled import Sampled, SampledPower
from ngcn.ops.towers import relu_dropout, relu_normalize_dropout, tower_linear
from ngcn.ops.walks import Walks
from ngcn.ops.workspace import Workspace

__all__ = [
    "NONE",
    "Dropout",
    "Features",
    "Operator",
    "Operators",
    "Power",
    "Reach",
    "Sampled",
    "SampledPower",
    "Walks",
    "Workspace",
    "bag_of_words",
    "drawing_from",
    "l2_normalize",
    "normalize",
    "normalize_rows",
    "propagate",
    "propagate_average",
    "relu_dropout",
    "relu_normalize_dropout",
    "rescaled_laplacian",
    "select_rows",
    "tower_linear",
    "undirected",
    "use_reference",
]

"""Sparse mathematics: normalisation, multi-power propagation, sparse features, dropout; and its CPU kernels."""

from ngcn.ops.dropout import NONE, Dropout, drawing_from
from ngcn.ops.features import Features
from ngcn.ops.normalize import bag_of_words, normalize, normalize_rows, undirected
from ngcn.ops.operator import Operator, Power
from ngcn.ops.propagate import propagate
from ngcn.ops.reach import Reach
from ngcn.ops.rows import l2_normalize, select_rows
from ngcn.ops.towers import relu_dropout, relu_normalize_dropout, tower_linear

__all__ = [
    "NONE",
    "Dropout",
    "Features",
    "Operator",
    "Power",
    "Reach",
    "bag_of_words",
    "drawing_from",
    "l2_normalize",
    "normalize",
    "normalize_rows",
    "propagate",
    "relu_dropout",
    "relu_normalize_dropout",
    "select_rows",
    "tower_linear",
    "undirected",
]

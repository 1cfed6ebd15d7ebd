"""The operators on the CPU, with kernels compiled by Numba. :mod:`ngcn.ops.reference` has the same functions."""

from ngcn.ops.cpu.functions import features_times, propagate, relu_dropout, relu_normalize_dropout, tower_linear

__all__ = ["features_times", "propagate", "relu_dropout", "relu_normalize_dropout", "tower_linear"]

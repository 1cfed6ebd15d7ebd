"""Search for settings, and cross-validation."""

from ngcn.tuning.folds import CrossValidation, cross_validate
from ngcn.tuning.study import Tuned, tune

__all__ = ["CrossValidation", "Tuned", "cross_validate", "tune"]

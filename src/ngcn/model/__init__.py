"""A trained model and what it knows about the graph it was trained on."""

from ngcn.model.card import Card
from ngcn.model.model import FittedBaseline, Model, need_model
from ngcn.model.preparation import Preparation, ignores_values, prepare
from ngcn.model.size import check_size

__all__ = ["Card", "FittedBaseline", "Model", "Preparation", "check_size", "ignores_values", "need_model", "prepare"]

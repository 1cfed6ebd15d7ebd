"""A trained model and what it knows about the graph it was trained on."""

from ngcn.model.card import Card
from ngcn.model.model import FittedBaseline, Model
from ngcn.model.preparation import Preparation, ignores_values, prepare

__all__ = ["Card", "FittedBaseline", "Model", "Preparation", "ignores_values", "prepare"]

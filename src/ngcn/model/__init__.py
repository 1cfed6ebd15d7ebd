"""A trained model and what it knows about the graph it was trained on."""

from ngcn.model.batch import Choice, choose_batch, working_memory
from ngcn.model.card import Card
from ngcn.model.model import FittedBaseline, Model, need_model
from ngcn.model.preparation import Preparation, ignores_values, prepare
from ngcn.model.size import check_size

__all__ = ["Card", "Choice", "FittedBaseline", "Model", "Preparation", "check_size", "choose_batch", "ignores_values"]
__all__ += ["need_model", "prepare", "working_memory"]

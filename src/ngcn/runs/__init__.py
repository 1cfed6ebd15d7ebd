"""Run folders: training into them, one seed or many; reading models, scores and predictions from them."""

from ngcn.runs.many_seeds import train_seeds
from ngcn.runs.one_seed import train
from ngcn.runs.prediction_table import predict
from ngcn.runs.run import Run, default_folder, load_graph
from ngcn.runs.signals import Interrupted

__all__ = ["Interrupted", "Run", "default_folder", "load_graph", "predict", "train", "train_seeds"]

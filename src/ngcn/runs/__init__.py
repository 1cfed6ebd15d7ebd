"""Run folders: training into them, one seed or many; reading models, scores and predictions from them."""

from ngcn.runs.prediction_table import predict, predict_to_parquet
from ngcn.runs.run import Run, default_folder, load_graph, model_and_graph, open_run
from ngcn.runs.seeds import train, train_seeds

__all__ = ["Run", "default_folder", "load_graph", "model_and_graph", "open_run", "predict"]
__all__ += ["predict_to_parquet", "train", "train_seeds"]

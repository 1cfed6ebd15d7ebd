"""A trained network for those who do not have ngcn: a file of plain PyTorch and its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ngcn import exported_model
from ngcn.graph import UNKNOWN, Graph
from ngcn.nn import GCN, MODELS, SAGE, Network
from ngcn.training._files import atomic, write_text
from ngcn.training.run import Run
from ngcn.training.trained_on import TrainedOn


class ExportError(ValueError):
    """A network that cannot be exported as asked; the message says why."""


def export_torch(run: Run, folder: Path) -> None:
    """Write the best seed of a run as ``model.py`` (:mod:`ngcn.exported_model`, to the letter) and ``model.pt``.

    The graph trained on is not needed any more.
    """
    model = run.config.model
    if model not in MODELS or MODELS[model].graph_model not in (GCN, SAGE):
        names = [name for name, preset in MODELS.items() if preset.graph_model in (GCN, SAGE)]
        raise ExportError(f"{model} cannot be exported: only networks of GCN and SAGE can, such as {', '.join(names)}.")
    trained_on = run.trained_on()
    network = run.network(_one_node(trained_on), run.best_seed)
    tensors = exported_tensors(network)
    how, mean, deviation = trained_on.preparation
    if mean is not None and deviation is not None:
        tensors |= {"mean": torch.from_numpy(mean), "deviation": torch.from_numpy(deviation)}
    settings = {
        "classes": list(trained_on.class_names),
        "features": list(trained_on.feature_names),
        "multilabel": trained_on.multilabel,
        "preparation": how,
        "normalization": MODELS[model].normalization,
        "powers": list(network.tower_powers),
        "layers": sum(name.startswith("layers_") for name in tensors),
        "version": trained_on.version,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "model.pt") as temporary:
        torch.save({"settings": settings, "tensors": tensors}, temporary)
    write_text(folder / "model.py", Path(exported_model.__file__).read_text(encoding="utf-8"))


def _one_node(trained_on: TrainedOn) -> Graph:
    """A graph with the features and classes of the one trained on, which is all that the shape of a network needs."""
    classes, none = len(trained_on.class_names), np.zeros(1, dtype=bool)
    labels = np.zeros((1, classes)) if trained_on.multilabel else np.array([UNKNOWN])
    features = sp.csr_array((1, len(trained_on.feature_names)), dtype=np.float32)
    return Graph(sp.csr_array((1, 1)), features, labels, none, none, none, class_names=trained_on.class_names)


def exported_tensors(network: Network) -> dict[str, Tensor]:
    """The parameters of a network under the names, and in the shapes, of :class:`ngcn.exported_model.Model`."""
    model: Any = network.graph_models
    convolutions = model.layers if isinstance(model, GCN) else model.neighbours
    tensors = {f"layers_{i}": _per_tower(layer.linear) for i, layer in enumerate(convolutions)}
    if isinstance(model, SAGE):
        tensors |= {f"own_{i}": _per_tower(weights) for i, weights in enumerate(model.own)}
    state = network.classifier.state_dict()
    if "scores" in state:
        tensors["scores"] = state["scores"].clone()
    tensors |= {f"classifier_{i}": matrix.T.contiguous() for i, matrix in enumerate(state.values()) if matrix.ndim == 2}
    return tensors


def _per_tower(weights: Any) -> Tensor:
    """The weight of a ``TowerWeights`` as ``(towers, columns before, columns after)``."""
    weight = weights.weight.detach()
    if weight.ndim == 3:  # shared input: the towers of a power side by side
        weight = weight.unflatten(2, (-1, weights.width_out)).transpose(1, 2)
    return weight.flatten(0, 1).clone(memory_format=torch.contiguous_format)

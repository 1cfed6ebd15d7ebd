"""Export a model for use without ngcn: a file of plain PyTorch, and its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngcn import exported_model
from ngcn.errors import ModelError
from ngcn.files import atomic, write_text
from ngcn.model import Model
from ngcn.nn import GCN, SAGE, Network
from ngcn.registry import MODELS


def export_torch(model: Model, folder: Path | str) -> None:
    """Write a model as ``model.py``, a copy of :mod:`ngcn.exported_model`, and ``model.pt``. No graph is needed."""
    network, card, folder = model.network, model.card, Path(folder)
    if not isinstance(network.graph_models, GCN | SAGE):
        names = [name for name, spec in MODELS.items() if spec.exports]
        raise ModelError(
            f"{model.config.model} cannot be exported; only networks of GCN and SAGE can, such as {', '.join(names)}."
        )
    tensors = exported_tensors(network)
    how, mean, deviation = card.preparation
    if mean is not None and deviation is not None:
        tensors |= {"mean": torch.from_numpy(mean), "deviation": torch.from_numpy(deviation)}
    settings = {
        "classes": list(card.class_names),
        "features": list(card.feature_names),
        "multilabel": card.multilabel,
        "preparation": how,
        "normalization": network.normalization,
        "powers": list(network.tower_powers),
        "layers": sum(name.startswith("layers_") for name in tensors),
        "version": card.version,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "model.pt") as temporary:
        torch.save({"settings": settings, "tensors": tensors}, temporary)
    write_text(folder / "model.py", Path(exported_model.__file__).read_text(encoding="utf-8"))


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
    """The weight of a ``TowerWeights`` as ``(towers, inputs, outputs)``."""
    weight = weights.weight.detach()
    if weight.ndim == 3:  # shared input: the towers of a power are concatenated
        weight = weight.unflatten(2, (-1, weights.width_out)).transpose(1, 2)
    return weight.flatten(0, 1).clone(memory_format=torch.contiguous_format)

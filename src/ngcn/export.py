"""Export a model for use without ngcn: a file of plain PyTorch, and its parameters."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngcn import checks, exported_model
from ngcn.errors import ModelError
from ngcn.files import atomic, new_files, write_text
from ngcn.model import Model, need_model
from ngcn.nn import GCN, SAGE, Network
from ngcn.nn.mixed import Mixed
from ngcn.registry import MODELS


def export_torch(model: Model, folder: Path | str) -> None:
    """Write a model as ``model.py``, a copy of :mod:`ngcn.exported_model`, and ``model.pt``. No graph is needed.

    Example:
        >>> import tempfile
        >>> from ngcn import Config, load_dataset, train
        >>> folder = checks.file_path("folder", tempfile.mkdtemp())
        >>> export_torch(train(load_dataset("cora"), Config(model="gcn", steps=1)).model, folder)
        >>> sorted(path.name for path in folder.iterdir())
        ['model.pt', 'model.py']
    """
    network, card, folder = need_model(model).network, model.card, checks.file_path("folder", folder)
    if not all(isinstance(part, GCN | SAGE) for part in _parts(network)):
        names = [name for name, spec in MODELS.items() if spec.exports]
        raise ModelError(
            f"{model.config.model} cannot be exported; only networks of GCN and SAGE can, such as {', '.join(names)}."
        )
    tensors = exported_tensors(network)
    preparation = card.preparation
    arrays = {name: getattr(preparation, name) for name in ("mean", "deviation", "fill")}
    tensors |= {name: torch.from_numpy(array) for name, array in arrays.items() if array is not None}
    settings = {
        "classes": list(card.class_names),
        "features": list(card.feature_names),
        "multilabel": card.multilabel,
        "preparation": preparation.how,
        "missing": preparation.missing,
        "operators": [name.operator for name in network.tower_names],
        "powers": list(network.tower_powers),
        "unit_rows": [getattr(part, "normalizes_rows", False) for part in _parts(network) for _ in range(part.towers)],
        "version": card.version,
    }
    content = io.BytesIO()  # writing to a full disk, torch would raise an error without a reason
    torch.save({"settings": settings, "tensors": tensors}, content)
    with new_files(folder, "model.pt", "model.py"):
        with atomic(folder / "model.pt") as temporary:
            temporary.write_bytes(content.getvalue())
        write_text(folder / "model.py", Path(exported_model.__file__).read_text(encoding="utf-8"))


def exported_tensors(network: Network) -> dict[str, Tensor]:
    """The parameters of a network under the names, and in the shapes, of :class:`ngcn.exported_model.Model`."""
    tensors: dict[str, Tensor] = {
        "slope": network.calibration.slope.clone(),
        "offset": network.calibration.offset.clone(),
    }
    first = 0
    for model in _parts(network):
        for i, layer in enumerate(model.layers if isinstance(model, GCN) else model.neighbours):
            tensors |= _per_tower("weight", first, i, layer.linear)
            if isinstance(model, SAGE):
                tensors |= _per_tower("own", first, i, model.own[i])
            if layer.bias is not None:
                rows = layer.bias.detach().flatten().unflatten(0, (model.towers, -1))
                tensors |= {f"bias_{t}_{i}": row.clone() for t, row in enumerate(rows, first)}
        first += model.towers
    state = network.classifier.state_dict()
    if "scores" in state:
        tensors["scores"] = state["scores"].clone()
    tensors |= {f"classifier_{i}": matrix.T.contiguous() for i, matrix in enumerate(state.values()) if matrix.ndim == 2}
    return tensors


def _parts(network: Network) -> list[Any]:
    """The modules that hold the towers, one for each kind."""
    return list(network.graph_models.parts) if isinstance(network.graph_models, Mixed) else [network.graph_models]


def _per_tower(name: str, first: int, layer: int, weights: Any) -> dict[str, Tensor]:
    """The weight of a ``TowerWeights`` as an ``(inputs, outputs)`` matrix for each tower."""
    weight = weights.weight.detach()
    if weight.ndim == 3:  # shared input: the towers of a power are concatenated
        weight = weight.unflatten(2, (-1, weights.width_out)).transpose(1, 2)
    matrices = enumerate(weight.flatten(0, 1), first)
    return {f"{name}_{t}_{layer}": W.clone(memory_format=torch.contiguous_format) for t, W in matrices}

"""The files of `ngcn export` predict the same probabilities, in a process that cannot import ngcn."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from typer.testing import CliRunner

from ngcn import Config, Graph, ModelError, export_torch, exported_model, train
from ngcn.cli import app
from ngcn.runs import Run

# Every graph model, classifier, depth and feature preparation at least once
VARIANTS = {
    "attention": (Config(model="ngcn", powers=3, replicas=2, hidden=4, steps=3), False),
    "fc2": (
        Config(model="ngcn", classifier="fc2", powers=[0, 2], replicas=1, layers=3, steps=3, features="row"),
        False,
    ),
    "sage": (Config(model="nsage", powers=3, replicas=2, hidden=4, steps=3, features="none"), False),
    "sage-fc": (Config(model="nsage", classifier="fc", powers=2, replicas=1, steps=3, features="bag"), False),
    "gcn": (Config(model="gcn", steps=3), False),
    "gcn-kipf": (Config(model="gcn-kipf", steps=3), False),
    "unit": (Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=3, features="unit"), False),
    "dcnn": (Config(model="dcnn", steps=3), False),
    "several-labels": (Config(model="ngcn", classifier="harmonic", powers=3, replicas=1, steps=3), True),
}

LOAD = """
import importlib.util, sys
sys.modules["ngcn"] = None  # an import would fail
import numpy, torch
from pathlib import Path
data = {name: torch.from_numpy(array) for name, array in numpy.load("graph.npz").items()}
out = {}
for folder in Path().glob("*/torch"):
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.load()
    p = model(data["X"], data["edges"], data["weights"])
    assert model.classes == ["red", "green", "blue"] and model.features == list("abcdef")
    out[folder.parent.name] = p.numpy()
numpy.savez("out.npz", **out)
"""


def weighted_graph(multilabel: bool) -> Graph:
    """Directed edges of different weights, some both ways, one to itself, one node alone, one without features."""
    random = np.random.default_rng(0)
    adjacency = sp.random_array((30, 30), density=0.1, rng=random).tolil()
    adjacency[3, 3], adjacency[5, 6], adjacency[6, 5] = 2.0, 0.5, 1.5
    adjacency[29, :] = adjacency[:, 29] = 0
    X = np.round(random.normal(size=(30, 6)), 1) * (random.random((30, 6)) < 0.7)
    X[7] = 0
    labels = random.integers(0, 2, (30, 3)) if multilabel else np.arange(30) % 3
    third = np.arange(30) // 10
    names = {"class_names": ["red", "green", "blue"], "feature_names": list("abcdef")}
    return Graph(adjacency.tocsr(), X, labels, third == 0, third == 1, third == 2, **names)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("export")
    for name, (config, multilabel) in VARIANTS.items():
        train(weighted_graph(multilabel), config, folder=folder / name)
        result = CliRunner().invoke(app, ["export", str(folder / name), "--format", "torch"])
        assert result.exit_code == 0, result.output
    edges = weighted_graph(False).adjacency.tocoo()
    numbers = np.stack([edges.row, edges.col]).astype(np.int64)
    np.savez(folder / "graph.npz", X=weighted_graph(False).features, edges=numbers, weights=edges.data)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([sys.executable, "-W", "error", "-c", LOAD], cwd=folder, env=environment, check=True)
    return folder


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_probabilities_without_ngcn(exported: Path, name: str) -> None:
    run, graph = Run.open(exported / name), weighted_graph(VARIANTS[name][1])
    there = np.load(exported / "out.npz")[name]
    np.testing.assert_allclose(there, run.model().predict_proba(graph), atol=2e-6)
    assert np.ptp(there, axis=0).max() > 1e-3  # not the same for all nodes


def test_edges_without_weights_count_once_in_either_direction(exported: Path) -> None:
    model = exported_model.load(exported / "gcn" / "torch" / "model.pt")
    X = torch.from_numpy(weighted_graph(False).features)[:3]
    one_way, both_ways = torch.tensor([[0, 1], [1, 2]]), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.testing.assert_close(model(X, one_way), model(X, both_ways))
    torch.testing.assert_close(model(X, one_way), model(X, one_way.repeat(1, 2)))
    torch.testing.assert_close(model(X, one_way, torch.ones(2) * 2), model(X, one_way.repeat(1, 2), torch.ones(4)))
    assert not torch.allclose(model(X, one_way), model(X, one_way[:, :1]))


def test_invalid_edges_raise_an_error_and_other_dtypes_are_accepted(exported: Path) -> None:
    model = exported_model.load(exported / "gcn" / "torch" / "model.pt")
    X = torch.from_numpy(weighted_graph(False).features)[:3]
    for end in (3, -1):
        with pytest.raises(ValueError, match="edges must be indices from 0 to 2"):
            model(X, torch.tensor([[0, 1], [1, end]]))
    edges, weights = torch.tensor([[0, 1], [1, 2]]), torch.tensor([0.5, 2.0])
    torch.testing.assert_close(model(X.double(), edges, weights.double()), model(X, edges, weights))  # pandas
    many = torch.zeros(50_000, X.shape[1])
    edges = torch.tensor([[49_999], [49_998]])
    torch.testing.assert_close(model(many, edges.int()), model(many, edges))


def test_the_file_is_a_copy_and_imports_only_torch(exported: Path) -> None:
    text = (exported / "gcn" / "torch" / "model.py").read_text()
    assert text == Path(exported_model.__file__).read_text()
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported == {"__future__", "pathlib", "typing", "torch"}


def test_models_that_cannot_be_exported_raise_an_error_and_write_nothing(exported: Path, tmp_path: Path) -> None:
    onnx = CliRunner().invoke(app, ["export", str(exported / "gcn"), "--format", "onnx", "--out", str(tmp_path / "x")])
    assert onnx.exit_code == 2 and "no product with a sparse matrix" in onnx.stderr and "\n" not in onnx.stderr.strip()
    train(weighted_graph(False), replace(Config(model="cheby"), steps=2), folder=tmp_path / "cheby")
    cheby = CliRunner().invoke(app, ["export", str(tmp_path / "cheby"), "--format", "torch"])
    assert cheby.exit_code == 2 and "cheby cannot be exported; only networks of GCN and SAGE can" in cheby.stderr
    lp = train(weighted_graph(False), Config(model="lp")).model
    with pytest.raises(ModelError, match="LP is a baseline without a network, so it cannot be explained, exported"):
        export_torch(lp, tmp_path / "x")
    assert not (tmp_path / "x").exists() and not (tmp_path / "cheby" / "torch").exists()


@pytest.mark.parametrize("missing", ["propagate", "mean"])
def test_missing_values_are_filled_as_in_training(tmp_path: Path, missing: str) -> None:
    graph = weighted_graph(multilabel=False)
    X = graph.features.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    graph = replace(graph, features=X)
    model = train(graph, Config(model="gcn", steps=3, missing=missing)).model
    export_torch(model, tmp_path)
    edges = graph.adjacency.tocoo()
    given = (torch.from_numpy(np.stack(edges.coords).astype(np.int64)), torch.from_numpy(edges.data))
    p = exported_model.load(tmp_path / "model.pt")(torch.from_numpy(X), *given)
    np.testing.assert_allclose(p.numpy(), model.predict_proba(graph), atol=1e-3)  # it ends when little changes
    assert not np.allclose(p.numpy(), model.predict_proba(replace(graph, features=np.nan_to_num(X))), atol=1e-3)

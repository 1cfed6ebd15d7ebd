"""Baselines work like networks: run folder, JSON, evaluate, predict."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from training.conftest import crowds
from typer.testing import CliRunner, Result

from ngcn import Config, Model, ModelError, Run, train, train_seeds
from ngcn.baselines._learning import fit_network
from ngcn.cli import app
from ngcn.errors import ConfigError
from ngcn.graph import Graph, load_dataset
from ngcn.ops.threads import threads_as_before
from ngcn.registry import MODELS, baseline_names, load

BASELINES = {name: load(MODELS[name].baseline) for name in baseline_names()}

Ngcn = Callable[..., Result]


@pytest.fixture
def ngcn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ngcn:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_train_evaluate_predict(ngcn: Ngcn) -> None:
    result = ngcn("train", "cora", "--model", "lp")
    assert result.exit_code == 0, result.output
    assert "LP on cora" in result.stdout and "Best step" not in result.stdout
    assert ngcn("evaluate", "runs/cora-lp").exit_code == 0
    assert ngcn("predict", "runs/cora-lp", "--out", "lp.csv").exit_code == 0
    assert len(Path("lp.csv").read_text().splitlines()) == 2709
    resumed = ngcn("train", "--resume", "--out", "runs/cora-lp", "--json")
    answer = json.loads(resumed.stdout)
    assert answer == json.loads(Path("runs/cora-lp/result.json").read_text())
    assert answer["model"] == "lp" and answer["test_mean"] > 0.6 and answer["scale_weights"] is None


def test_settings_on_the_command_line(ngcn: Ngcn) -> None:
    made = ngcn("train", "cora", "--model", "label-spreading", "--set", "alpha=0.3", "--json")
    assert json.loads(made.stdout)["config"]["settings"] == {"alpha": 0.3}
    for wrong in (("--set", "alpha"), ("--set", "alpha=[")):
        result = ngcn("train", "cora", "--model", "label-spreading", *wrong)
        assert result.exit_code == 2 and "--set takes NAME=VALUE" in result.stderr


@pytest.mark.parametrize("model", BASELINES)
def test_every_number_is_checked(model: str) -> None:
    for setting in fields(BASELINES[model]):
        if type(setting.default) in (int, float):
            kind = type(setting.default)
            with pytest.raises(ConfigError, match=rf"^{setting.name} must be .*, not -1"):
                Config(model=model, settings={setting.name: kind(-1)})
            if kind is float:
                with pytest.raises(ConfigError, match=rf"{setting.name} must be .*, not inf"):
                    BASELINES[model](**{setting.name: float("inf")})


def test_a_setting_of_your_own_baseline_may_be_below_one() -> None:
    @dataclass(kw_only=True)
    class Mine(BASELINES["lp"]):
        gamma: float = 0.5

    assert Mine(gamma=0.1).gamma == 0.1


def test_a_run_comes_back_from_its_folder(tmp_path: Path) -> None:
    graph = crowds()
    result = train(graph, Config(model="lp"), folder=tmp_path / "run")
    stored = Run.open(tmp_path / "run").result(0)
    np.testing.assert_array_equal(*(r.model.predict_proba(graph) for r in (result, stored)))
    result.model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        Model.load(tmp_path / "model").predict_proba(graph), stored.model.predict_proba(graph)
    )
    assert stored.val == result.val > 0.8 and stored.history == result.history


def test_several_seeds(tmp_path: Path) -> None:
    run = train_seeds(crowds(), Config(model="lp", seeds=2), tmp_path / "run", threads=2)
    assert [run.finished(seed) for seed in run.seeds] == [True, True]


def test_multilabel_raises_an_error_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="lp predicts one class per node, but the nodes of 'crowds' have several"):
        train(crowds(labels_per_node=3), Config(model="lp"), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_keeps_to_the_protocol(name: str) -> None:
    baseline = BASELINES[name]
    assert MODELS[name].title and MODELS[name].summary and baseline.__doc__
    assert {type(f.default) for f in fields(baseline)} <= {bool, int, float, str}
    assert Config(model=name).settings == asdict(baseline())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("semiemb", {"steps": 3}),
        ("planetoid", {"steps": 2, "pretraining": 2}),
        ("sage-pool", {"steps": 2}),
        ("sage-lstm", {"steps": 1}),
        ("gcn-kipf", {"steps": 3}),
    ],
)
def test_the_same_seed_gives_the_same_bits_on_two_threads(name: str, settings: dict) -> None:
    graph, config = load_dataset("cora"), Config(model=name, settings=settings)
    with threads_as_before():
        torch.set_num_threads(2)
        first, *others = (train(graph, config).model.predict_proba(graph) for _ in range(4))
    assert all(np.array_equal(other, first) for other in others)


def test_a_tie_keeps_the_parameters_of_the_earlier_step(path: Graph) -> None:
    module, weights = nn.Linear(1, 1, bias=False), []

    def val_logits() -> torch.Tensor:
        weights.append(module.weight.item())
        return torch.zeros(int(path.val.sum()), path.classes)

    settings = SimpleNamespace(steps=2, lr=0.1, l2=0.0)
    fit_network(settings, module, path, lambda: module.weight.square().sum(), val_logits)
    assert module.weight.item() == weights[0] != weights[1]


def test_another_graph_of_the_same_size_raises_an_error(tmp_path: Path) -> None:
    graph = crowds()
    train(graph, Config(model="lp"), folder=tmp_path / "run")
    with pytest.raises(ModelError, match="LP can only predict the graph that it was fitted on, 'crowds', and"):
        Run.open(tmp_path / "run").model().predict(graph.reordered(np.arange(60)[::-1]))

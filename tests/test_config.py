from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
import yaml

from ngcn import Config, ConfigError
from ngcn.baselines.label_propagation import LabelSpreading
from ngcn.config import MODEL_SETTINGS


def write(folder: Path, text: str) -> Path:
    path = folder / "my.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("model", ["mixed", "lp"])
@pytest.mark.parametrize("name", ["settings", "features", "recipe", "device", "model"])
def test_an_array_in_place_of_a_setting(model: str, name: str) -> None:
    for odd in (np.array([1, 2]), np.array([["a"]]), pd.DataFrame({"a": [1]}), sp.eye_array(2), torch.ones(2)):
        with pytest.raises(ConfigError):
            Config(**{"model": model, name: odd})


def test_none_takes_what_the_model_prescribes() -> None:
    assert Config(model="gcn").powers == (1,)
    assert Config(model="ngcn").powers == tuple(range(6))
    assert Config(model="ngcn", powers=[3, 0]).powers == (0, 3)
    assert all(
        getattr(Config(), f.name) is not None
        for f in fields(Config)
        if f.default is not None or f.name in MODEL_SETTINGS
    )


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(model="dcnn"),
        Config(mix=["sage:out:1,2", "gcn:walk:0"], metric="roc_auc", balance=True, refit=True, bias=False),
        Config(model="ngcn", recipe="paper"),
        Config(l2=1e-7, lr=1e-3, patience=7, intermediate=True, split="random:5", seeds=3),
        Config(label="Cód.", one_hot=["größe", "a\x85b", "c\u2028d", "👍"]),
    ],
)
def test_yaml_is_complete_and_reads_back_equal(config: Config, tmp_path: Path) -> None:
    text = config.to_yaml()
    assert set(yaml.safe_load(text)) == {f.name for f in fields(Config)} - {"settings"}
    assert text.startswith("# ngcn train --config")
    assert Config.from_file(write(tmp_path, text)) == config


def test_yaml_has_unicode_as_it_is() -> None:
    text = Config(label="Cód.", text=["größe", "👍"]).to_yaml()
    assert "\nlabel: Cód. " in text and "\ntext: [größe, 👍] " in text


def test_a_baseline_has_settings_of_its_own(tmp_path: Path) -> None:
    config = Config(model="label-spreading", settings={"alpha": "5e-1"})  # as YAML reads it
    assert config.settings == {"alpha": 0.5} and config.powers is None and config.steps is None
    assert Config(model="label-spreading").settings == {"alpha": LabelSpreading().alpha}
    assert Config.from_file(write(tmp_path, config.to_yaml())) == config == replace(config)
    assert "powers" not in config.to_yaml() and config.name == "cora-label-spreading"
    path = write(tmp_path, Config(steps=7).to_yaml())
    assert Config.from_file(path, model="lp") == Config(model="lp")  # what the file says of a network is not for lp
    assert Config.from_file(write(tmp_path, config.to_yaml()), model="gcn") == Config(model="gcn")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "lp", "steps": 600}, "steps does not apply to the baseline lp; its own settings are class_mass."),
        ({"model": "label-spreading", "patience": 3}, "patience does not apply .* its own settings are alpha."),
        ({"model": "lp", "features": "row"}, "features does not apply to the baseline lp, which uses the edges"),
        ({"model": "label-spreading", "settings": {"beta": 1}}, "has no setting 'beta'; its own settings are alpha."),
        ({"model": "label-spreading", "settings": {"alpha": 2}}, "alpha must be a number between 0 and 1, not 2.0."),
        ({"model": "label-spreading", "settings": {"alpha": "x"}}, "alpha must be a number such as 0.5, not 'x'."),
        ({"model": "label-spreading", "settings": [1]}, "settings must be names with values"),
        ({"model": "gcn", "settings": {"alpha": 0.5}}, "settings are for baselines, and gcn is a network."),
    ],
)
def test_what_does_not_apply_to_a_baseline_is_refused(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config(**given)


def test_given_goes_before_file_goes_before_default(tmp_path: Path) -> None:
    path = write(tmp_path, "model: gcn\nsteps: 7\nlr: 1e-3\n")
    config = Config.from_file(path, steps=9)
    assert (config.model, config.steps, config.lr, config.hidden) == ("gcn", 9, 1e-3, 16)
    assert Config.from_file(path, model="ngcn").powers == tuple(range(6))  # not the file's model's


def test_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "droput: 0.1\n")
    with pytest.raises(ConfigError, match=r"my\.yaml has the unknown key 'droput'; did you mean 'dropout'\?"):
        Config.from_file(path)


def test_a_bad_value_is_blamed_on_the_file_only_if_it_is_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml, steps must be"):
        Config.from_file(write(tmp_path, "steps: 0\n"))
    with pytest.raises(ConfigError, match=r"^steps must be"):
        Config.from_file(write(tmp_path, "lr: 0.1\n"), steps=0)


@pytest.mark.parametrize(
    "text", ["- 1\n", "a: b: c\n", "steps: [\n", "just text", "x: !!python/object/apply:os.abort []\n"]
)
def test_a_file_that_is_no_config_is_refused_and_nothing_runs(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml"):
        Config.from_file(write(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Config.from_file(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        Config.from_file(tmp_path)
    (tmp_path / "my.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="UTF-8"):
        Config.from_file(tmp_path / "my.yaml")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            (name, bad)
            for name in ("replicas", "hidden", "layers", "steps", "seeds", "patience")
            for bad in (0, 1.5, True)
        ],
        *[(name, bad) for name in ("lr", "dropout", "l2") for bad in (-1, float("nan"), float("inf"), "much", True)],
        *[("powers", bad) for bad in (0, -1, [], [0, 0], [-1], "0-5", [1.5], True)],
        *[("split", bad) for bad in ("random", "random:0", "random:x", -1, 1.5, "halves")],
        *[(name, bad) for name in ("model", "classifier", "features", "dataset") for bad in (3, "", [])],
        ("model", "gnc"),
        ("dropout", 1),
        ("lr", 0),
        ("seed", -1),
        ("intermediate", "yes"),
        *[(name, "yes") for name in ("bias", "balance", "refit")],
        *[("mix", bad) for bad in ("gcn", ["gcn:row"], ["gat:row:1"], ["gcn:left:1"], ["gcn:row:1,1"], [], [3])],
        *[(name, bad) for name in ("metric", "recipe") for bad in ("acuracy", 3)],
    ],
)
def test_bad_values_are_named_in_one_line(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be .* not ") as caught:
        Config(**{name: value})
    assert "\n" not in str(caught.value)


def test_a_custom_network_is_not_named() -> None:
    with pytest.raises(ConfigError, match=r"passed to train\(network=...\)"):
        Config(model="custom")


def test_a_misspelt_choice_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'attention'"):
        Config(model="ngcn", classifier="atention")


def test_differences_say_both_values() -> None:
    config = Config()
    assert config.differences(config) == []
    assert config.differences(replace(config, lr=0.5, steps=3)) == ["steps is 600, not 3", "lr is 0.01, not 0.5"]


def test_paths_are_made_absolute_and_lists_stay_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = Config(dataset="my.graph/", edges="e.csv", one_hot=["town"], ignore=("note",), multilabel=True)
    assert (config.dataset, config.edges) == (str(tmp_path / "my.graph"), str(tmp_path / "e.csv"))
    assert config.name == "my-mixed"
    (tmp_path / "my.graph").mkdir()
    monkeypatch.chdir(tmp_path / "my.graph")
    names = [Config(dataset=path).graph_name for path in ("..", ".", "./.hidden")]
    assert names == [tmp_path.name.split(".")[0], "my", "hidden"]
    assert Config.from_file(write(tmp_path, config.to_yaml())) == config
    assert Config(dataset="not there").dataset == "not there"
    for bad in ("town", [3], [""]):
        with pytest.raises(ConfigError, match="one_hot must be a list of columns"):
            Config(one_hot=bad)


def test_name() -> None:
    assert Config().name == Config(mix=["gcn:row:1"]).name == "cora-mixed"
    assert Config(model="ngcn").name == "cora-ngcn-attention-K6-r4"
    assert Config(model="ngcn", recipe="paper").name == "cora-ngcn-paper-attention-K6-r4"
    assert Config(recipe="standard").name == "cora-mixed-standard"
    assert Config(model="gcn").name == "cora-gcn"
    assert Config(model="gcn", powers=[2]).name == "cora-gcn-identity-P2-r1"
    assert Config(model="cheby").name == "cora-cheby"
    assert Config(model="ngcn", powers=[0, 2]).name == "cora-ngcn-attention-P0+2-r4"


def test_another_model_brings_its_own_defaults(tmp_path) -> None:
    """A stored config has the settings of its model resolved; they are not those of another one."""
    path = tmp_path / "config.yaml"
    path.write_text(Config(model="ngcn", steps=7).to_yaml())
    other = Config.from_file(path, model="gcn")
    assert (other.powers, other.replicas, other.classifier, other.steps) == ((1,), 1, "identity", 7)
    assert Config.from_file(path, model="ngcn").powers == (0, 1, 2, 3, 4, 5)
    assert Config.from_file(path, model="mlp").l2 == Config(model="mlp").l2 != Config(model="ngcn").l2
    path.write_text("replicas: 3\nlr: 0.5\n")  # of the default model, though it does not name it
    assert Config.from_file(path, model="mixed") == Config(replicas=3, lr=0.5)
    assert Config.from_file(path, model="nsage") == Config(model="nsage", lr=0.5)
    path.write_text("powers: 3\n")
    with pytest.raises(ConfigError, match=r"In the config file .*, The powers of a mixed .* use `model='ngcn'`"):
        Config.from_file(path)


@pytest.mark.parametrize("model", ["ngcn", "gcn", "lp"])
def test_another_model_brings_its_own_recipe(tmp_path: Path, model: str) -> None:
    path = write(tmp_path, Config(mix=["gcn:row:1,3"]).to_yaml())
    assert Config.from_file(path, model=model) == Config(model=model)


def test_the_default_is_a_mixed_network() -> None:
    config = Config()
    assert (config.model, config.recipe, config.bias, config.replicas) == ("mixed", "independent", True, 1)
    assert config.mix == ("gcn:symmetric:0,1,2,4", "sage:walk:1,2,3") and config.powers == (0, 1, 2, 3, 4)
    assert config.towers == 7 and Config(replicas=2).towers == 14
    assert {Config(model=model).recipe for model in ("ngcn", "nsage", "gcn", "sage", "dcnn", "cheby")} == {"standard"}
    paper = Config(model="ngcn", recipe="paper")
    assert (paper.bias, paper.patience, paper.steps, paper.l2) == (False, None, 600, 1e-5)  # as before 0.3.0


def test_a_mix_decides_the_powers(tmp_path: Path) -> None:
    config = Config(mix=["sage:in:3", "gcn:row:0,2"], replicas=2)
    assert config.powers == (0, 2, 3) and config.towers == 6 == Config(**config.to_dict()).towers
    assert config.mix == ("sage:in:3", "gcn:row:0,2")
    stored = write(tmp_path, Config().to_yaml())
    assert Config.from_file(stored, mix=["gcn:row:0,5"]).powers == (0, 5)  # the file has the powers of its own mix
    with pytest.raises(ConfigError, match="powers of a mixed network are those of its parts"):
        Config(powers=3)
    with pytest.raises(ConfigError, match="mix is for the model mixed, and ngcn has towers of one kind"):
        Config(model="ngcn", mix=["gcn:row:1"])
    with pytest.raises(ConfigError, match="mix does not apply to the baseline lp"):
        Config(model="lp", mix=["gcn:row:1"])
    with pytest.raises(ConfigError, match="mix must be a list of different parts"):
        Config(mix=["gcn:row:1", "gcn:row:1"])


def test_the_config_of_a_run_keeps_what_its_version_did(tmp_path: Path) -> None:
    assert Config.of_run(write(tmp_path, "model: ngcn\nsteps: 7\n")) == Config(model="ngcn", recipe="paper", steps=7)
    assert Config.of_run(write(tmp_path, "model: lp\n")) == Config(model="lp")
    assert Config.of_run(write(tmp_path, "model: lp\nrecipe: paper\n")) == Config(model="lp")  # as 0.3 wrote it
    for config in (Config(), Config(model="ngcn"), Config(model="gcn", recipe="kipf"), Config(model="ica")):
        assert Config.of_run(write(tmp_path, config.to_yaml())) == config


def test_seed_beyond_the_generator_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed must be below"):
        Config(seed=2**32)
    with pytest.raises(ConfigError, match="the last one would be 4294967296"):
        Config(seed=2**32 - 1, seeds=2)


def test_numpys_whole_numbers_are_whole_numbers() -> None:
    config = Config(model="ngcn", seed=np.int64(3), replicas=np.arange(3)[2], powers=np.int64(2))
    assert (
        config == Config(model="ngcn", seed=3, replicas=2, powers=2)
        and type(config.seed) is type(config.replicas) is int
    )
    assert (
        Config(model="ngcn", powers=np.arange(3))
        == Config(model="ngcn", powers=[0, np.int32(1), 2])
        == Config(model="ngcn", powers=3)
    )

"""What is searched, and that all of it can be trained."""

from __future__ import annotations

import optuna
import pytest

from ngcn import Config, ConfigError, Graph
from ngcn.registry import RECIPES, load
from ngcn.tuning.space import SEARCHED, Space


def trials(space: Space, number: int = 120) -> list[dict]:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    return [space.settings(study.ask()) for _ in range(number)]


def test_every_point_of_the_space_is_a_config_whose_recipe_trains_it(graph: Graph) -> None:
    from ngcn.nn import build_network

    space, seen = Space(graph, {}), set()
    for settings in trials(space):
        config = space.config(settings)
        names = ("powers", "replicas", "classifier", "hidden", "layers", "mix", "dropout")
        network = build_network(config.model, 12, 3, **{name: getattr(config, name) for name in names})
        load(RECIPES[config.recipe].recipe)(config).check(network)
        seen.add((config.recipe, config.model))
        assert set(settings) <= set(SEARCHED) and (config.mix is None) == (config.model != "mixed")
    assert len(seen) == 12  # three recipes, four models


def test_the_first_start_is_the_default_and_every_start_is_in_the_space(graph: Graph) -> None:
    for fixed in (
        {},
        {"model": "ngcn"},
        {"recipe": "consistency"},
        {"model": "gcn"},
        {"mix": ["sage:walk:1"]},
        {"hidden": 8},
    ):
        space = Space(graph, fixed)
        found = [space.settings(optuna.trial.FixedTrial(start)) for start in space.starts()]  # raises an error outside
        assert space.config(found[0]) == Config(dataset=graph.name, **fixed)
        assert len({str(space.config(each)) for each in found}) == len(found)
    assert [(each["recipe"], each["model"]) for each in Space(graph, {}).starts()] == [
        ("independent", "mixed"),
        ("standard", "mixed"),
        ("consistency", "nmlp"),
        ("standard", "ngcn"),
        ("standard", "nsage"),
        ("standard", "nmlp"),
    ]


def test_what_is_given_is_not_searched(graph: Graph) -> None:
    fixed = {"model": "nsage", "lr": 0.02, "powers": [0, 3], "metric": "macro_f1"}
    for settings in trials(Space(graph, fixed), 5):
        assert set(settings) == {"recipe", "replicas", "hidden", "dropout", "l2"}
    settings = trials(Space(graph, {"mix": ["sage:walk:1"]}), 5)[0]
    assert set(settings) == {"recipe", "replicas", "hidden", "dropout", "l2", "lr"}
    for settings in trials(Space(graph, {"model": "dcnn"}), 5):
        assert set(settings) == {"recipe", "hidden", "dropout", "l2", "lr"} and settings["recipe"] == "standard"
    space = Space(graph, {"classifier": "fc"})
    assert all(space.config(settings).recipe == "standard" for settings in trials(space, 9))


def test_directed_graphs_have_towers_on_in_and_out_edges(graph: Graph) -> None:
    from dataclasses import replace

    def mixes(of: Graph) -> str:
        return str([settings.get("mix") for settings in trials(Space(of, {}))])

    assert "sage:in" in mixes(graph)
    assert "sage:in" not in mixes(replace(graph, adjacency=graph.adjacency + graph.adjacency.T))


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ({"hiden": 3}, "hiden is no setting"),
        ({"model": "lp"}, "lp is a baseline"),
        ({"recipe": "paper"}, "tune needs a recipe of independent, standard, consistency, not paper"),
        ({"seeds": 3}, "leave seeds out"),
        ({"powers": 3}, "set them with `mix`, or use `model='ngcn'`"),
        ({"lr": -1}, "lr must be a number above 0"),
    ],
)
def test_settings_that_cannot_be_fixed(graph: Graph, fixed: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Space(graph, fixed)

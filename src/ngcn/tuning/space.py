"""The settings that `tune` searches, and what each may be. docs/guides/tuning.md has them as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ngcn.config import Config
from ngcn.errors import ConfigError
from ngcn.graph import Graph

MODELS = ("mixed", "ngcn", "nsage", "nmlp")
RECIPES = ("independent", "standard", "consistency")  # those that choose with each half of the validation nodes
POWERS = ("0,1", "0,1,2", "0,1,2,3", "0,1,2,3,4,5", "0,1,2,3,4,5,6,7", "0,2,4,8")  # of all models but mixed
MIXES = (
    "gcn:symmetric:0,1,2,4 sage:walk:1,2,3",
    "gcn:symmetric:0,1,2 sage:walk:1,2",
    "gcn:symmetric:0,1,2,4,8 sage:walk:1,2,3,6",
    "gcn:symmetric:0,1,2,3,4",
    "gcn:symmetric:0 sage:walk:1,2,3,4",
)
DIRECTED = (f"{MIXES[0]} sage:in:1,2 sage:out:1,2", "gcn:symmetric:0 sage:in:1,2,3 sage:out:1,2,3")
REPLICAS = (1, 4)
HIDDEN = (8, 128)  # on a logarithmic scale, as l2 and lr are
DROPOUT = (0.0, 0.8)
L2 = (1e-6, 1e-2)
LR = (1e-3, 5e-2)
SEARCHED = ("recipe", "model", "mix", "powers", "replicas", "hidden", "dropout", "l2", "lr")
DIGITS = 3  # of a number that was drawn


class Space:
    """The settings to search on a graph, except those that are ``fixed``.

    Example:
        >>> from ngcn import load_dataset
        >>> Space(load_dataset("cora"), {"model": "ngcn", "hidden": 16}).starts()[0]
        {'recipe': 'standard', 'powers': '0,1,2,3,4,5', 'replicas': 4, 'dropout': 0.5, 'l2': 1e-05, 'lr': 0.01}
    """

    def __init__(self, graph: Graph, fixed: Mapping[str, Any]) -> None:
        if unknown := set(fixed) - {setting.name for setting in fields(Config)}:
            raise ConfigError(f"{sorted(unknown)[0]} is no setting; `ngcn train --help` lists them.")
        if fixed.get("seeds", 1) != 1:
            raise ConfigError("A trial trains one seed; leave seeds out, and train several with the settings found.")
        self.fixed: dict[str, Any] = {"dataset": graph.name, **fixed}
        if "mix" in fixed:
            self.fixed["model"] = "mixed"
        if "classifier" in fixed:
            self.fixed.setdefault("recipe", "standard")  # which trains all of them
        self.base = Config(**self.fixed)
        if self.base.is_baseline:
            raise ConfigError(f"tune searches the settings of networks, and {self.base.model} is a baseline.")
        if self.base.recipe not in RECIPES:
            raise ConfigError(f"tune needs a recipe of {', '.join(RECIPES)}, not {self.base.recipe}.")
        directed = (graph.adjacency != graph.adjacency.T).nnz > 0
        self.mixes = (*MIXES, *DIRECTED) if directed else MIXES
        self.towers = self.base.model in MODELS  # other models have a recipe and towers that suit them
        self.recipes = RECIPES if self.towers else (self.base.recipe,)
        self.models = MODELS if self.towers and "model" not in self.fixed else (self.base.model,)

    def starts(self) -> list[dict[str, Any]]:
        """The parameters of the first trials: the default settings, then those of other recipes and models."""
        bases = [self.base]
        bases += [Config(**{**self.fixed, "recipe": name}) for name in self.recipes if "recipe" not in self.fixed]
        bases += [Config(**{**self.fixed, "model": name}) for name in self.models if "model" not in self.fixed]
        found = [self._parameters(base) for base in bases if base.model in self.models and base.recipe in self.recipes]
        return [start for place, start in enumerate(found) if start not in found[:place]]

    def _parameters(self, base: Config) -> dict[str, Any]:
        """The settings of a config, as parameters of a trial."""
        skipped = {"powers" if base.model == "mixed" else "mix", *self.fixed}
        values = {name: getattr(base, name) for name in SEARCHED}
        values |= {"mix": " ".join(base.mix or ()), "powers": ",".join(map(str, base.powers))}
        if not self.towers:
            skipped |= {"mix", "powers", "replicas"}
        return {name: value for name, value in values.items() if name not in skipped}

    def settings(self, trial: Any) -> dict[str, Any]:
        """The settings that a trial of Optuna suggests; none of the fixed ones."""

        def choose(name: str, choices: tuple[str, ...]) -> str:
            if name in self.fixed:
                return str(getattr(self.base, name))
            return str(trial.suggest_categorical(name, choices))

        def draw(name: str, low: float, high: float, log: bool) -> float:
            return float(f"{trial.suggest_float(name, low, high, log=log):.{DIGITS}g}")

        found: dict[str, Any] = {"recipe": choose("recipe", self.recipes), "model": choose("model", self.models)}
        if self.towers and found["model"] == "mixed" and "mix" not in self.fixed:
            found["mix"] = choose("mix", self.mixes).split()
        elif self.towers and found["model"] != "mixed" and "powers" not in self.fixed:
            found["powers"] = [int(k) for k in choose("powers", POWERS).split(",")]
        for name, (low, high) in (("replicas", REPLICAS), ("hidden", HIDDEN)):
            if name not in self.fixed and (self.towers or name == "hidden"):
                found[name] = trial.suggest_int(name, low, high, log=name == "hidden")
        for name, (least, most) in (("dropout", DROPOUT), ("l2", L2), ("lr", LR)):
            if name not in self.fixed:
                found[name] = draw(name, least, most, log=name != "dropout")
        return {name: value for name, value in found.items() if name not in self.fixed}

    def config(self, settings: Mapping[str, Any]) -> Config:
        return Config(**{**self.fixed, **settings})

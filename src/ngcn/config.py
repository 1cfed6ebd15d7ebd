"""`Config`: every setting of a run, checked when it is made. Imports no torch, so that help and errors are quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from ngcn import checks, registry
from ngcn.data.catalog import is_path
from ngcn.errors import ConfigError
from ngcn.registry import ALIASES, CLASSIFIERS, CUSTOM, DEFAULT_MODEL, MODELS, RECIPES, SHARED
from ngcn.text import METRICS, did_you_mean, shown
from ngcn.yaml_file import read_yaml, yaml_value

MODEL_SETTINGS = ("powers", "replicas", "classifier", "layers", "mix")  # whose defaults differ most between models
DROPOUT = ("dropout", "drop_nodes", "shared_mask")
STRUCTURE = (*MODEL_SETTINGS, "hidden", "bias", *DROPOUT)  # how a network is built
NETWORK_SETTINGS = tuple(SHARED)  # a baseline has none of these
_TABLE_SETTINGS = ("id", "source", "target", "label", "one_hot", "text", "ignore", "multilabel", "unknown_nodes")
FILE_SETTINGS = ("edges", "feature_table", *_TABLE_SETTINGS)
BEFORE = {"recipe": "paper", "bias": False, "shared_mask": False}  # as in versions that did not have these settings
MOST_SEEDS = 2**32  # torch's generator takes no larger seed


def _setting(panel: str, default: Any, check: checks.Check, help: str) -> Any:
    """A field with its check. ``help`` is also its comment in config.yaml and its text in ``ngcn train --help``, under
    the heading ``panel``."""
    return field(default=default, metadata={"check": check, "panel": panel, "help": help})


_data, _model, _training = (partial(_setting, panel) for panel in ("Data", "Model", "Training"))


def _dataset(name: str, value: Any) -> str:
    value = checks.text(name, value)
    return checks.path(name, value) if is_path(value) else value


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run. ``None`` stands for the default of the model or the recipe, and is replaced by it.

    A baseline has none of the settings of a network: they stay ``None``. It has ``settings`` of its own.

    Example:
        >>> Config(model="gcn").powers, Config(model="ngcn", powers=3).powers
        ((1,), (0, 1, 2))
        >>> Config(lr=-1)
        Traceback (most recent call last):
        ...
        ngcn.errors.ConfigError: lr must be a number above 0, not -1.
    """

    dataset: str = _data(
        "cora", _dataset, "The graph to train on: one of `ngcn datasets`, or a folder or file of your own."
    )
    edges: str | None = _data(None, checks.path, "The table of edges, where the graph is a table of nodes.")
    feature_table: str | None = _data(None, checks.path, "A table of sparse features: id, feature, value.")
    id: str | None = _data(None, checks.text, "The column of the nodes that holds their ids, if it is not named id.")
    source: str | None = _data(None, checks.text, "The column of the edges with their first ends, if not source.")
    target: str | None = _data(None, checks.text, "The column of the edges with their second ends, if not target.")
    label: str = _data("label", checks.text, "The column of the nodes that holds their labels.")
    one_hot: tuple[str, ...] = _data((), checks.names, "A text column to encode one-hot; may be given several times.")
    text: tuple[str, ...] = _data(
        (), checks.names, "A column of free text, whose words become features (TF-IDF); may be given several times."
    )
    ignore: tuple[str, ...] = _data((), checks.names, "A column of the nodes to leave out; may be given several times.")
    multilabel: bool = _data(False, checks.boolean, "Nodes have several labels, separated by |.")
    unknown_nodes: str = _data(
        "error",
        checks.unknown_nodes,
        "Edges to nodes that are not in the table of nodes: error, or drop (they are left out).",
    )
    split: str = _data(
        "given",
        checks.split,
        "Training, validation and test nodes: given (the split in the data; without one, half of each class trains), a "
        "number from 0 (one of several splits in the data) or random:N (N training nodes per class).",
    )
    missing: str = _data(
        "propagate",
        checks.choice(("propagate", "mean", "error")),
        "How missing feature values are filled: propagate (from the neighbours, and from theirs), mean (of the column) "
        "or error (they are not filled).",
    )
    features: str = _data(
        "auto",
        checks.choice(("auto", "bag", "unit", "row", "standard", "none")),
        "Feature preparation: bag (1 where a feature is not 0, rows sum to 1), unit (the same, rows of length 1), "
        "row (rows sum to 1), standard (columns with mean 0 and standard deviation 1) or none. auto is unit for sparse "
        "and 0/1 features (none if one is negative), else standard; in the paper's recipe, bag in place of unit, "
        "unless nodes have more than 64 features.",
    )

    model: str = _model(
        None,
        checks.choice(MODELS, hidden=[CUSTOM], registry="MODELS"),
        f"{', '.join([*registry.network_names(), *ALIASES])}; or a baseline: {', '.join(registry.baseline_names())}.",
    )
    settings: Mapping[str, Any] = _model(
        None, checks.mapping, "A setting of a baseline, such as alpha=0.9; see the page `Baselines`."
    )
    mix: tuple[str, ...] | None = _model(
        None,
        checks.mix,
        "For the mixed model: towers as MODEL:OPERATOR:POWERS, such as sage:walk:1,2,3; may be given several times. "
        "Models: gcn, sage. Operators: symmetric and row (Â with self-loops), walk (without), in and out (directed).",
    )
    powers: tuple[int, ...] = _model(None, checks.powers, "Powers of Â: a number K for 0 to K-1, or a list of powers.")
    replicas: int = _model(None, checks.whole(1, 1000), "Towers per power, each with its own weights.")
    classifier: str = _model(
        None, checks.choice(CLASSIFIERS, registry="CLASSIFIERS"), f"How towers are combined: {', '.join(CLASSIFIERS)}."
    )
    hidden: int = _model(None, checks.whole(1, 2**16), "Hidden units of each layer of a tower.")
    layers: int = _model(None, checks.whole(1, 100), "Layers of a tower.")

    bias: bool = _model(None, checks.boolean, "Add a learned row to the output of each layer.")

    recipe: str = _training(
        None,
        checks.choice(RECIPES, registry="RECIPES"),
        "How to train: " + "; ".join(f"{name} ({spec.summary})" for name, spec in RECIPES.items()) + ".",
    )
    steps: int = _training(None, checks.whole(1), "The maximal number of training steps.")
    lr: float = _training(None, checks.positive, "Learning rate of Adam.")
    dropout: float = _training(None, checks.dropout, "Probability of dropping an input of a layer.")
    drop_nodes: float = _training(None, checks.dropout, "In MLP towers, probability of dropping a node's features.")
    l2: float = _training(None, checks.not_negative, "Weight of the L2 penalty, the sum of squared weights.")
    shared_mask: bool = _training(
        None, checks.boolean, "Let all towers share one dropout mask on dense features, which is faster."
    )
    intermediate: bool = _training(None, checks.boolean, "Add the loss of every tower to that of their mixture.")
    patience: int | None = _training(
        None, checks.whole(1), "Stop early after this many steps without a better validation score."
    )

    metric: str | None = _training(
        None,
        checks.choice(METRICS),
        f"The validation score that selects the best step: {', '.join(METRICS)}. By default accuracy (micro_f1 for "
        "multi-label); in the recipe independent, the loss of each tower.",
    )
    balance: bool = _training(None, checks.boolean, "Weight the nodes so that every class counts the same.")
    refit: bool = _training(None, checks.boolean, "Once the choice is made, train on the validation nodes as well.")
    batch: str = _training(
        None,
        checks.choice(("auto", "full", "sampled")),
        "What a step sees: full (the whole graph), sampled (some training nodes, and random walks from them) or auto "
        "(full, unless that takes too much memory or time).",
    )
    walks: int = _training(None, checks.whole(1, 10_000), "In sampled batches, the random walks from each node.")
    batch_size: int = _training(None, checks.whole(1), "In sampled batches, the number of training nodes.")
    memory: str | None = _training(
        None, checks.memory, "The memory that training and prediction may use, such as 4GB (of large graphs)."
    )
    seed: int = _training(0, checks.whole(0, 2**70), "The first seed; it also draws a random split.")
    seeds: int = _training(1, checks.whole(1, 10_000), "How many seeds to train: seed, seed + 1, ...")
    device: str = _training("cpu", checks.choice(("cpu", "cuda", "mps")), "Where to train: cpu, cuda or mps.")

    def __post_init__(self) -> None:
        for setting in fields(self):  # arrays cannot be compared with a text, and lists can
            if getattr(value := getattr(self, setting.name), "ndim", 0):
                vars(self)[setting.name] = value.tolist() if hasattr(value, "tolist") else [value]
        self._choose_model_and_recipe()
        if self.model == CUSTOM and self.powers is None:
            raise ConfigError("A network of your own is passed to train(network=...); model must not name it.")
        spec = MODELS[self.model]
        if spec.baseline is not None:
            vars(self).update(settings=_baseline_settings(self, registry.load(spec.baseline)))
        else:
            checks.choice(RECIPES, registry="RECIPES")("recipe", self.recipe)
            self._take_defaults(spec)
        for setting in fields(self):
            if getattr(self, setting.name) is None:
                vars(self)[setting.name] = setting.default
            if (value := getattr(self, setting.name)) is not None:
                vars(self)[setting.name] = setting.metadata["check"](setting.name, value)
        if (last := self.seed + self.seeds - 1) >= MOST_SEEDS:
            raise ConfigError(f"seed must be below {MOST_SEEDS}, and the last one would be {last}.")
        many = {"gcn": "ngcn", "sage": "nsage"}.get(self.model)
        if many and self.classifier == "identity" and self.towers > 1:
            raise ConfigError(
                f"The identity classifier takes a single tower, but powers and replicas make {self.towers}; use "
                f"`model='{many}'`, or combine them with `classifier='attention'`."
            )

    def _choose_model_and_recipe(self) -> None:
        """Without a model, that of the recipe; without a recipe, that of the model."""
        if self.model is None:
            known = isinstance(self.recipe, str) and self.recipe in RECIPES
            vars(self).update(model=RECIPES[self.recipe].model if known else DEFAULT_MODEL)
        if isinstance(self.model, str) and self.model in ALIASES:
            vars(self).update(_without_alias(self.model, self.settings))
        checks.choice(MODELS, hidden=[CUSTOM], registry="MODELS")("model", self.model)
        if self.is_baseline and self.recipe == "paper":  # as older versions wrote
            vars(self).update(recipe=None)
        if self.recipe is None and not self.is_baseline:
            vars(self).update(recipe=MODELS[self.model].recipe)

    def _take_defaults(self, spec: registry.ModelSpec) -> None:
        """Replace None: the recipe's default goes before the model's, and that before the shared one."""
        if self.settings:
            raise ConfigError(f"settings are for baselines, and {self.model} is a network.")
        recipe = RECIPES[self.recipe].defaults
        defaults = {**SHARED, **spec.defaults, **recipe}
        if self.model == CUSTOM:  # these say how a network is built, which it is already
            defaults |= dict.fromkeys(STRUCTURE)
        values = {name: defaults[name] for name in NETWORK_SETTINGS if getattr(self, name) is None}
        if self.features == "auto" and "features" in recipe:
            values["features"] = recipe["features"]
        vars(self).update(settings={}, **values)
        if self.mix is not None:
            self._take_powers()

    def _take_powers(self) -> None:
        """The powers of a mixed network are those of its parts."""
        if self.model not in ("mixed", CUSTOM):
            raise ConfigError(f"mix is for the model mixed, and {self.model} has towers of one kind.")
        powers = {k for part in checks.parts("mix", self.mix) for k in part.powers}
        if self.powers is not None and set(checks.powers("powers", self.powers)) != powers:
            raise ConfigError(
                "The powers of a mixed network are those of its parts; set them with `mix`, or use `model='ngcn'`."
            )
        vars(self).update(powers=tuple(sorted(powers)))

    @property
    def graph_name(self) -> str:
        """The dataset, or the last part of its path without its ending."""
        return Path(self.dataset).resolve().name.lstrip(".").split(".")[0] if "/" in self.dataset else self.dataset

    @property
    def is_baseline(self) -> bool:
        return MODELS[self.model].baseline is not None

    @property
    def towers(self) -> int:
        """The number of graph models; 0 for a baseline."""
        if self.is_baseline:
            return 0
        powers = self.powers if not self.mix else [k for part in checks.parts("mix", self.mix) for k in part.powers]
        return len(powers) * self.replicas

    @property
    def progress_steps(self) -> int:
        """The steps of a seed as progress counts them; a baseline is fitted in one."""
        return self.steps or 1

    @property
    def name(self) -> str:
        """A short name for the run, such as ``cora-ngcn-attention-K6-r4``."""
        spec = MODELS[self.model]
        name = f"{self.graph_name}-{self.model}" + ("" if self.recipe in (None, spec.recipe) else f"-{self.recipe}")
        if self.mix:
            return name
        usual = checks.powers("powers", spec.defaults.get("powers", SHARED["powers"]))
        if spec.graph_model is None or (self.classifier == "identity" and self.powers == usual):
            return name
        return f"{name}-{self.classifier}-{self.powers_text('K', 'P', '+')}-r{self.replicas}"

    def powers_text(self, several: str = "K=", listed: str = "powers ", separator: str = ", ") -> str:
        """The powers in short: ``K=6`` for 0 to 5, else ``powers 0, 2``."""
        if self.powers == tuple(range(len(self.powers))):
            return f"{several}{len(self.powers)}"
        return listed + separator.join(map(str, self.powers))

    @classmethod
    def of_run(cls, path: Path | str, **given: Any) -> Config:
        """Read the config of a run. Settings that its version of ngcn did not have are as they were then."""
        values = read_yaml(path)
        baseline = values.get("model") in registry.baseline_names()
        return cls.from_file(
            path, **{**({} if baseline else {k: BEFORE[k] for k in BEFORE if k not in values}), **given}
        )

    @classmethod
    def from_file(cls, path: Path | str, **given: Any) -> Config:
        """Read YAML. Settings ``given`` here override the file's; what neither has takes its default."""
        values, known = read_yaml(path), [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                hint = did_you_mean(str(key), known, cutoff=0.5) or f"the settings are {', '.join(known)}."
                raise ConfigError(f"The config file {path} has the unknown key {shown(key)}; {hint}")
        try:
            of_file = cls(**values)  # so that the file is blamed for its own mistakes only
        except ConfigError as error:
            raise ConfigError(f"In the config file {path}, {error}") from None
        if "model" in given and given["model"] != of_file.model:
            # The file is about another model. A stored config lists all settings, those at their default too: these and
            # the settings that are particular to a model are left to the new one.
            default = cls(model=of_file.model, recipe=of_file.recipe)
            at_default = {name for name in NETWORK_SETTINGS if getattr(of_file, name) == getattr(default, name)}
            particular = NETWORK_SETTINGS if given["model"] in registry.baseline_names() else MODEL_SETTINGS
            dropped = {"settings", *particular, *at_default}
            if of_file.recipe == MODELS[of_file.model].recipe or particular is NETWORK_SETTINGS:
                dropped.add("recipe")
            values = {key: value for key, value in values.items() if key not in dropped}
        elif "mix" in given:
            values.pop("powers", None)  # those of the file's own mix
        return cls(**{**values, **given})

    def differences(self, other: Config) -> list[str]:
        mine, theirs = self.to_dict(), other.to_dict()
        if other.batch == "auto":  # a run stores what this has led to
            theirs["batch"] = self.batch
        return [f"{key} is {mine[key]}, not {theirs[key]}" for key in mine if mine[key] != theirs[key]]

    def to_dict(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def to_yaml(self) -> str:
        """Every setting with its comment; :meth:`from_file` reads it back to an equal config."""
        lines = ["# ngcn train --config config.yaml"]
        unused = NETWORK_SETTINGS if self.is_baseline else ("settings",)
        values = self.to_dict()
        for setting in fields(self):
            if setting.name not in unused:
                line = f"{setting.name}: {yaml_value(values[setting.name])}"
                lines.append(f"{line:<32}  # {setting.metadata['help']}")
        return "\n".join(lines) + "\n"


def need_config(value: Any) -> Config:
    """Raise an error for anything that is not a config."""
    if isinstance(value, Config):
        return value
    raise ConfigError(f"A Config is needed, not a {type(value).__name__}, such as Config(model='ngcn').")


def _without_alias(alias: str, settings: Any) -> dict[str, Any]:
    """The settings that another name of a model stands for. gcn-kipf was a baseline once, with settings of its own."""
    values: dict[str, Any] = dict(ALIASES[alias])
    names = {"window": "patience"} | {name: name for name in ("hidden", "dropout", "lr", "l2", "steps")}
    for name, value in checks.mapping("settings", settings).items():
        if name not in names:
            raise ConfigError(f"{alias} has no setting {shown(name)}; its settings are {', '.join(names)}.")
        # Its L2 penalty was l2 / 2 times the sum of squares
        values[names[name]] = checks.not_negative("l2", value) / 2 if name == "l2" else value
    return {**values, "settings": None}


def _baseline_settings(config: Config, baseline: Any) -> dict[str, Any]:
    """All settings of a baseline, given its class, with the type of their default."""
    name, defaults = config.model, {f.name: f.default for f in fields(baseline)}
    known = f"its own settings are {', '.join(defaults)}." if defaults else "it has no settings."
    given = [setting for setting in NETWORK_SETTINGS if getattr(config, setting) is not None]
    given += [key for key, default in (("recipe", None), ("device", "cpu")) if getattr(config, key) != default]
    if given:
        raise ConfigError(f"{given[0]} does not apply to the baseline {name}; {known}")
    if config.features != "auto" and not baseline.reads_features:
        raise ConfigError(f"features does not apply to the baseline {name}, which uses the edges alone.")
    values = {}
    for key, value in checks.mapping("settings", config.settings).items():
        if key not in defaults:
            raise ConfigError(f"The baseline {name} has no setting {shown(key)}; {known}")
        values[key] = checks.like(defaults[key])(key, value)
    return asdict(baseline(**values))

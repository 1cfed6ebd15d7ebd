"""`Config`: every setting of a run in one place, checked when it is made. Imports no torch, so that help is quick."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngcn.data.catalog import is_path
from ngcn.training import _checks as check
from ngcn.training._checks import ConfigError

if TYPE_CHECKING:
    from ngcn.baselines import Baseline
    from ngcn.nn import Preset

MODEL_SETTINGS = ("powers", "replicas", "classifier", "layers")  # whose defaults differ most between models
NETWORK_SETTINGS = (*MODEL_SETTINGS, "hidden", "steps", "lr", "dropout", "l2", "intermediate", "patience")
FILE_SETTINGS = ("edges", "feature_table", "label", "one_hot", "ignore", "multilabel")  # how own files are read
FEATURES = ("auto", "bag", "unit", "row", "standard", "none")


def _setting(default: Any, help: str) -> Any:
    """A field whose ``help`` is its comment here, in the config file of a run and in ``ngcn train --help``."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run. ``None`` takes the model's own default and is replaced by it when the config is made.

    A baseline has none of the settings of a network, which stay ``None``, but ``settings`` of its own.

    Example:
        >>> Config(model="gcn").powers, Config(powers=3).powers, Config(powers=[0, 2]).powers
        ((1,), (0, 1, 2), (0, 2))
        >>> Config(lr=-1)
        Traceback (most recent call last):
        ...
        ngcn.training._checks.ConfigError: lr must be a number above 0, not -1.
    """

    dataset: str = _setting("cora", "The graph to train on: one of `ngcn datasets`, or a folder or file of your own.")
    edges: str | None = _setting(None, "The table of edges, where the graph is a table of nodes.")
    feature_table: str | None = _setting(None, "A table of sparse features: id, feature, value.")
    label: str = _setting("label", "The column of the nodes that holds their labels.")
    one_hot: tuple[str, ...] = _setting(
        (), "A column of text to make a feature of each value of; may be given several times."
    )
    ignore: tuple[str, ...] = _setting((), "A column of the nodes to leave out; may be given several times.")
    multilabel: bool = _setting(False, "Nodes have several labels, with | between them.")
    split: str = _setting(
        "planetoid",
        "Who trains and who tests: planetoid (as the data say, or half of each class) or random:N (N per class).",
    )
    features: str = _setting(
        "auto",
        "bag (which features a node has, each row summing to 1), unit (the same, each row of length 1), row (each row "
        "summing to 1), standard (each column with mean 0 and deviation 1) or none (as they are); auto is bag for "
        "sparse features (none if one is negative) and 0/1, unit where nodes have more than 64 of them, else standard.",
    )

    model: str = _setting(
        "ngcn", "ngcn, nsage, gcn, sage, dcnn, mlp, cheby, walk-coefficients, or a baseline of docs/baselines.md."
    )
    settings: Mapping[str, Any] = _setting(None, "Settings of a baseline, such as alpha=0.9; see docs/baselines.md.")
    powers: tuple[int, ...] = _setting(None, "Powers of Â: a number K for 0 to K-1, or a list of powers.")
    replicas: int = _setting(None, "Towers per power, each with its own weights.")
    classifier: str = _setting(
        None, "What joins the towers: attention, free-attention, fc, fc2, harmonic, linear or identity."
    )
    hidden: int = _setting(None, "Columns of a tower's hidden layers.")
    layers: int = _setting(None, "Layers of a tower.")

    steps: int = _setting(None, "Training steps at most; each looks at all training nodes once.")
    lr: float = _setting(None, "Learning rate of Adam.")
    dropout: float = _setting(None, "Share of each layer's input that is dropped in training.")
    l2: float = _setting(None, "Weight of the squared parameters in the loss.")
    intermediate: bool = _setting(None, "Add a loss for every tower to the loss of their mixture.")
    patience: int | None = _setting(None, "Stop when this many steps bring no better validation score.")

    seed: int = _setting(0, "The first initialisation; a random split is drawn with it too.")
    seeds: int = _setting(1, "How many initialisations to train: seed, seed + 1, ...")

    def __post_init__(self) -> None:
        # Here, since they import torch, which nobody needs to read about the options
        from ngcn.baselines import BASELINES
        from ngcn.nn import MODELS

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        check.choice("model", self.model, (*MODELS, *BASELINES))
        self._check_files(put)
        check.text("split", self.split)
        if not re.fullmatch(r"planetoid|random:[1-9][0-9]*", self.split):
            raise ConfigError(f"split must be planetoid or random:N, such as random:20, not {self.split!r}.")
        check.choice("features", self.features, FEATURES)
        put("seeds", check.whole("seeds", self.seeds, least=1))
        put("seed", check.whole("seed", self.seed, least=0))
        if (last := self.seed + self.seeds - 1) >= 2**32:  # torch's generator has no more
            raise ConfigError(f"seed must be below 4294967296, and the last one would be {last}.")
        if self.model in BASELINES:
            put("settings", _baseline_settings(self, BASELINES[self.model]))
        else:
            self._check_network(MODELS[self.model], put)

    def _check_files(self, put: Callable[[str, Any], None]) -> None:
        for name in ("dataset", "label"):
            check.text(name, getattr(self, name))
        if is_path(self.dataset):
            put("dataset", check.absolute(self.dataset))
        for name in ("edges", "feature_table"):
            if (path := getattr(self, name)) is not None:
                check.text(name, path)
                put(name, check.absolute(path))
        for name in ("one_hot", "ignore"):
            put(name, check.names(name, getattr(self, name)))
        check.yes_or_no("multilabel", self.multilabel)

    def _check_network(self, preset: Preset, put: Callable[[str, Any], None]) -> None:
        from ngcn.nn import CLASSIFIERS

        if self.settings:
            raise ConfigError(f"settings are for baselines, and {self.model} is a network.")
        put("settings", {})
        for name in NETWORK_SETTINGS:
            if getattr(self, name) is None:
                put(name, getattr(preset, name, None))  # patience alone may stay open
        put("powers", check.powers(self.powers))
        check.choice("classifier", self.classifier, CLASSIFIERS)
        for name in ("replicas", "hidden", "layers", "steps"):
            put(name, check.whole(name, getattr(self, name), least=1))
        if self.patience is not None:
            put("patience", check.whole("patience", self.patience, least=1))
        put("lr", check.number("lr", self.lr, "above 0", lambda x: x > 0))
        put("dropout", check.number("dropout", self.dropout, "from 0 up to but not including 1", lambda x: 0 <= x < 1))
        put("l2", check.number("l2", self.l2, "of 0 or more", lambda x: x >= 0))
        check.yes_or_no("intermediate", self.intermediate)
        network_of = {"gcn": "ngcn", "sage": "nsage"}.get(self.model)
        if network_of and self.classifier == "identity" and self.towers > 1:
            raise ConfigError(
                f"The identity classifier passes on a single tower, but powers and replicas make {self.towers}; use "
                f"--model {network_of}, or join them with --classifier attention."
            )

    @property
    def graph_name(self) -> str:
        """The dataset, or the last part of its path without its ending."""
        return Path(self.dataset).resolve().name.lstrip(".").split(".")[0] if "/" in self.dataset else self.dataset

    @property
    def is_baseline(self) -> bool:
        return self.steps is None

    @property
    def towers(self) -> int:
        """How many graph models there are; none in a baseline."""
        return 0 if self.is_baseline else len(self.powers) * self.replicas

    @property
    def progress_steps(self) -> int:
        """The steps of a seed, as progress counts them: a baseline is fitted in one."""
        return self.steps or 1

    @property
    def name(self) -> str:
        """A short name for the run, such as ``cora-ngcn-attention-K6-r4``."""
        from ngcn.nn import MODELS

        if self.is_baseline or (self.classifier == "identity" and self.powers == MODELS[self.model].powers):
            return f"{self.graph_name}-{self.model}"
        regular = self.powers == tuple(range(len(self.powers)))
        powers = f"K{len(self.powers)}" if regular else "P" + "+".join(map(str, self.powers))
        return f"{self.graph_name}-{self.model}-{self.classifier}-{powers}-r{self.replicas}"

    @classmethod
    def from_file(cls, path: Path | str, **given: Any) -> Config:
        """Read YAML; settings ``given`` here go before the file's, and what neither has takes its default."""
        values, known = check.read_yaml(path), [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                near = get_close_matches(str(key), known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
                raise ConfigError(f"The config file {path} has the unknown key {key!r}; {hint}")
        try:
            of_the_file = cls(**values)  # so that the file is blamed for its own mistakes only
        except ConfigError as error:
            raise ConfigError(f"In the config file {path}, {error}") from None
        if "model" in given and given["model"] != of_the_file.model:  # the file is about another one
            from ngcn.baselines import BASELINES

            default = cls(model=of_the_file.model)  # which stored configs have written out
            of_the_other = NETWORK_SETTINGS if given["model"] in BASELINES else MODEL_SETTINGS
            left_out = {"settings", *of_the_other}
            left_out |= {name for name in NETWORK_SETTINGS if getattr(of_the_file, name) == getattr(default, name)}
            values = {key: value for key, value in values.items() if key not in left_out}
        return cls(**{**values, **given})

    def differences(self, other: Config) -> list[str]:
        mine, theirs = self.to_dict(), other.to_dict()
        return [f"{key} is {mine[key]}, not {theirs[key]}" for key in mine if mine[key] != theirs[key]]

    def to_dict(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in ("one_hot", "ignore")}
        return {**asdict(self), **lists, "powers": None if self.is_baseline else list(self.powers)}

    def to_yaml(self) -> str:
        """Every setting with its comment; :meth:`from_file` reads it back to an equal config."""
        import yaml

        lines = ["# ngcn train --config config.yaml"]
        unused = NETWORK_SETTINGS if self.is_baseline else ("settings",)
        for setting in fields(self):
            if setting.name in unused:
                continue
            value = yaml.safe_dump(self.to_dict()[setting.name], default_flow_style=True, width=1000)
            value = value.removesuffix("\n").removesuffix("\n...")
            lines.append(f"{setting.name}: {value}".ljust(32) + f"  # {setting.metadata['help']}")
        return "\n".join(lines) + "\n"


def _baseline_settings(config: Config, baseline: type[Baseline]) -> dict[str, Any]:
    """All settings of a baseline, those given in the type of their default."""
    from ngcn.baselines import BaselineError

    name, own = config.model, {f.name: f.default for f in fields(baseline)}
    known = f"its own settings are {', '.join(own)}." if own else "it has no settings."
    for setting in NETWORK_SETTINGS:
        if getattr(config, setting) is not None:
            raise ConfigError(f"{setting} does not apply to the baseline {name}; {known}")
    if config.features != "auto" and not baseline.reads_features:
        raise ConfigError(f"features does not apply to the baseline {name}, which looks at the edges alone.")
    values: dict[str, Any] = {}
    given = {} if config.settings is None else config.settings
    if not isinstance(given, dict):
        raise ConfigError(f"settings must be names with values, such as {{alpha: 0.9}}, not {given!r}.")
    for key, value in given.items():
        if key not in own:
            raise ConfigError(f"The baseline {name} has no setting {key!r}; {known}")
        kind = type(own[key])
        if kind is float:
            value = check.number(key, value, "such as 0.5", lambda x: x == x)
        if type(value) is not kind:
            what = {int: "a whole number", str: "a word", bool: "true or false"}[kind]
            raise ConfigError(f"{key} must be {what}, not {value!r}.")
        values[key] = value
    try:
        return asdict(baseline(**values))
    except BaselineError as error:
        raise ConfigError(str(error)) from None

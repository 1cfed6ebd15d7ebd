"""`Config`: every setting of a run in one place, checked when it is made. Imports no torch, so that help is quick."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

MODEL_SETTINGS = ("powers", "replicas", "classifier", "layers")  # whose defaults depend on the model
FEATURES = ("auto", "bag", "row", "standard", "none")


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it, says what is wrong with it and what would do."""


def _setting(default: Any, help: str) -> Any:
    """A field whose ``help`` is its comment here, in the config file of a run and in ``ngcn train --help``."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run. ``None`` takes the model's own default and is replaced by it when the config is made.

    Example:
        >>> Config(model="gcn").powers, Config(powers=3).powers, Config(powers=[0, 2]).powers
        ((1,), (0, 1, 2), (0, 2))
        >>> Config(lr=-1)
        Traceback (most recent call last):
        ...
        ngcn.training.config.ConfigError: lr must be a number above 0, not -1.
    """

    dataset: str = _setting("cora", "The graph to train on; `ngcn datasets` lists them.")
    split: str = _setting(
        "planetoid", "Who trains and who tests: planetoid (the usual split) or random:N (N per class)."
    )
    features: str = _setting(
        "auto",
        "bag (which features a node has, each row summing to 1), row (each row summing to 1), standard (each column "
        "with mean 0 and deviation 1) or none (as they are); auto is bag for sparse counts and 0/1, else standard.",
    )

    model: str = _setting("ngcn", "ngcn, nsage, gcn, sage or dcnn.")
    powers: tuple[int, ...] = _setting(None, "Powers of Â: a number K for 0 to K-1, or a list of powers.")
    replicas: int = _setting(None, "Towers per power, each with its own weights.")
    classifier: str = _setting(None, "What joins the towers: attention, fc, fc2, harmonic, linear or identity.")
    hidden: int = _setting(16, "Columns of a tower's hidden layers.")
    layers: int = _setting(None, "Layers of a tower.")

    steps: int = _setting(600, "Training steps at most; each looks at all training nodes once.")
    lr: float = _setting(0.01, "Learning rate of Adam.")
    dropout: float = _setting(0.5, "Share of each layer's input that is dropped in training.")
    l2: float = _setting(1e-5, "Weight of the squared parameters in the loss.")
    intermediate: bool = _setting(False, "Add a loss for every tower to the loss of their mixture.")
    patience: int | None = _setting(None, "Stop when this many steps bring no better validation score.")

    seed: int = _setting(0, "The first initialisation; a random split is drawn with it too.")
    seeds: int = _setting(1, "How many initialisations to train: seed, seed + 1, ...")

    def __post_init__(self) -> None:
        from ngcn.nn import CLASSIFIERS, MODELS  # here: it imports torch, which nobody needs to read about the options

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        _choice("model", self.model, MODELS)
        for name in MODEL_SETTINGS:
            if getattr(self, name) is None:
                put(name, getattr(MODELS[self.model], name))
        _text("dataset", self.dataset)
        _text("split", self.split)
        if not re.fullmatch(r"planetoid|random:[1-9][0-9]*", self.split):
            raise ConfigError(f"split must be planetoid or random:N, such as random:20, not {self.split!r}.")
        _choice("features", self.features, FEATURES)
        put("powers", _powers(self.powers))
        _choice("classifier", self.classifier, CLASSIFIERS)
        for name in ("replicas", "hidden", "layers", "steps", "seeds"):
            _whole(name, getattr(self, name), least=1)
        _whole("seed", self.seed, least=0)
        if self.seed + self.seeds > 2**32:  # torch's generator has no more
            raise ConfigError(f"seed must be below 4294967296, not {self.seed}.")
        if self.patience is not None:
            _whole("patience", self.patience, least=1)
        put("lr", _number("lr", self.lr, "above 0", lambda x: x > 0))
        put("dropout", _number("dropout", self.dropout, "from 0 up to but not including 1", lambda x: 0 <= x < 1))
        put("l2", _number("l2", self.l2, "of 0 or more", lambda x: x >= 0))
        if not isinstance(self.intermediate, bool):
            raise ConfigError(f"intermediate must be true or false, not {self.intermediate!r}.")

    @property
    def name(self) -> str:
        """A short name for the run, such as ``cora-ngcn-attention-K6-r4``."""
        if self.classifier == "identity" and self.powers == (1,):
            return f"{self.dataset}-{self.model}"
        regular = self.powers == tuple(range(len(self.powers)))
        powers = f"K{len(self.powers)}" if regular else "P" + "+".join(map(str, self.powers))
        return f"{self.dataset}-{self.model}-{self.classifier}-{powers}-r{self.replicas}"

    @classmethod
    def from_file(cls, path: Path | str, **given: Any) -> Config:
        """Read YAML; settings ``given`` here go before the file's, and what neither has takes its default."""
        values, known = _read_yaml(path), [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                near = get_close_matches(str(key), known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
                raise ConfigError(f"The config file {path} has the unknown key {key!r}; {hint}")
        try:
            cls(**values)  # so that the file is blamed for its own mistakes only
        except ConfigError as error:
            raise ConfigError(f"In the config file {path}, {error}") from None
        if given.get("model", values.get("model")) != values.get("model"):  # what the file says of another model
            values = {key: value for key, value in values.items() if key not in MODEL_SETTINGS}
        return cls(**{**values, **given})

    def differences(self, other: Config) -> list[str]:
        mine, theirs = self.to_dict(), other.to_dict()
        return [f"{key} is {mine[key]}, not {theirs[key]}" for key in mine if mine[key] != theirs[key]]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "powers": list(self.powers)}

    def to_yaml(self) -> str:
        """Every setting with its comment; :meth:`from_file` reads it back to an equal config."""
        import yaml

        lines = ["# ngcn train --config config.yaml"]
        for setting in fields(self):
            value = yaml.safe_dump(self.to_dict()[setting.name], default_flow_style=True, width=1000)
            value = value.removesuffix("\n").removesuffix("\n...")
            lines.append(f"{setting.name}: {value}".ljust(32) + f"  # {setting.metadata['help']}")
        return "\n".join(lines) + "\n"


def _read_yaml(path: Path | str) -> dict[str, Any]:
    """The keys and values of a config file, as written there."""
    import yaml

    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The config file {path} is not text in UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ConfigError(f"The config file {path} is not valid YAML{where}.") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"The config file {path} must hold `key: value` lines, not a {type(values).__name__}.")
    return values


def _text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} must be a name, not {value!r}.")


def _choice(name: str, value: object, known: Sequence[str] | Mapping[str, Any]) -> None:
    if not isinstance(value, str) or value not in known:
        near = get_close_matches(str(value), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ConfigError(f"{name} must be one of {', '.join(known)}, not {value!r}{hint}")


def _whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of {least} or more, not {value!r}.")


def _number(name: str, value: Any, what: str, fits: Any) -> float:
    try:  # YAML reads 1e-5, without a point, as text
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (fits(number) and number < float("inf")):
        raise ConfigError(f"{name} must be a number {what}, not {value!r}.")
    return number


def _powers(value: Any) -> tuple[int, ...]:
    powers = tuple(range(value)) if isinstance(value, int) and not isinstance(value, bool) else value
    whole = isinstance(powers, list | tuple) and all(isinstance(k, int) and not isinstance(k, bool) for k in powers)
    if not whole or not powers or min(powers) < 0 or len(set(powers)) < len(powers):
        raise ConfigError(
            f"powers must be a number K of 1 or more (for 0 to K-1) or a list of different powers, not {value!r}."
        )
    return tuple(sorted(powers))

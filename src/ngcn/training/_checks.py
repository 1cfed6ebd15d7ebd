"""What a setting may be, and config files as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it, says what is wrong with it and what would do."""


def read_yaml(path: Path | str) -> dict[str, Any]:
    """The keys and values of a config file, as written there."""
    import yaml

    try:
        values = _safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The config file {path} is not text in UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ConfigError(f"The config file {path} is not valid YAML{where}.") from None
    except _TwiceError as error:
        raise ConfigError(f"The config file {path} has the key {error} twice; remove one of them.") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"The config file {path} must hold `key: value` lines, not a {type(values).__name__}.")
    return values


class _TwiceError(Exception):
    """A key that a mapping has twice; YAML's loader would take the last."""


def _safe_load(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for key in keys:
                if keys.count(key) > 1:
                    raise _TwiceError(repr(key))
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader)  # a SafeLoader


def text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} must be a name, not {value!r}.")


def yes_or_no(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, not {value!r}.")


def absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(column, str) and column for column in value):
        raise ConfigError(f"{name} must be a list of columns, not {value!r}.")
    return tuple(value)


def choice(name: str, value: object, known: Sequence[str] | Mapping[str, Any]) -> None:
    if not isinstance(value, str) or value not in known:
        near = get_close_matches(str(value), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ConfigError(f"{name} must be one of {', '.join(known)}, not {value!r}{hint}")


def whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:  # numpy's count too
        raise ConfigError(f"{name} must be a whole number of {least} or more, not {value!r}.")
    return int(value)


def number(name: str, value: Any, what: str, fits: Any) -> float:
    try:  # YAML reads 1e-5, without a point, as text
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (fits(number) and number < float("inf")):
        raise ConfigError(f"{name} must be a number {what}, not {value!r}.")
    return number


def powers(value: Any) -> tuple[int, ...]:
    try:
        listed = range(whole("K", value, least=1)) if isinstance(value, Integral) else value
        powers = tuple(sorted(whole("a power", k, least=0) for k in listed))
    except (ConfigError, TypeError):  # TypeError: nothing to go through
        powers = ()
    if not powers or len(set(powers)) < len(powers):
        raise ConfigError(
            f"powers must be a number K of 1 or more (for 0 to K-1) or a list of different powers, not {value!r}."
        )
    return powers

"""What a setting may be. Each check returns the value in its final type, or raises an error that names the setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

from ngcn.errors import ConfigError
from ngcn.text import did_you_mean

Check = Callable[[str, Any], Any]  # (name of the setting, value) -> value


def text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} must be a name, not {value!r}.")
    return value


def path(name: str, value: Any) -> str:
    return str(Path(text(name, value)).expanduser().absolute())


def names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(column, str) and column for column in value):
        raise ConfigError(f"{name} must be a list of columns, not {value!r}.")
    return tuple(value)


def choice(known: Iterable[str], hidden: Iterable[str] = ()) -> Check:
    """One of these names. `known` may be a registry that grows: it is read when a value is checked. Messages do not
    list names that are `hidden`."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            shown = [each for each in known if each not in hidden]
            near = did_you_mean(str(value), shown)
            raise ConfigError(f"{name} must be one of {', '.join(shown)}, not {value!r}{f'; {near}' if near else '.'}")
        return value

    return check


def whole(least: int) -> Check:
    """A whole number, also one of numpy's."""

    def check(name: str, value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ConfigError(f"{name} must be a whole number of {least} or more, not {value!r}.")
        return int(value)

    return check


def number(range_: str, fits: Callable[[float], bool] = lambda x: x == x) -> Check:
    """A finite number for which `fits` holds; `range_` says the same in words. YAML reads 1e-5, without a point, as
    text, so text is accepted."""

    def check(name: str, value: Any) -> float:
        try:
            number = float("nan" if isinstance(value, bool) else value)
        except (TypeError, ValueError):
            number = float("nan")
        if not (fits(number) and abs(number) < float("inf")):
            raise ConfigError(f"{name} must be a number {range_}, not {value!r}.")
        return number

    return check


positive = number("above 0", lambda x: x > 0)
not_negative = number("of 0 or more", lambda x: x >= 0)
share = number("from 0 to 1", lambda x: 0 <= x <= 1)
open_share = number("between 0 and 1", lambda x: 0 < x < 1)
dropout = number("from 0 up to but not including 1", lambda x: 0 <= x < 1)


def powers(name: str, value: Any) -> tuple[int, ...]:
    """The powers of Â: a number K stands for 0 to K-1.

    Example:
        >>> powers("powers", 3), powers("powers", [4, 0])
        ((0, 1, 2), (0, 4))
    """
    try:
        listed = range(whole(1)("K", value)) if isinstance(value, Integral) else value
        found = tuple(sorted(whole(0)("a power", k) for k in listed))
    except (ConfigError, TypeError):  # TypeError: not iterable
        found = ()
    if not found or len(set(found)) < len(found):
        raise ConfigError(
            f"{name} must be a number K of 1 or more (for 0 to K-1) or a list of different powers, not {value!r}."
        )
    return found


def split(name: str, value: Any) -> str:
    """ "given" (in older versions "planetoid"), or "random:N" for N training nodes per class."""
    if value != "planetoid" and not re.fullmatch("given|random:[1-9][0-9]*", str(value)):
        known = "given (the data's own, or half of each class) or random:N, such as random:20"
        raise ConfigError(f"{name} must be {known}, not {value!r}.")
    return "given" if value == "planetoid" else value


def mapping(name: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{name} must be names with values, such as {{alpha: 0.9}}, not {value!r}.")
    return value or {}


def like(default: Any) -> Check:
    """A value of the type of `default`: a number, a whole number, a word, or true or false."""

    def check(name: str, value: Any) -> Any:
        if isinstance(default, float):
            return number("such as 0.5")(name, value)
        if type(value) is not type(default):
            kind = {int: "a whole number", str: "a word", bool: "true or false"}[type(default)]
            raise ConfigError(f"{name} must be {kind}, not {value!r}.")
        return value

    return check


boolean = like(False)

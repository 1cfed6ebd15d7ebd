"""What a setting may be. Each check returns the value in its final type, or raises an error that names the setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from ngcn.errors import ConfigError
from ngcn.files import is_url, user_path
from ngcn.memory import memory_bytes
from ngcn.text import did_you_mean, shown

Check = Callable[[str, Any], Any]  # (name of the setting, value) -> value
MOST_POWERS, LARGEST_POWER = 1000, 10_000  # far above what is useful: they stop typing errors
LARGEST_SETTING = 10**5  # of a baseline


def text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{name} must be a name, not {shown(value)}.")
    return value


def path(name: str, value: Any) -> str:
    return str(value) if is_url(text(name, value)) else str(user_path(value).absolute())


def file_path(name: str, value: Any) -> Path:
    """A path that the file system can look up, whether it exists or not.

    Example:
        >>> file_path("folder", "no such thing").name
        'no such thing'
        >>> file_path("folder", 3)
        Traceback (most recent call last):
        ...
        ngcn.errors.ConfigError: folder must be a path, not 3.
    """
    try:
        path = Path(value)
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (TypeError, ValueError):  # ValueError: a null character
        raise ConfigError(f"{name} must be a path, not {shown(value)}.") from None
    except OSError as error:
        raise ConfigError(f"{name} must be another path than {shown(value)}: {error.strerror}.") from None
    return path


def names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(column, str) and column for column in value):
        raise ConfigError(f"{name} must be a list of columns, not {shown(value)}.")
    return tuple(value)


def choice(known: Iterable[str], hidden: Iterable[str] = (), registry: str = "") -> Check:
    """One of these names. `known` may be a registry that grows, of this name: it is read when a value is checked.
    Messages do not list names that are `hidden`."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            listed = [each for each in known if each not in hidden]
            near = did_you_mean(value, listed) if isinstance(value, str) else ""
            hint = near or (f"one of your own is added to ngcn.{registry} first." if registry else "")
            raise ConfigError(
                f"{name} must be one of {', '.join(listed)}, not {shown(value)}{f'; {hint}' if hint else '.'}"
            )
        return value

    return check


unknown_nodes = choice(("error", "drop"))


def whole(least: int, most: int = 10**9) -> Check:
    """A whole number, also one of numpy's. What costs memory or time needs a smaller ``most``."""

    def check(name: str, value: Any) -> int:
        number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
        if number is None or not least <= number <= most:
            bounds = f"of {least} or more" if number is None or number < least else f"from {least} to {most:,}"
            raise ConfigError(f"{name} must be a whole number {bounds}, not {shown(value)}.")
        return number

    return check


def number(range_: str, fits: Callable[[float], bool] = lambda x: x == x) -> Check:
    """A finite number for which `fits` holds; `range_` says the same in words. YAML reads 1e-5, without a point, as
    text, so text is accepted."""

    def check(name: str, value: Any) -> float:
        wrong = isinstance(value, bool) or getattr(value, "requires_grad", False)  # a tensor that torch warns about
        try:
            number = float("nan" if wrong else value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not (fits(number) and abs(number) < float("inf")):
            raise ConfigError(f"{name} must be a number {range_}, not {shown(value)}.")
        return number

    return check


positive = number("above 0", lambda x: x > 0)
not_negative = number("of 0 or more", lambda x: x >= 0)
share = number("from 0 to 1", lambda x: 0 <= x <= 1)
open_share = number("between 0 and 1", lambda x: 0 < x < 1)
dropout = number("from 0 up to but not including 1", lambda x: 0 <= x < 1)


def memory(name: str, value: Any) -> str:
    """A size of memory, such as 4GB."""
    memory_bytes(value)
    return str(value)


def powers(name: str, value: Any) -> tuple[int, ...]:
    """The powers of Â: a number K stands for 0 to K-1.

    Example:
        >>> powers("powers", 3), powers("powers", [4, 0])
        ((0, 1, 2), (0, 4))
    """
    try:
        listed = range(whole(1, MOST_POWERS)("K", value)) if isinstance(value, Integral) else value
        found = tuple(sorted(whole(0, LARGEST_POWER)("a power", k) for k in islice(listed, MOST_POWERS + 1)))
    except (ConfigError, TypeError):  # TypeError: not iterable
        found = ()
    if not found or len(set(found)) < len(found) or len(found) > MOST_POWERS:
        raise ConfigError(
            f"{name} must be a number K of 1 or more (for 0 to K-1) or a list of different powers, not {shown(value)}; "
            f"at most {MOST_POWERS} powers, up to {LARGEST_POWER:,}."
        )
    return found


class Part(NamedTuple):
    """Towers of one kind in a mixed network: a graph model on powers of an operator."""

    model: str
    operator: str
    powers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.model}:{self.operator}:{','.join(map(str, self.powers))}"


def parts(name: str, value: Any) -> tuple[Part, ...]:
    """The parts of a mixed network, each written as MODEL:OPERATOR:POWERS.

    Example:
        >>> parts("mix", ["gcn:symmetric:0,1", "sage:in:1"])
        (Part(model='gcn', operator='symmetric', powers=(0, 1)), Part(model='sage', operator='in', powers=(1,)))
    """
    found = []
    models, operators, number = "gcn|sage|mlp|power-mlp", "symmetric|row|walk|in|out", "[0-9]{1,9}"
    for written in value[: MOST_POWERS + 1] if isinstance(value, list | tuple) else [value]:
        match = re.fullmatch(f"({models}):({operators}):({number}(?:,{number})*)", str(written))
        if not match:
            raise ConfigError(
                f"{name} must be a list of MODEL:OPERATOR:POWERS, such as gcn:symmetric:0,1,2 (models: "
                f"{models.replace('|', ', ')}; operators: {operators.replace('|', ', ')}), not {shown(written)}."
            )
        found.append(Part(match[1], match[2], powers(name, [int(k) for k in match[3].split(",")])))
    if len(set(found)) < len(found) or not found or len(found) > MOST_POWERS:
        raise ConfigError(f"{name} must be a list of different parts, not {shown(value)}.")
    return tuple(found)


def mix(name: str, value: Any) -> tuple[str, ...]:
    """The same, as text."""
    return tuple(map(str, parts(name, value)))


def split(name: str, value: Any) -> str:
    """ "given" (in older versions "planetoid"), the number of a split in the data, or "random:N" for N training nodes
    per class.

    Example:
        >>> split("split", "given"), split("split", 3), split("split", "random:20")
        ('given', '3', 'random:20')
    """
    if not re.fullmatch("planetoid|given|0|(random:)?[1-9][0-9]{0,8}", _written(value)):
        known = "given (the data's own, or half of each class), a number from 0 (one of several in the data)"
        raise ConfigError(f"{name} must be {known} or random:N, such as random:20, not {shown(value)}.")
    return "given" if str(value) == "planetoid" else str(value)


def _written(value: Any) -> str:
    """A number or a word as text; nothing for what is neither."""
    return str(value) if isinstance(value, str) or (isinstance(value, Integral) and 0 <= int(value) < 10**9) else ""


def mapping(name: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{name} must be names with values, such as {{alpha: 0.9}}, not {shown(value)}.")
    return value or {}


def like(default: Any) -> Check:
    """A value of the type of `default`: a number, a whole number, a word, or true or false."""

    def check(name: str, value: Any) -> Any:
        if isinstance(default, float):
            return number("such as 0.5")(name, value)
        if type(value) is not type(default):
            kind = {int: "a whole number", str: "a word", bool: "true or false"}[type(default)]
            raise ConfigError(f"{name} must be {kind}, not {shown(value)}.")
        if isinstance(value, int) and abs(value) > LARGEST_SETTING:
            raise ConfigError(f"{name} must be at most {LARGEST_SETTING:,}, not {shown(value)}.")
        return value

    return check


boolean = like(False)

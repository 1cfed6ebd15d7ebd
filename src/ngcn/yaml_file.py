"""Config files: YAML with `key: value` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ngcn.errors import ConfigError


class _Loader(yaml.SafeLoader):
    """Raises an error if a mapping has a key twice; YAML's own loader takes the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise ConfigError(f"has the key {key!r} twice; remove one of them.")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path | str) -> dict[str, Any]:
    """The keys and values of a config file, as written there."""
    try:
        values = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader)  # a SafeLoader
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The config file {path} is not text in UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ConfigError(f"The config file {path} is not valid YAML{where}.") from None
    except ConfigError as error:
        raise ConfigError(f"The config file {path} {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"The config file {path} must hold `key: value` lines, not a {type(values).__name__}.")
    return values


def yaml_value(value: Any) -> str:
    """A value as YAML, in one line.

    >>> yaml_value([0, 2]), yaml_value(True), yaml_value(None)
    ('[0, 2]', 'true', 'null')
    """
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix("\n").removesuffix("\n...")


def parse_value(text: str) -> Any:
    """A value on the command line, read as a config file would.

    >>> parse_value("0.9"), parse_value("true")
    (0.9, True)
    """
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except (yaml.YAMLError, ConfigError):
        raise ConfigError(f"{text!r} is not a value that YAML knows, such as 0.9, true or a word.") from None

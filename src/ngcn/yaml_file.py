"""Config files: YAML with `key: value` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ngcn.errors import ConfigError
from ngcn.files import read_bytes
from ngcn.text import shown

MOST, DEEPEST = 100_000, 10  # bytes of a config file, and levels of nesting in it


class _Loader(yaml.SafeLoader):
    """Only what a config needs: no aliases, whose copies may fill the memory, no merged keys, little nesting. Raises an
    error if a mapping has a key twice; YAML's own loader takes the last."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ConfigError("has an alias (*name); write out the value instead.")
        if self.depth > DEEPEST:
            raise ConfigError("is nested too deeply; a setting is a value or a list of values.")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ConfigError, yaml.YAMLError):
            raise
        except Exception:  # an impossible date, 5,000 digits, a tag that does not fit
            raise ConfigError(f"has a value that cannot be read, {shown(node.value)}; correct it.") from None
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ConfigError(f"has {shown(value)}, which is too large.")
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ConfigError(f"has the key {shown(key)}, which is not a name.")
            if key in keys:
                raise ConfigError(f"has the key {shown(key)} twice; remove one of them.")
            keys.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path | str) -> dict[str, Any]:
    """The keys and values of a config file, as written there."""
    try:
        values = yaml.load(read_bytes(Path(path), MOST).decode("utf-8-sig"), _Loader)  # a SafeLoader
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

    >>> yaml_value([0, 2]), yaml_value(True), yaml_value(None), yaml_value("Cód.")
    ('[0, 2]', 'true', 'null', 'Cód.')
    """

    def dump(unicode: bool) -> str:
        text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=unicode)
        return text.removesuffix("\n").removesuffix("\n...")

    text = dump(unicode=True)
    return text if text.isprintable() else dump(unicode=False)  # the control character U+0085 would become a space


def parse_value(text: str) -> Any:
    """A value on the command line, read as a config file would.

    >>> parse_value("0.9"), parse_value("true")
    (0.9, True)
    """
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except (yaml.YAMLError, ConfigError):
        raise ConfigError(f"{shown(text)} is not a value that YAML knows, such as 0.9, true or a word.") from None

"""JSON files: read within bounds, and compared with a schema. Nothing else in a run folder has to check types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin

from ngcn.files import read_bytes

MOST = 1 << 30  # bytes
Schema = Any


def read_json(path: Path, schema: Schema) -> Any:
    """The value in a file; a ValueError if it does not fit the schema, see :func:`fits`."""
    try:
        value = json.loads(read_bytes(path, MOST), parse_constant=_no_number, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not fits(value, schema):
        raise ValueError("a value has another type than expected, or is missing")
    return value


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value has the types of a schema.

    A schema is a type (``int``, ``float | None``, ``list[str]``, ``dict[str, float]``); a set of the texts that are
    allowed; a dict of keys with their schemas, in which a key that ends in ? may be missing, and others are ignored; a
    pair of the keys that are allowed and a schema for all their values; or a list of one schema, for None or a list.

    Example:
        >>> fits({"steps": 3, "val": 1}, {"steps": int, "val": float, "test?": float | None})
        True
        >>> fits({"steps": True, "val": 1.0}, {"steps": int, "val": float}), fits("b", {"a"})
        (False, False)
    """
    if isinstance(schema, Mapping):
        return isinstance(value, dict) and all(
            fits(value[key], kind) if (key := name.removesuffix("?")) in value else name != key
            for name, kind in schema.items()
        )
    if isinstance(schema, set):
        return isinstance(value, str) and value in schema
    if isinstance(schema, tuple):
        return isinstance(value, dict) and value.keys() <= schema[0] and all(fits(v, schema[1]) for v in value.values())
    if isinstance(schema, list):
        return value is None or (isinstance(value, list) and all(fits(each, schema[0]) for each in value))
    if isinstance(schema, UnionType):
        return any(fits(value, kind) for kind in get_args(schema))
    if get_origin(schema) is list:
        return isinstance(value, list) and all(fits(each, get_args(schema)[0]) for each in value)
    if get_origin(schema) is dict:
        return isinstance(value, dict) and all(fits(each, get_args(schema)[1]) for each in value.values())
    if schema is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is (NoneType if schema is None else schema)


def _integer(text: str) -> int:
    if len(text) > 18:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")

"""JSON files: read within bounds, and compared with a schema. Nothing else in a run folder has to check types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Any, NoReturn

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

    A schema is a type (``int``, ``float | None``, ``list[str]``, ``dict[str, float]``, ``object`` for any value); a set
    of the texts that are allowed; a dict of keys with their schemas, in which a key that ends in ? may be missing, and
    others are ignored; a pair of the keys that are allowed and a schema for all their values; or a list of one schema,
    for None or a list.

    Example:
        >>> fits({"steps": 3, "val": 1}, {"steps": int, "val": float, "test?": float | None})
        True
        >>> fits({"steps": True, "val": 1.0}, {"steps": int, "val": float}), fits("b", {"a"})
        (False, False)
    """
    return FORMS[type(schema)](value, schema)


def _has_type(value: Any, kind: type) -> bool:
    """Types are exact, so that no bool is an int; but an int is a float."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return kind is object or type(value) is kind


def _all_fit(value: Any, kind: Any, schema: Schema) -> bool:
    """The elements of a list, or the values of a dict."""
    if type(value) is not kind:
        return False
    return all(fits(each, schema) for each in (value.values() if kind is dict else value))


def _has_keys(value: Any, schemas: dict[str, Schema]) -> bool:
    return isinstance(value, dict) and all(
        fits(value[key], schema) if (key := name.removesuffix("?")) in value else name != key
        for name, schema in schemas.items()
    )


FORMS: dict[type, Callable[[Any, Any], bool]] = {  # the types of schemas
    type: _has_type,
    NoneType: lambda value, _: value is None,
    UnionType: lambda value, kinds: any(fits(value, kind) for kind in kinds.__args__),
    GenericAlias: lambda value, kind: _all_fit(value, kind.__origin__, kind.__args__[-1]),  # list[...], dict[str, ...]
    set: lambda value, texts: isinstance(value, str) and value in texts,
    dict: _has_keys,
    tuple: lambda value, pair: _all_fit(value, dict, pair[1]) and value.keys() <= pair[0],
    list: lambda value, items: value is None or _all_fit(value, list, items[0]),
}


def _integer(text: str) -> int:
    if len(text) > 18:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")

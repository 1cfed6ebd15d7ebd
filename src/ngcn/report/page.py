"""An HTML file that needs no network connection: template, style and scripts in one."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any


def static(name: str) -> str:
    return (files("ngcn.report") / "static" / name).read_text(encoding="utf-8")


def render(template: str, script: str = "", **values: Any) -> str:
    """The page as text. Its content security policy allows its own style and script, and no loading of anything."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    style, of_scripts = static("page.css"), f"'{_hash(script)}'" if script else "'none'"
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src {of_scripts}"
    pages = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(static))
    return pages.get_template(template).render(style=style, script=script, policy=policy, **values)


def as_json(data: dict[str, Any]) -> str:
    r"""JSON that is safe inside a script element: ``<`` is escaped, so that no ``</script>`` or ``<!--`` remains.

    Example:
        >>> as_json({"class": "</script>"})
        '{"class":"\\u003c/script>"}'
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Writes the pages of the reference that are generated: the public names, the command line, the config file."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from textwrap import indent

import typer.main
from click import Context
from typer.cli import get_docs_for_click

import ngcn
from ngcn.cli import app
from ngcn.config import Config
from ngcn.registry import RECIPES, SHARED

GROUPS = {
    "Graphs": ("Graph", "load_dataset", "build", "inspect_graph", "Inspection", "knn_graph", "READERS"),
    "Training": ("Config", "train", "train_seeds", "Run", "Ray", "predict", "Result", "Step"),
    "Settings": ("tune", "Tuned", "cross_validate", "CrossValidation"),
    "Models": ("Model", "NGCNClassifier", "explain_node", "write_report", "export_torch"),
    "Networks": ("Network", "build_network", "GCN", "SAGE", "EachTower", "PyG", "Classifier"),
    "Operators": ("normalize", "Operator", "Power", "Features"),
    "Extension points": (
        "Recipe", "Batch", "Selection", "Baseline", "MODELS", "ModelSpec", "CLASSIFIERS", "RECIPES", "RecipeSpec"
    ),
    "Errors": (
        "NGCNError", "ConfigError", "DatasetError", "EngineError", "GraphError", "ModelError", "RunError",
        "TrainingError"
    ),
}  # fmt: skip

DATA = {  # registries have no docstrings of their own; tests/test_docs.py runs their examples
    "MODELS": """The models by name. Adding a model is one line: :class:`ModelSpec`.

>>> from ngcn import MODELS
>>> MODELS["nsage"].title
'N-SAGE'
""",
    "CLASSIFIERS": """The classifiers by name: how the outputs of the towers are combined.

>>> from ngcn import CLASSIFIERS
>>> "attention" in CLASSIFIERS
True
""",
    "RECIPES": """The training recipes by name. Adding a recipe is one line: :class:`RecipeSpec`.

>>> from ngcn import RECIPES
>>> RECIPES["paper"].defaults["bias"]
False
""",
    "READERS": """The readers of files, by a pattern that the name of the file matches.

>>> from ngcn import READERS
>>> any("graphml" in pattern for pattern in READERS)
True
""",
}


def write(folder: Path) -> None:
    """Write all generated pages that have changed, and remove those of names that are gone."""
    texts = pages()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in (folder / "api").glob("*.md"):
        if f"api/{path.name}" not in texts:
            path.unlink()


def pages() -> dict[str, str]:
    """The text of each generated page, by its path in the folder reference."""
    found = {"python.md": _names(), "command-line.md": _commands(), "config.md": _config()}
    return found | {f"api/{name}.md": _page(name) for name in public_names()}


def public_names() -> list[str]:
    """All public names, in the order of the groups."""
    names = [name for group in GROUPS.values() for name in group]
    if difference := {name for name in ngcn.__all__ if name != "__version__"} ^ set(names):
        raise ValueError(f"not a public name, or in no group of the reference: {sorted(difference)}")
    return names


def _names() -> str:
    parts = ["# Python\n\nThe public names of `ngcn`. Everything else may change without notice.\n"]
    for title, names in GROUPS.items():
        rows = [f"| [`{name}`](api/{name}.md) | {_summary(name)} |" for name in names]
        parts.append("\n".join([f"## {title}\n", "| | |", "|---|---|", *rows, ""]))
    listed = "\n".join(f"api/{name}" for name in public_names())
    return "\n".join(parts) + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _summary(name: str) -> str:
    """The first sentence of a docstring, as Markdown."""
    first = " ".join(_docstring(name).split("\n\n")[0].split())
    first = re.sub(r":math:`([^`]*)`", r"$\1$", first)
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first).replace("``", "`").replace("|", "\\|")


def _docstring(name: str) -> str:
    value = getattr(ngcn, name)
    return DATA[name] if name in DATA else inspect.getdoc(value) or ""


def _page(name: str) -> str:
    value = getattr(ngcn, name)
    if name in DATA:
        return f"# {name}\n\n```{{eval-rst}}\n.. py:data:: ngcn.{name}\n\n" + indent(DATA[name], "   ") + "\n```\n"
    kind = "autoexception" if name.endswith("Error") else "autoclass" if inspect.isclass(value) else "autofunction"
    members = "\n   :members:" if kind == "autoclass" else ""
    return f"# {name}\n\n```{{eval-rst}}\n.. {kind}:: ngcn.{name}{members}\n```\n"


def _commands() -> str:
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=Context(command, info_name="ngcn"), name="ngcn", title="Command line")
    text = re.sub(r"\.? \[dim\]\((.*?)\.?\)\[/dim\]\.?", r". Default: \1.", text)
    for name, verb in command.commands.items():  # type: ignore[attr-defined]
        summary = " ".join((verb.help or "").split("\n\n")[0].split())  # the list has its first words
        entry = f"* [`{name}`](#ngcn-{name}): {summary}"
        text = re.sub(rf"^\* `{name}`: .*$", entry.replace("\\", r"\\"), text, flags=re.MULTILINE)
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text)
    return text.replace("\\[", "[")


def _config() -> str:
    lines = [
        "# Config file\n",
        "`ngcn train --config FILE` reads these settings from YAML, and `Config(...)` takes them as arguments. A run",
        "folder has its own in `config.yaml`. A setting that is left out has the default of the recipe; without one,",
        "that of the model; without one, the default in this table.\n",
        "| setting | default | |",
        "|---|---|---|",
    ]
    for setting in fields(Config):
        default = SHARED.get(setting.name, setting.default)
        help = setting.metadata["help"].replace("|", "\\|")
        lines.append(f"| `{setting.name}` | {_value(default)} | {help} |")
    lines += ["\n## Defaults of the recipes\n", "| recipe | | defaults |", "|---|---|---|"]
    for name, spec in RECIPES.items():
        given = ", ".join(f"{key} = {_value(value)}" for key, value in spec.defaults.items())
        lines.append(f"| `{name}` | {spec.summary} | {given} |")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if value in (None, (), ""):
        return ""
    return f"`{value}`"

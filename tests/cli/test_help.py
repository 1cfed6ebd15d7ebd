import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from typing import get_args

import pytest
from typer.testing import Result

from ngcn import Config
from ngcn.checks import not_negative
from ngcn.cli import train

Ngcn = Callable[..., Result]
VERBS = ["train", "tune", "evaluate", "predict", "explain", "report", "export", "reproduce", "datasets"]


def test_help_lists_every_command_and_option(ngcn: Ngcn) -> None:
    text = ngcn("--help").stdout
    assert all(verb in text for verb in VERBS)
    text = ngcn("train", "--help").stdout
    assert [name for name in ("out", "resume", "config", "json", "threads", "nodes") if f"--{name} " not in text] == []


def test_every_field_of_config_is_an_option_of_train(ngcn: Ngcn) -> None:
    text = ngcn("train", "--help").stdout
    for setting in fields(Config):
        flag = {"dataset": "[GRAPH]", "settings": "--set "}.get(setting.name, f"--{setting.name.replace('_', '-')} ")
        assert flag in text and setting.metadata["help"].split()[0] in text


def test_a_new_field_of_config_becomes_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"panel": "Training", "help": "Weight of the new loss.", "check": not_negative}
    new = make_dataclass(
        "New", [("beta", float, field(default=0.5, metadata=more))], bases=(Config,), kw_only=True, frozen=True
    )
    monkeypatch.setattr(train, "Config", new)
    beta = train._signature().parameters["beta"]
    kind, option = get_args(beta.annotation)
    assert kind == float | None and beta.default is None
    assert option.param_decls == ("--beta",) or option.default == "--beta"
    assert option.help == "Weight of the new loss. [dim](0.5)[/dim]" and option.rich_help_panel == "Training"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_command_has_an_example(ngcn: Ngcn, verb: str) -> None:
    result = ngcn(verb, "--help")
    assert result.exit_code == 0 and f"Example: ngcn {verb}" in result.stdout


def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys\nfrom ngcn.cli import app\n"
        f"for verb in ([], *([verb] for verb in {VERBS}), ['datasets', 'fetch']):\n"
        "    try: app([*verb, '--help'], prog_name='ngcn')\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "print('heavy:', {'torch', 'numba', 'scipy', 'numpy', 'joblib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: set()"


def test_version_and_no_arguments(ngcn: Ngcn) -> None:
    assert ngcn("--version").stdout.startswith("ngcn 0.")
    bare = ngcn()
    assert bare.exit_code == 2 and bare.output.count("Usage: ") == 1


def test_help_shows_the_defaults(ngcn: Ngcn) -> None:
    """Of the default model with its recipe. Where models differ, its name is before them."""
    words = " ".join(ngcn("train", "--help").stdout.replace("│", "").split())
    config, ngcn_config = Config(), Config(model="ngcn")
    for name, default in (
        ("powers", f"ngcn: {len(ngcn_config.powers)}"),  # those of the mixed model are in its mix
        ("replicas", f"mixed: {config.replicas}"),
        ("classifier", f"mixed: {config.classifier}"),
        ("hidden", f"mixed: {config.hidden}"),
        ("layers", f"mixed: {config.layers}"),
        ("steps", config.steps),
        ("lr", config.lr),
        ("dropout", config.dropout),
        ("l2", f"mixed: {config.l2}"),
        ("patience", f"mixed: {config.patience}"),
    ):
        text = words.split("Options")[1].split(f"--{name} ")[1].split(" --")[0]
        assert re.findall(r"\(([^()]*)\)$", text.split(" ╰")[0]) == [str(default)], text
    assert "(never)" not in words and "Ellipsis" not in words

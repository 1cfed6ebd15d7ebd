import subprocess
import sys
from collections.abc import Callable

import pytest
from typer.testing import Result

Ngcn = Callable[..., Result]
VERBS = ["train", "evaluate", "predict", "explain", "report", "export", "reproduce", "datasets"]


def test_help_names_every_verb_and_option(ngcn: Ngcn) -> None:
    text = ngcn("--help").stdout
    assert all(verb in text for verb in VERBS)
    options = (
        "model powers replicas classifier hidden layers steps lr dropout l2 seed seeds split intermediate out resume "
        "config json features patience threads"
    )
    text = ngcn("train", "--help").stdout
    assert [option for option in options.split() if f"--{option} " not in text] == []


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_an_example(ngcn: Ngcn, verb: str) -> None:
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


def test_help_tells_the_true_defaults(ngcn: Ngcn) -> None:
    from ngcn import Config

    words = " ".join(ngcn("train", "--help").stdout.replace("│", "").split())
    config = Config()
    for name, default in (
        ("powers", f"ngcn: {len(config.powers)}"),
        ("replicas", f"ngcn: {config.replicas}"),
        ("classifier", f"ngcn: {config.classifier}"),
        ("layers", f"ngcn: {config.layers}"),
        ("lr", config.lr),
        ("l2", config.l2),
    ):
        assert f"({default})" in words.split("Options")[1].split(f"--{name} ")[1].split(" --")[0]

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ngcn.cli import app


@pytest.fixture
def ngcn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line in an empty current folder, inside this process: ``ngcn("train", "cora")``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """The command line in a process of its own, in the current folder ``tmp_path``."""

    def run(*arguments: str) -> subprocess.Popen[str]:
        code = "from ngcn.cli import app; app(prog_name='ngcn')"
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
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


class Process(subprocess.Popen[str]):
    """The command line in a process of its own, which writes checkpoints more often than usual."""

    def __init__(self, folder: Path, arguments: tuple[str, ...]) -> None:
        self.folder = folder
        code = (
            "import ngcn.training.checkpoint as state; state.CHECKPOINT_SECONDS = 0.02\n"
            "from ngcn.cli import app; app(prog_name='ngcn')"
        )
        super().__init__(
            [sys.executable, "-c", code, *arguments],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def steps(self) -> int:
        """How many steps its seeds have taken altogether, as its progress bar would say."""
        notes = [file.read_bytes() for file in self.folder.glob("*/.progress/seed-*")]
        return int(sum(np.frombuffer(note)[0] for note in notes if len(note) == 24))  # else it is being written

    def family(self) -> list[int]:
        return [int(child) for child in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def end(self) -> tuple[int, str, str]:
        stdout, stderr = self.communicate(timeout=120)
        return self.returncode, stdout, stderr


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts the command line as a process in the current folder ``tmp_path``."""
    processes: list[Process] = []

    def run(*arguments: str) -> Process:
        processes.append(Process(tmp_path, arguments))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()

from collections.abc import Callable

import pytest
from typer.testing import Result

from ngcn.cli import _screen

Ngcn = Callable[..., Result]


def test_without_a_terminal_progress_is_a_line_once_in_a_while(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    train = ("train", "cora", "--model", "gcn", "--steps", "40")
    monkeypatch.setattr(_screen, "LINE_SECONDS", 3600.0)  # compiling kernels may take long
    assert "Training:" not in ngcn(*train).stderr
    monkeypatch.setattr(_screen, "LINE_SECONDS", 0.0)
    lines = ngcn(*train, "--out", "run").stderr.splitlines()
    assert lines[-1].startswith("Training: 40 of 40, best val ") and " at step " in lines[-1]
    monkeypatch.setattr("ngcn.report.gather.MAP_NODES", 50)
    first, *_, last = ngcn("report", "run", "--explain", "1").stderr.splitlines()
    assert first == "Writing the report: predicting" and last.endswith("; open it in a browser.")

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from ngcn.report import write as page

Ngcn = Callable[..., Result]


def test_report_is_written_where_asked(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.report.gather.MAP_NODES", 100)  # t-SNE of all takes its time
    ngcn("train", "cora", "--model", "gcn", "--steps", "3", "--out", "run")
    result = ngcn("report", "run", "--explain", "2")
    assert result.exit_code == 0, result.output
    assert "run/report.html (" in result.stderr and result.stderr.endswith("; open it in a browser.\n")
    text = Path("run/report.html").read_text()
    assert "<title>GCN on cora</title>" in text and '"all_nodes":2708' in text
    monkeypatch.setattr(page, "gather", lambda *_: {"title": "another"})
    assert ngcn("report", "run", "--out", "elsewhere.html").exit_code == 0
    assert "<title>another</title>" in Path("elsewhere.html").read_text()
    monkeypatch.delattr(page, "gather")  # what takes time is not begun
    missing = ngcn("report", "run", "--out", "no/such/folder.html")
    assert missing.exit_code == 2 and missing.stderr.startswith("There is no folder no/such; name a file")
    assert "run is a folder" in ngcn("report", "run", "--out", "run").stderr


def test_what_has_no_page(ngcn: Ngcn) -> None:
    ngcn("train", "cora", "--model", "lp", "--out", "lp")
    for verb in (("report", "lp"), ("explain", "lp", "--node", "1")):
        result = ngcn(*verb)
        assert result.exit_code == 2 and "lp is a run of lp, which has no towers to explain a node by" in result.stderr
    missing = ngcn("report", "nowhere")
    assert missing.exit_code == 2 and missing.stderr == "nowhere is not a run folder: it has no config.yaml.\n"

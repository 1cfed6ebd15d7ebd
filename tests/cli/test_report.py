import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from ngcn.report import write as page

Ngcn = Callable[..., Result]


def test_report_is_written_where_asked(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.report.gather.MAP_NODES", 100)  # t-SNE of all nodes is slow
    ngcn("train", "cora", "--model", "gcn", "--steps", "3", "--out", "run")
    result = ngcn("report", "run", "--explain", "2")
    assert result.exit_code == 0, result.output
    assert "run/report.html (" in result.stderr and result.stderr.endswith("; open it in a browser.\n")
    text = Path("run/report.html").read_text()
    assert "<title>GCN on cora</title>" in text and '"all_nodes":2708' in text
    monkeypatch.setattr(page, "gather", lambda *_: {"title": "another"})
    assert ngcn("report", "run", "--out", "elsewhere.html").exit_code == 0
    assert "<title>another</title>" in Path("elsewhere.html").read_text()
    monkeypatch.delattr(page, "gather")  # the check comes first
    missing = ngcn("report", "run", "--out", "no/such/folder.html")
    assert missing.exit_code == 2 and missing.stderr.startswith("There is no folder no/such; name a file")
    assert "run is a folder" in ngcn("report", "run", "--out", "run").stderr


def test_a_baseline_has_no_report_explanation_or_export(ngcn: Ngcn) -> None:
    ngcn("train", "cora", "--model", "lp", "--out", "lp")
    for command in (("report", "lp"), ("explain", "lp", "--node", "1"), ("export", "lp", "--format", "torch")):
        result = ngcn(*command)
        assert result.exit_code == 2
        assert result.stderr == (
            "LP is a baseline without a network, so it cannot be explained, exported or reported on; train a network, "
            "such as `ngcn train --model ngcn`.\n"
        )
    assert not Path("lp/report.html").exists() and not Path("lp/torch").exists()
    missing = ngcn("report", "nowhere")
    assert missing.exit_code == 2 and missing.stderr == "nowhere is not a run folder: it has no config.yaml.\n"


def test_gcn_kipf_is_a_network_like_any_other(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.report.gather.MAP_NODES", 100)
    answer = ngcn("train", "cora", "--model", "gcn-kipf", "--steps", "12", "--out", "run", "--json")
    config = json.loads(answer.stdout)["config"]
    assert (config["model"], config["recipe"], config["features"], config["patience"]) == ("gcn", "kipf", "row", 10)
    result = ngcn("report", "run", "--explain", "2")
    assert result.exit_code == 0, result.output
    text = Path("run/report.html").read_text()
    assert "<title>GCN, recipe kipf on cora</title>" in text and '"recipe":"kipf"' in text
    assert "Node 1708: " in ngcn("explain", "run", "--node", "1708").stdout
    assert ngcn("export", "run").exit_code == 0 and Path("run/torch/model.pt").exists()
    assert ngcn("evaluate", "run").exit_code == 0
    assert ngcn("predict", "run", "--out", "predictions.csv").exit_code == 0

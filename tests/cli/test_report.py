import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report.conftest import data_of
from typer.testing import Result

from ngcn import Run
from ngcn.report import write as page

from .test_predict import write

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


def test_the_page_of_a_grown_graph(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", "--steps", "20", "--out", "run").exit_code == 0
    later = write("later/crowds", size=72)
    table = pd.concat([pd.read_csv("crowds/nodes.csv"), later[60:]])
    table.to_csv("later/crowds.csv", index=False)
    grown = ("later/crowds.csv", "--edges", "later/crowds/edges.csv")
    result = ngcn("report", "run", *grown, "--explain", "3", "--out", "page.html")
    assert result.exit_code == 0, result.output
    data = data_of(Path("page.html"))
    assert data["title"] == "Mixed network on crowds, with 12 new nodes"
    words = shlex.split(data["command"])
    assert words[0] == "ngcn" and "--edges" in words
    assert ngcn(*words[1:], "p71").exit_code == 0

    known = pd.read_csv("later/crowds.csv")["label"].notna().sum() - 30  # 20 training and 10 validation nodes
    nodes = f"{known} labelled nodes that were neither trained nor validated on"
    assert data["trained_on"] == {"name": "crowds", "new": 12, "scored": nodes}
    assert data["quality"]["nodes"] == known == np.sum(data["quality"]["confusion"])
    assert [data["nodes"]["split"].count(i) for i in (1, 2, 3)] == [20, 10, known]
    assert [data["nodes"]["id"][i] for i in data["new"]] == [f"p{i}" for i in range(60, 72)]
    assert {int(node) for node in data["explained"]} <= set(data["new"])
    evaluation = ngcn("evaluate", "run", *grown)
    assert evaluation.stderr == f"Scored on {nodes}; 30 others left out.\n"
    assert f"Accuracy          │ {100 * data['scores'][0]['best_test']:.2f} %" in evaluation.stdout


def test_labelled_nodes_that_were_all_trained_or_validated_on(ngcn: Ngcn) -> None:
    nodes = write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", "--steps", "2", "--out", "run").exit_code == 0
    graph = Run.open("run").graph()
    optimistic = "10 validation nodes, which chose the model: all other labelled nodes were trained on"
    for left, says in ((graph.train | graph.val, optimistic), (graph.train, "all labelled nodes were trained on")):
        ids = set(graph.node_ids[left].tolist())
        Path("less").mkdir(exist_ok=True)
        nodes.assign(label=nodes["label"].where(nodes["id"].isin(ids))).to_csv("less/nodes.csv", index=False)
        shutil.copy("crowds/edges.csv", "less/edges.csv")
        result, page = ngcn("evaluate", "run", "less/"), ngcn("report", "run", "less/", "--explain", "0")
        assert says in result.stderr and page.exit_code == 0, page.output
        data = data_of(Path("run/report-less.html"))
        assert data["trained_on"]["scored"] == says
        if says == optimistic:
            assert "less: 10 validation nodes" in result.stdout and data["quality"]["split"] == "val"
            assert f"Accuracy          │ {100 * data['scores'][0]['best_val']:.2f} %" in result.stdout
        else:
            assert result.exit_code == 2 and data["scores"] == [] and data["quality"] is None
    nodes.assign(height=1).to_csv("crowds/nodes.csv", index=False)
    told = "40 labelled nodes; which of them were trained on is not known, because the graph of the run is missing or"
    assert told in ngcn("evaluate", "run", "crowds/").stderr


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

"""The content of the page, without a browser."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ngcn import Config, ConfigError, Graph, Run, RunError, explain_node, load_dataset, train, write_report
from ngcn.graph import store_graph
from ngcn.report import gather as gathering
from ngcn.report.project import project
from ngcn.report.quality import quality
from ngcn.report.write import as_json
from report.conftest import MARKUP, PAPER, crowds, data_of

MakePage = Callable[..., Path]


def test_nothing_is_loaded_and_no_name_becomes_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src &#39;none&#39;;") and "unsafe" not in policy and "http" not in policy
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//|@import|url\(""", text)
    assert MARKUP not in text and "<img" not in text and "<i>node" not in text
    assert text.count("</script>") == 2  # the data and the script


def test_json_survives_the_page() -> None:
    value = {"a": "</script><!--<script>", "b": "\u2028 ü"}
    assert "<" not in as_json(value) and json.loads(as_json(value)) == value
    with pytest.raises(ValueError, match="JSON"):
        as_json({"a": float("nan")})


def test_numbers_are_those_of_the_run(page: Path) -> None:
    graph, data = crowds(), data_of(page)
    assert data["nodes"]["id"] == graph.node_ids.tolist() and data["nodes"]["truth"] == graph.labels.tolist()
    assert [data["nodes"]["split"].count(i) for i in range(4)] == [0, 20, 20, 20]
    assert np.sum(data["quality"]["confusion"]) == 20
    assert data["quality"]["confusion"][0][0] + data["quality"]["confusion"][1][1] == round(
        20 * data["scores"][0]["best_test"]
    )
    assert sum(b[1] for b in data["quality"]["reliability"]["bins"]) == 20
    assert len(data["explained"]) == 25 and set(map(str, data["uncertain"])) <= set(data["explained"])
    confidence = data["nodes"]["confidence"]
    assert max(confidence[node] for node in data["uncertain"]) <= min(
        confidence[node] for node in range(60) if node not in data["uncertain"]
    )
    for node in (0, 59):
        why = explain_node(page.parent, graph.node_ids[node], graph=graph)
        assert data["classes"][data["nodes"]["predicted"][node]] == why.label
        votes = [1000 * vote.contribution for vote in why.votes]
        assert data["nodes"]["votes"][node] == pytest.approx(votes, abs=0.51)
    node = next(iter(data["explained"]))
    why = explain_node(page.parent, graph.node_ids[int(node)], graph=graph)
    effects = {feature.name: 100 * feature.effect for feature in why.features}
    for name, effect, _, _ in data["explained"][node]["features"]:  # exact, not the points
        assert effect == pytest.approx(effects[name], abs=0.006)


def test_large_graphs_are_sampled_with_the_listed_nodes_inside(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "PAGE_NODES", {False: 40, True: 40})
    monkeypatch.setattr(gathering, "MAP_NODES", 30)
    data = data_of(make_page(crowds(), explain=50))
    assert len(data["nodes"]["id"]) == 40 == len(data["explained"]) and data["all_nodes"] == 60
    assert len(data["map"]["node"]) == len(set(data["map"]["node"])) == 30 and max(data["map"]["node"]) < 40
    assert set(data["uncertain"]) <= set(data["map"]["node"])


def test_large_graphs_explain_fewer_nodes_unless_asked(make_page: MakePage, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = crowds().nodes + crowds().adjacency.nnz
    for affordable, explained in ((25, 25), (3, 20), (1000, 60)):  # at least those listed, at most all
        monkeypatch.setattr(gathering, "EXPLAINED_ENTRIES", affordable * entries)
        assert len(data_of(make_page(crowds(), explain=None, steps=1))["explained"]) == explained


def test_a_large_graph_with_new_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.report.sample.SAMPLE", 40)
    store_graph(crowds(), tmp_path / "old")
    config = Config(model="gcn", dataset=str(tmp_path / "old"), steps=5, batch="sampled")
    train(load_dataset(tmp_path / "old"), config, folder=tmp_path / "run")
    none, ids = np.zeros(60, bool), crowds().node_ids
    later = crowds(node_ids=[f"new {i}" if i > 49 else ids[i] for i in range(60)], train=none, val=none, test=~none)
    store_graph(later, tmp_path / "later")
    run = Run.open(tmp_path / "run")
    grown = run.model().read_graph(f"{tmp_path}/later")
    data = data_of(write_report(run, graph=grown, explain=4))
    assert data["title"] == "GCN on crowds & <others>, with 10 new nodes"
    scored = "26 labelled nodes that were neither trained nor validated on"
    assert data["trained_on"] == {"name": later.name, "new": 10, "scored": scored}
    assert data["scores"][0]["best_test"] == pytest.approx(
        run.model().evaluate(grown.with_split(none, none, (np.arange(60) % 3 == 2) | (np.arange(60) > 49)), "test")[
            "test"
        ]["accuracy"]
    )
    assert len(data["new"]) == 10 and {int(node) for node in data["explained"]} <= set(data["new"])
    assert data["command"] == shlex.join(["ngcn", "explain", str(run.folder), f"{tmp_path}/later", "--node"])


def test_a_model_alone_on_its_graph_and_on_another_of_the_same_name(tmp_path: Path) -> None:
    model = train(crowds(), Config(model="gcn", steps=2)).model
    own = data_of(write_report(model, tmp_path / "own.html", graph=crowds(), explain=0))
    assert own["title"] == "GCN on crowds & <others>" and own["new"] == []
    assert own["trained_on"] == {"name": None, "new": 0, "scored": "20 test nodes"}
    other = crowds(features=crowds().features * 2)
    page = data_of(write_report(model, tmp_path / "other.html", graph=other, explain=0))
    assert page["title"] == "GCN on crowds & <others>, another version"


def test_a_diverged_seed_is_named(make_page: MakePage) -> None:
    def diverge(folder: Path) -> None:
        path = folder / "seed-0" / "result.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "status": "diverged", "stopped": "It blew up."}))

    seed = data_of(make_page(crowds(), explain=0, change=diverge))["seeds"][0]
    assert (seed["status"], seed["stopped"]) == ("diverged", "It blew up.")


def test_curves_are_thinned_but_keep_the_best_step(make_page: MakePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "CURVE_POINTS", 5)
    curve = data_of(make_page(crowds(), explain=0, **PAPER))["curves"][0]
    assert len(curve["step"]) <= 8 and {1, 30, curve["best_step"]} <= set(curve["step"])
    assert max(curve["val"]) == curve["val"][curve["step"].index(curve["best_step"])]


def test_the_loss_of_independent_towers_is_their_mean(page: Path) -> None:
    history, curve = Run.open(page.parent).history(0), data_of(page)["curves"][0]
    assert curve["loss"] == pytest.approx([loss / 7 for loss in history["loss"]], abs=1e-4)
    assert curve["val_loss"] == pytest.approx(history["val_loss"], abs=1e-4)


def test_runs_before_0_3_have_no_towers_and_no_references(make_page: MakePage) -> None:
    def forget(folder: Path) -> None:
        path = folder / "seed-0" / "result.json"
        path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "towers"}))

    data = data_of(make_page(crowds(), explain=0, change=forget, **PAPER))
    assert data["scales"]["val"] is None and len(data["scales"]["value"]) == 3
    assert data["references"] == [] and all(score["references"] == [] for score in data["scores"])


def test_quality_by_hand() -> None:
    p = np.full((60, 2), [0.9, 0.1])
    found = quality(crowds(), p)
    assert found["split"] == "test" and found["confusion"] == [[10, 0], [10, 0]]
    assert found["by_class"] == [[10, 0.5, 1.0], [10, None, 0.0]]
    assert found["reliability"] == {"bins": [[9, 20, 0.9, 0.5]], "gap": 0.4}
    assert found["before"] is None
    assert quality(crowds(), p, np.full((60, 2), [0.45, 0.55]))["before"] == {"bins": [[5, 20, 0.55, 0.5]], "gap": 0.05}
    no_test = crowds(test=np.zeros(60, bool))
    assert quality(no_test, p)["split"] == "val"


@pytest.mark.parametrize("nodes", [1, 3, 12])
@pytest.mark.parametrize("columns", [1, 2, 60])
def test_maps_of_few_nodes(nodes: int, columns: int) -> None:
    random = np.random.default_rng(0)
    points = project(random.random((nodes, columns)).astype(np.float32))
    assert points.shape == (nodes, 2) and points.min() >= 0 and points.max() <= 1000
    same = project(np.ones((nodes, columns), np.float32))
    assert (same == 500).all()


def test_the_map_keeps_groups_apart() -> None:
    random = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    points = project((random.random((60, 80)) + 5 * group[:, None]).astype(np.float32))
    middles = [points[group == g].mean(axis=0) for g in (0, 1)]
    spread = max(points[group == g].std(axis=0).max() for g in (0, 1))
    assert np.linalg.norm(middles[0] - middles[1]) > 3 * spread


def test_there_is_no_map_of_outputs_that_are_not_finite() -> None:
    with pytest.raises(RunError, match="outputs of the model are not finite"):
        project(np.full((9, 60), np.nan, np.float32))


def test_a_file_must_be_a_path(graph: Graph) -> None:
    model = train(graph, Config(model="gcn", steps=1)).model
    for wrong in (np.ones(3), 3):
        with pytest.raises(ConfigError, match="out must be a path"):
            write_report(model, wrong, graph=graph)

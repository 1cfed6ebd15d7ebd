import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import Result

from ngcn import Run, explain_node
from ngcn.explain import Neighbour

from .test_predict import write

Ngcn = Callable[..., Result]
SMALL = ("train", "cora", "--model", "ngcn", "--replicas", "1")


def shown(neighbour: Neighbour) -> str:
    return neighbour.truth[0] if neighbour.truth else f"{neighbour.predicted[0]} (predicted)"


@pytest.fixture
def run(ngcn: Ngcn) -> str:
    assert ngcn(*SMALL, "--powers", "3", "--steps", "40", "--out", "run").exit_code == 0
    return "run"


def test_the_tables_show_the_explanation(ngcn: Ngcn, run: str) -> None:
    result = ngcn("explain", run, "--node", "1708")
    why = explain_node(run, 1708)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert f"Node 1708: {why.label}, {100 * why.probability:.1f} % (true: " in words
    assert f"The sum is the predicted probability, {100 * why.probability:.1f} %." in words
    for vote in why.votes:
        cells = f"Â^{vote.power} │ {vote.weight:.3f} │ {100 * vote.opinion:.1f} % │ {100 * vote.contribution:.1f} %"
        assert cells in words
    itself = why.rings[0].strongest[0]
    assert f"0 │ the node itself │ {shown(itself)} │ {100 * itself.points:+.2f} │ {100 * itself.without:.1f} %" in words
    neighbour = why.rings[1].strongest[0]
    assert (
        f"{neighbour.id} │ {shown(neighbour)} │ {100 * neighbour.points:+.2f} │ {100 * neighbour.without:.1f} %"
        in words
    )
    for f in why.features[:3]:
        cells = f"{100 * f.effect:+.2f} │ {100 * f.without:.1f} % │ {100 * f.points:+.2f} │"
        assert f"│ {f.name} │ {cells}" in words


def test_another_class_is_shown_with_the_more_probable_ones(ngcn: Ngcn, run: str) -> None:
    p = explain_node(run, 1708).probabilities
    first, second, third = sorted(p, key=lambda name: -p[name])[:3]
    shown = ngcn("explain", run, "--node", "1708", "--class", second).stdout
    assert f"Node 1708: {second}, {100 * p[second]:.1f} %" in shown
    assert f"More probable: {first} {100 * p[first]:.1f} %.\nNext: {third} " in shown
    assert "More probable" not in ngcn("explain", run, "--node", "1708").stdout


def test_a_node_without_a_predicted_label_names_the_most_likely_one(
    ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("crowds", several=True)
    train = ("--multilabel", "--ignore", "town", "--model", "gcn", "--steps", "20", "--out", "run")
    assert ngcn("train", "crowds", *train).exit_code == 0
    why = explain_node("run", "p01")
    assert why.predicted == [name for name, p in why.probabilities.items() if p > 0.5] != []
    assert f"Node p01: {why.label}, " in ngcn("explain", "run", "--node", "p01").stdout
    unsure = {name: p / 3 for name, p in why.probabilities.items()}
    rest = {"probabilities": unsure, "probability": unsure[why.label], "predicted": []}
    monkeypatch.setattr("ngcn.explain.explain_node", lambda *_, **__: replace(why, **rest))
    said = ngcn("explain", "run", "--node", "p01").stdout
    assert f"Node p01: no label is predicted; the most likely is {why.label}, {100 * unsure[why.label]:.1f} %" in said


def test_nodes_are_the_features_of_a_graph_without_any(ngcn: Ngcn) -> None:
    write("crowds")[["id", "label"]].to_csv("crowds/nodes.csv", index=False)
    assert ngcn("train", "crowds", "--model", "gcn", "--steps", "20", "--out", "run").exit_code == 0
    result, why = ngcn("explain", "run", "--node", "p01"), explain_node("run", "p01")
    words = " ".join(result.stdout.split())
    assert why.identity and {feature.name for feature in why.features} <= set(Run.open("run").graph().node_ids)
    assert "Nodes within reach: without features, the identity of a node is its feature." in words
    assert "standardised" not in words and "Features:" not in words
    for feature in why.features[:3]:
        assert f"│ {feature.name} │ {100 * feature.effect:+.2f} │ {100 * feature.without:.1f} %" in words


def test_json_is_the_explanation(ngcn: Ngcn, run: str) -> None:
    result = ngcn("explain", run, "--node", "1708", "--class", "Theory", "--json")
    assert json.loads(result.stdout) == explain_node(run, 1708, label="Theory").to_dict()


def test_fully_connected_votes_are_a_lead(ngcn: Ngcn) -> None:
    ngcn(*SMALL, "--classifier", "fc", "--powers", "2", "--steps", "5", "--out", "fc")
    words = " ".join(ngcn("explain", "fc", "--node", "3").stdout.split())
    why = explain_node("fc", 3)
    assert f"its logit is {why.score:+.2f} above the mean of all classes." in words
    assert all(f"Â^{vote.power} │ {vote.contribution:+.2f} │" in words for vote in why.votes)


def test_the_votes_of_a_default_run_are_those_of_its_towers(ngcn: Ngcn) -> None:
    assert ngcn("train", "cora", "--steps", "10", "--out", "run").exit_code == 0
    words = " ".join(ngcn("explain", "run", "--node", "1708").stdout.split())
    why = explain_node("run", 1708)
    kinds = ["GCN Â^1", "GCN Â^2", "GCN Â^4", "SAGE P^1", "SAGE P^2", "SAGE P^3"]
    assert [vote.towers for vote in why.votes] == ["features", *kinds]
    for vote in why.votes:
        cells = f"{vote.towers} │ {vote.weight:.3f} │ {100 * vote.opinion:.1f} % │ {100 * vote.contribution:.1f} %"
        assert cells in words
    assert sum(vote.contribution for vote in why.votes) == pytest.approx(why.probability, abs=1e-5)
    assert f"calibrated. The sum is the predicted probability, {100 * why.probability:.1f} %." in words


def test_unknown_nodes_and_classes(ngcn: Ngcn, run: str) -> None:
    unknown = ngcn("explain", run, "--node", "17080")
    assert unknown.exit_code == 2
    assert unknown.stderr == "The graph 'cora' has no node '17080'; they are numbered 0 to 2707.\n"
    other = ngcn("explain", run, "--node", "1708", "--class", "Teory")
    assert other.exit_code == 2 and other.stderr == "The graph 'cora' has no class 'Teory'; did you mean 'Theory'?\n"
    assert ngcn("explain", "nowhere", "--node", "1").exit_code == 2


def test_a_node_of_another_graph(ngcn: Ngcn) -> None:
    write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", "--steps", "20", "--out", "run").exit_code == 0
    write("later", size=72)
    Path("later/nodes.csv").rename("later/people.csv")
    others = ("later/people.csv", "--edges", "later/edges.csv")
    answer = ngcn("explain", "run", *others, "--node", "p71", "--json")
    assert answer.exit_code == 0, answer.output
    model = Run.open("run").model()
    graph = model.read_graph(others[0], edges=others[2])
    why = explain_node(model, "p71", graph=graph)
    assert json.loads(answer.stdout) == why.to_dict()
    assert why.probability == pytest.approx(model.predict_proba(graph)[71].max(), abs=1e-6)
    assert why.truth == ["right"] and {u.id for ring in why.rings for u in ring.strongest} <= set(graph.node_ids)
    alone = ngcn("explain", "run", "--node", "p71")
    assert alone.exit_code == 2 and "'crowds' has no node 'p71'" in alone.stderr
    assert "name its table of nodes too" in ngcn("explain", "run", "--node", "p01", *others[1:]).stderr
    missing = ngcn("explain", "run", "nowhere/", "--node", "p01")
    assert missing.exit_code == 2 and "nowhere" in missing.stderr

"""Predictions for files of the user: which nodes, in which format, on which graphs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

from ngcn import Run, predict
from ngcn.errors import GraphError

Ngcn = Callable[..., Result]
QUICK = ("--model", "gcn", "--steps", "40", "--out", "run")


def write(
    folder: str, size: int = 60, seed: int = 0, several: bool = False, prefix: str = "p", **extra: object
) -> pd.DataFrame:
    """Two communities; every third node has no label."""
    random = np.random.default_rng(seed)
    crowd = np.arange(size) % 2
    nodes = pd.DataFrame({"id": [f"{prefix}{i:02}" for i in range(size)], "label": np.where(crowd, "right", "left")})
    if several:
        nodes["label"] = np.where(crowd, "tall|thin", "short")
    nodes["height"] = crowd * 3000 + random.normal(0, 1000, size) + 5000
    nodes["town"] = random.choice(["Rome", "Ulm"], size)
    nodes = nodes.assign(**extra)
    nodes.loc[nodes.index % 3 == 0, "label"] = None
    pairs = np.argwhere(np.triu(random.random((size, size)) < np.where(crowd[:, None] == crowd, 0.2, 0.02), 1))
    edges = pd.DataFrame({"source": nodes["id"].iloc[pairs[:, 0]].array, "target": nodes["id"].iloc[pairs[:, 1]].array})
    Path(folder).mkdir(exist_ok=True, parents=True)
    nodes.to_csv(f"{folder}/nodes.csv", index=False)
    edges.to_csv(f"{folder}/edges.csv", index=False)
    return nodes


def test_only_nodes_without_a_label_in_every_form(ngcn: Ngcn) -> None:
    nodes = write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK, "--predict", "first.csv").exit_code == 0
    tables = {}
    for ending in ("csv", "tsv", "parquet", "json"):
        result = ngcn("predict", "run", "--out", f"out.{ending}")
        assert result.exit_code == 0 and "20 predictions of seed 0" in result.stderr, result.output
    assert Path("first.csv").read_bytes() == Path("out.csv").read_bytes()
    tables["csv"] = pd.read_csv("out.csv")
    tables["tsv"] = pd.read_csv("out.tsv", sep="\t")
    tables["parquet"] = pd.read_parquet("out.parquet")
    for table in tables.values():
        assert list(table) == ["id", "prediction", "confidence", "p_left", "p_right"]
        assert table["id"].tolist() == nodes["id"][nodes["label"].isna()].tolist()
        np.testing.assert_allclose(table["p_left"], tables["parquet"]["p_left"], atol=1e-6)
    records = json.loads(Path("out.json").read_text())
    assert [row["id"] for row in records] == tables["csv"]["id"].tolist()
    assert [row["prediction"] for row in records] == tables["csv"]["prediction"].tolist()
    assert set(records[0]["probabilities"]) == {"left", "right"}
    truth = np.where(np.arange(60) % 2, "right", "left")[nodes["label"].isna()]
    assert (tables["csv"]["prediction"] == truth).mean() > 0.8
    assert ngcn("predict", "run", "--out", "all.csv", "--all").exit_code == 0 and len(pd.read_csv("all.csv")) == 60


def test_a_default_run_tells_how_much_its_towers_disagree(ngcn: Ngcn) -> None:
    write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", "--steps", "40").exit_code == 0
    for out in ("x.csv", "x.parquet", "x.json"):
        assert ngcn("predict", "runs/crowds-mixed", "--all", "--out", out).exit_code == 0
    table = pd.read_csv("x.csv")
    assert list(table) == ["id", "prediction", "confidence", "disagreement", "p_left", "p_right"]
    run = Run.open("runs/crowds-mixed")
    expected = run.model().disagreement(run.graph())
    assert expected is not None and expected.min() >= 0 and 0.01 < expected.max() < 1
    np.testing.assert_allclose(table["disagreement"], expected, atol=1e-5)
    np.testing.assert_allclose(pd.read_parquet("x.parquet")["disagreement"], expected, atol=1e-6)
    records = json.loads(Path("x.json").read_text())
    assert list(records[0]) == ["id", "prediction", "confidence", "disagreement", "probabilities"]
    np.testing.assert_allclose([row["disagreement"] for row in records], expected, atol=1e-6)


def test_sets_contain_the_true_class_as_often_as_asked(ngcn: Ngcn) -> None:
    assert ngcn("train", "cora", "--model", "gcn", "--steps", "60", "--out", "run").exit_code == 0
    graph, sizes = Run.open("run").graph(), []
    truth = np.array(graph.class_names)[graph.labels]
    for coverage in (0.6, 0.8, 0.9, 0.99):
        result = ngcn("predict", "run", "--coverage", str(coverage), "--out", "x.csv")
        assert result.exit_code == 0 and "They rest on" not in result.stderr  # 500 validation nodes
        table = pd.read_csv("x.csv")
        assert list(table)[:4] == ["id", "prediction", "confidence", "set"]
        sets = [set(names.split("|")) for names in table["set"]]
        assert all(name in names for name, names in zip(table["prediction"], sets, strict=True))
        hit = np.array([name in names for name, names in zip(truth, sets, strict=True)])
        right = (table["prediction"] == truth)[graph.test].mean()  # a set has at least the predicted class
        assert abs(hit[graph.test].mean() - max(coverage, right)) < 0.05
        sizes.append(np.mean([len(names) for names in sets]))
        said = f"Sets of {sizes[-1]:.2f} classes on average contain the true one with probability {coverage:g} or more."
        assert said in result.stderr
    assert sizes == sorted(sizes) and sizes[-1] > sizes[0]


def test_sets_of_few_validation_nodes_in_csv_and_json(ngcn: Ngcn) -> None:
    write("crowds", size=180)
    assert ngcn("train", "crowds", "--ignore", "town", "--steps", "40", "--out", "run").exit_code == 0
    for out in ("x.csv", "x.json"):
        result = ngcn("predict", "run", "--coverage", "0.95", "--out", out)
        assert result.exit_code == 0, result.output
        assert "They rest on 30 validation nodes only, so the probability may well be off by 4 %." in result.stderr
    table, records = pd.read_csv("x.csv"), json.loads(Path("x.json").read_text())
    assert list(table) == ["id", "prediction", "confidence", "set", "disagreement", "p_left", "p_right"]
    assert list(records[0]) == ["id", "prediction", "confidence", "set", "disagreement", "probabilities"]
    assert [row["set"] for row in records] == [names.split("|") for names in table["set"]]
    run = Run.open("run")
    sets = run.model().predict_set(run.graph(), run.graph().unlabelled.nonzero()[0], coverage=0.95)
    assert [row["set"] for row in records] == [
        [n for n, there in zip(("left", "right"), row, strict=True) if there] for row in sets
    ]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (("--multilabel", "--ignore", "town"), "This model has no prediction sets: it is multi-label."),
        (("--ignore", "town", "--recipe", "paper"), "without enough validation nodes, or by the recipe paper or kipf."),
        (
            ("--ignore", "town", "--split", "random:12"),
            "without enough validation nodes, or by the recipe paper or kipf.",
        ),
    ],
)
def test_models_without_prediction_sets(ngcn: Ngcn, train: tuple[str, ...], message: str) -> None:
    write("crowds", size=60)
    assert ngcn("train", "crowds", *train, *QUICK, "--steps", "2").exit_code == 0
    result = ngcn("predict", "run", "--coverage", "0.9", "--out", "x.csv")
    assert result.exit_code == 2 and message in result.stderr and not Path("x.csv").exists()


@pytest.mark.parametrize("coverage", ["0", "1", "90", "-0.1"])
def test_coverage_is_a_share(ngcn: Ngcn, coverage: str) -> None:
    write("crowds", size=180)
    ngcn("train", "crowds", "--ignore", "town", *QUICK, "--steps", "2")
    result = ngcn("predict", "run", "--coverage", coverage, "--out", "x.csv")
    assert result.exit_code == 2 and "coverage must be a number between 0 and 1, not" in result.stderr


def test_another_graph_with_the_model(ngcn: Ngcn) -> None:
    write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK).exit_code == 0
    new = write("new", size=40, seed=1, prefix="q", town="Rome")
    truth = np.where(np.arange(40) % 2, "right", "left")
    result = ngcn("predict", "run", "new", "--out", "new.csv", "--all")
    assert result.exit_code == 0, result.output
    assert (pd.read_csv("new.csv")["prediction"] == truth).mean() > 0.8
    result = ngcn("evaluate", "run", "new/")
    assert result.exit_code == 0 and "labelled nodes" in result.stdout and "Accuracy" in result.stdout
    assert "Scored on 26 labelled nodes that were neither trained nor validated on." in result.stderr
    shutil.copytree("crowds", "copy")
    for same in ("crowds/", "copy"):
        result = ngcn("evaluate", "run", same)
        assert result.stderr == (
            "Scored on 10 labelled nodes that were neither trained nor validated on; 30 others left out.\n"
        )
        assert "crowds: 10 labelled nodes" in result.stdout.replace("copy", "crowds")
    bare = new.drop(columns="label")
    bare.to_parquet("new/people.parquet")
    result = ngcn("predict", "run", "new/people.parquet", "--edges", "new/edges.csv", "--out", "bare.csv")
    assert result.exit_code == 0 and len(pd.read_csv("bare.csv")) == 40, result.output
    assert (
        "There are no scores to compute of run on new/people.parquet: no node has a label that the model knows"
        in ngcn("evaluate", "run", "new/people.parquet", "--edges", "new/edges.csv").stderr
    )


def test_only_nodes_that_training_has_not_seen(ngcn: Ngcn) -> None:
    old = write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK).exit_code == 0
    later = write("later", size=72)  # the old nodes, changed, and 12 new ones
    result = ngcn("predict", "run", "later", "--only-new", "--out", "new.csv")
    assert result.exit_code == 0 and "12 predictions of seed 0" in result.stderr, result.output
    table = pd.read_csv("new.csv")
    assert table["id"].tolist() == sorted(set(later["id"]) - set(old["id"])) and len(table) == 12
    assert ngcn("predict", "run", "later", "--all", "--out", "all.csv").exit_code == 0
    everything = pd.read_csv("all.csv").iloc[60:].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, everything)
    model = Run.open("run").model()
    assert model.new_nodes(model.read_graph("later/")).nonzero()[0].tolist() == list(range(60, 72))
    none = ngcn("predict", "run", "crowds", "--only-new", "--out", "none.csv")
    assert none.exit_code == 2 and "All nodes of crowds are in the graph that run was trained on" in none.stderr
    for more in (("--only-new",), ("later", "--only-new", "--all")):
        result = ngcn("predict", "run", *more, "--out", "none.csv")
        assert result.exit_code == 2 and "--only-new predicts the new nodes of a GRAPH" in result.stderr
    assert not Path("none.csv").exists()


def test_tables_of_the_new_nodes_alone_are_not_enough(ngcn: Ngcn) -> None:
    nodes = write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK, "--steps", "2").exit_code == 0
    nodes.iloc[:2].assign(id=["q1", "q2"]).to_csv("new.csv", index=False)
    Path("links.csv").write_text("source,target\nq1,p01\nq1,q2\nq2,p03\n")
    result = ngcn("predict", "run", "new.csv", "--edges", "links.csv", "--only-new", "--out", "x.csv")
    assert result.exit_code == 2 and not Path("x.csv").exists()
    for text in (
        "links.csv has 2 bad cells: row 2, column 'target': there is no node 'p01' in new.csv",
        "2 different ids are unknown: add them there, or remove the rows; tables with new nodes need the old nodes and "
        "edges, too: see the guide `New nodes and other graphs`.",
    ):
        assert text in result.stderr
    Path("links.csv").write_text(Path("crowds/edges.csv").read_text() + "p01,q1\n")
    result = ngcn("predict", "run", "new.csv", "--edges", "links.csv", "--only-new", "--out", "x.csv")
    assert "rows have ids that are not in new.csv, which has 1 of the 61 ids here; add a row" in result.stderr
    assert "its label empty if it is unknown; tables with new nodes need the old nodes and edges, too" in result.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda nodes: nodes.drop(columns="height"),
            "nodes.csv has no column 'height'",
        ),
        (
            lambda nodes: nodes.assign(height=nodes["height"].astype(str).where(nodes.index > 4, "tall")),
            "has 5 bad cells: row 2, column 'height': 'tall' is not a number",
        ),
        (lambda nodes: nodes.drop(columns="town"), "no column 'town'"),
        (lambda nodes: nodes.drop(columns=["town", "height"]), "no column 'height'"),
    ],
)
def test_other_features_than_those_of_the_model_raise_an_error(ngcn: Ngcn, change: Callable, message: str) -> None:
    write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK, "--steps", "2").exit_code == 0
    change(write("new")).to_csv("new/nodes.csv", index=False)
    result = ngcn("predict", "run", "new", "--out", "new.csv")
    assert result.exit_code == 2 and message in result.stderr and "`ngcn train" not in result.stderr
    assert not Path("new.csv").exists()
    cora = ngcn("predict", "run", "cora", "--out", "new.csv")
    assert cora.exit_code == 2 and "cora has 1433 features, but the model was trained with 3" in cora.stderr


def test_columns_that_the_model_does_not_know_are_ignored(ngcn: Ngcn) -> None:
    nodes = write("crowds")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK, "--steps", "2").exit_code == 0
    assert ngcn("predict", "run", "crowds", "--all", "--out", "old.csv").exit_code == 0
    more = nodes.assign(width=1, note="x", born="1/2/2003")  # these dates would be an error in training
    more.to_csv("crowds/nodes.csv", index=False)
    result = ngcn("predict", "run", "crowds", "--all", "--out", "new.csv")
    told = "nodes.csv: columns that the model does not know are ignored: 'width', 'note', 'born'."
    assert result.exit_code == 0 and told in result.stderr, result.output
    assert Path("new.csv").read_text() == Path("old.csv").read_text()


def test_a_column_may_not_be_missing_but_sparse_features_may(ngcn: Ngcn) -> None:
    nodes = write("crowds")
    Path("crowds/features.csv").write_text("id,feature\np00,sun\np01,moon\n")
    assert ngcn("train", "crowds", "--one-hot", "town", *QUICK, "--steps", "2").exit_code == 0
    Path("crowds/features.csv").write_text("id,feature\np00,sun\n")
    assert ngcn("predict", "run", "crowds", "--out", "x.csv").exit_code == 0
    nodes.drop(columns="height").to_csv("crowds/nodes.csv", index=False)
    result = ngcn("predict", "run", "crowds", "--out", "x.csv")
    assert result.exit_code == 2 and "nodes.csv has no column 'height'" in result.stderr


def test_changed_and_missing_files_are_named(ngcn: Ngcn) -> None:
    nodes = write("crowds", town="Rome").drop(columns="town")
    nodes.to_csv("crowds/nodes.csv", index=False)
    assert ngcn("train", "crowds", *QUICK, "--steps", "2").exit_code == 0
    assert ngcn("evaluate", "run").exit_code == 0 and ngcn("evaluate", "run").stderr == ""
    nodes.assign(height=nodes["height"] + 1).to_csv("crowds/nodes.csv", index=False)
    for verb in (["evaluate", "run"], ["predict", "run", "--out", "x.csv"]):
        result = ngcn(*verb)
        assert result.exit_code == 2 and "'crowds' is not the one that run was trained on" in result.stderr
    assert ngcn("predict", "run", "crowds", "--out", "x.csv").exit_code == 0  # as a new graph
    Path("crowds/nodes.csv").unlink()
    result = ngcn("evaluate", "run")
    assert result.exit_code == 2 and "cannot be loaded" in result.stderr and "has no nodes.csv" in result.stderr


def test_without_features_a_model_is_for_its_own_graph(ngcn: Ngcn) -> None:
    write("crowds")[["id", "label"]].to_csv("crowds/nodes.csv", index=False)
    result = ngcn("train", "crowds", *QUICK)
    assert result.exit_code == 0 and "crowds has no features: every node is a feature of its own." in result.stderr
    assert ngcn("predict", "run", "--out", "x.csv").exit_code == 0 and len(pd.read_csv("x.csv")) == 20
    result = ngcn("predict", "run", "crowds", "--out", "y.csv")
    assert result.exit_code == 2 and "train again with the new nodes" in result.stderr


def test_multilabel_and_a_threshold(ngcn: Ngcn) -> None:
    write("crowds", several=True)
    train = ngcn("train", "crowds", "--multilabel", "--ignore", "town", *QUICK, "--json")
    assert train.exit_code == 0 and json.loads(train.stdout)["metric"] == "micro_f1"
    evaluation = ngcn("evaluate", "run").stdout
    assert "Micro-F1" in evaluation and "Macro-F1" in evaluation
    for threshold, most in (("0", "short|tall|thin"), ("1", "|")):
        ngcn("predict", "run", "--out", "x.csv", "--threshold", threshold)
        assert set(pd.read_csv("x.csv", keep_default_na=False)["prediction"]) == {most}
    ngcn("predict", "run", "--out", "x.json")
    rows = json.loads(Path("x.json").read_text())
    assert len(rows) == 20
    for row in rows:
        assert row["prediction"] == [name for name, p in row["probabilities"].items() if p >= 0.5]
        p = np.array(list(row["probabilities"].values()))
        assert row["confidence"] == pytest.approx(np.maximum(p, 1 - p).mean())
    write("new", several=True, prefix="q").drop(columns=["label", "town"]).to_csv("new/nodes.csv", index=False)
    assert ngcn("predict", "run", "new", "--out", "y.csv").exit_code == 0 and len(pd.read_csv("y.csv")) == 60


def test_several_graphs_and_one_that_training_has_not_seen(ngcn: Ngcn) -> None:
    """Half of the graphs train; validation and test are on others, and so is prediction."""
    parts = [write(f"part{g}", size=24, seed=g, prefix=f"g{g}-", graph=f"tissue {g}") for g in range(5)]
    Path("many").mkdir()
    pd.concat(parts[:4]).drop(columns="town").to_csv("many/nodes.csv", index=False)
    pd.concat([pd.read_csv(f"part{g}/edges.csv") for g in range(4)]).to_csv("many/edges.csv", index=False)
    result = ngcn("train", "many", *QUICK)
    assert result.exit_code == 0 and "whole graphs drawn with seed 0" in result.stderr
    graph = Run.open("run").graph()
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (32, 16, 16)
    parts[4].drop(columns=["town", "label"]).to_csv("part4/nodes.csv", index=False)
    assert ngcn("predict", "run", "part4", "--out", "x.csv").exit_code == 0
    assert (pd.read_csv("x.csv")["prediction"] == np.where(np.arange(24) % 2, "right", "left")).mean() > 0.7


def test_python(ngcn: Ngcn) -> None:
    write("crowds")
    ngcn("train", "crowds", "--ignore", "town", *QUICK)
    run = Run.open("run")
    table = predict(run, nodes=run.graph().unlabelled)
    assert len(table) == 20 and table["confidence"].between(0.5, 1).all()
    for places in (np.array([5, 7]), [5, 7], np.ones(20, bool)):
        with pytest.raises(GraphError, match="nodes must be a boolean mask over the 60 nodes"):
            predict(run, nodes=places)
    other = predict(run, run.model().read_graph("crowds/"))
    pd.testing.assert_frame_equal(other[other["id"].isin(table["id"])].reset_index(drop=True), table, rtol=1e-4)

"""A run on a graph on disk that is computed in blocks: all that a run is used for."""

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from ngcn import Config, Run, predict
from ngcn.cli import app
from ngcn.explain import explain_node, local
from ngcn.graph import load_dataset, store_graph
from ngcn.large import Exact
from ngcn.runs import predict_to_parquet, train_seeds
from tests.large.conftest import random_graph


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    store_graph(random_graph(), folder / "graph")
    config = Config(dataset=str(folder / "graph"), batch="sampled", steps=4, walks=2, hidden=4)
    return train_seeds(load_dataset(folder / "graph"), config, folder / "run")


def test_scores_and_predictions_are_those_of_the_graph_in_memory(run):
    model, stored = run.model(), run.graph()
    graph = stored.in_memory()
    assert model.is_large(stored) and not model.is_large(graph)
    np.testing.assert_allclose(model.predict_proba(stored), model.predict_proba(graph), atol=1e-5)
    assert model.evaluate(stored, "val", "test")["test"] == pytest.approx(run.scores(0)["test_scores"])
    assert model.evaluate(graph, "test")["test"] == pytest.approx(run.scores(0)["test_scores"], rel=1e-4)
    assert run.references["regression"]["val"]


def test_every_node_is_written_to_parquet_in_parts(run, tmp_path, monkeypatch):
    model, graph = run.model(), run.graph()
    expected = predict(model, graph)
    monkeypatch.setattr("ngcn.large.rows.CHUNK", 4000)
    seen, out = [], tmp_path / "all.parquet"
    with pytest.raises(KeyboardInterrupt):
        for _ in predict_to_parquet(model, graph, out):
            raise KeyboardInterrupt
    assert not out.exists()
    multiply = Exact._propagated
    monkeypatch.setattr(Exact, "_propagated", None)  # what the first attempt has computed is kept
    parts = list(predict_to_parquet(model, graph, out, on_progress=lambda *now: seen.append(now)))
    monkeypatch.setattr(Exact, "_propagated", multiply)
    assert len(parts) > 2 and seen[-1] == (60, 60)
    pd.testing.assert_frame_equal(pd.read_parquet(out), expected, rtol=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["all.parquet"]


def test_explanations_are_those_of_the_graph_in_memory(run, monkeypatch):
    model, stored = run.model(), run.graph()
    expected, found = (explain_node(model, 7, graph=graph) for graph in (stored.in_memory(), stored))
    assert found.probability == pytest.approx(expected.probability, rel=1e-4)
    assert [ring.nodes for ring in found.rings] == [ring.nodes for ring in expected.rings]
    monkeypatch.setattr(local, "MOST", 12)
    near = local.Neighbourhood(model, stored, np.array([7]))
    assert near.graph.nodes == 12 and near.graph.node_ids[near.position(7)] == 7
    whole = model.inputs(stored)[0]
    for how, operator in near.inputs[0].items():  # entries are those of the whole graph
        between = whole[how].matrix.toarray()[np.ix_(near.nodes, near.nodes)]
        np.testing.assert_allclose(operator.matrix.toarray(), between, rtol=1e-6)


def test_the_commands(run, tmp_path):
    def ngcn(*words):
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exit_code == 0, result.output
        return result.output

    before = torch.get_num_threads()
    assert "60 predictions" in ngcn("predict", run.folder, "--all", "--out", tmp_path / "p.parquet")
    assert len(pd.read_parquet(tmp_path / "p.parquet")) == 60
    assert "The weights give the scores" in ngcn("evaluate", run.folder)
    assert "Node 7: " in ngcn("explain", run.folder, "--node", 7)
    ngcn("report", run.folder, "--out", tmp_path / "report.html")
    assert Run.open(run.folder).config.batch == "sampled"
    torch.set_num_threads(before)

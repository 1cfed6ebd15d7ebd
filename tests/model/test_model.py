import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from ngcn import Config, DatasetError, GraphError, Model, ModelError, RunError, predict, train
from ngcn.graph import Graph
from ngcn.ops import use_reference

SMALL = Config(model="ngcn", powers=3, replicas=2, hidden=4, steps=12)
MIXED = Config(hidden=4, steps=12)
VARIANTS = {
    "mixed": MIXED,
    "directed": replace(MIXED, mix=("gcn:row:0,2", "sage:in:1", "sage:out:1"), powers=None),
    "ngcn": SMALL,
    "paper": Config(model="ngcn", recipe="paper", powers=3, replicas=2, hidden=4, steps=12),
    "nsage": replace(SMALL, model="nsage"),
    "fc": replace(SMALL, classifier="fc"),
    "standard": replace(SMALL, features="standard"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_saved_model_predicts_the_same(graph: Graph, tmp_path: Path, name: str) -> None:
    model = train(graph, VARIANTS[name]).model
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba(graph))
    assert again.class_names == ("0", "1") and again.config == model.config and not again.multilabel
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == [
        "config.yaml",
        "graph.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("config", [MIXED, SMALL], ids=["mixed", "ngcn"])
def test_rows_are_those_of_all_nodes(graph: Graph, config: Config) -> None:
    model = train(graph, config).model
    rows = np.array([7, 3, 30])
    np.testing.assert_allclose(model.predict_proba(graph, rows), model.predict_proba(graph)[rows], rtol=1e-6)
    assert model.predict(graph, rows).tolist() == model.predict(graph)[rows].tolist()


def test_predictions_are_names_or_a_matrix_of_labels(graph: Graph, multilabel_graph: Graph) -> None:
    named = replace(graph, class_names=["left", "right"])
    model = train(named, SMALL).model
    assert set(model.predict(named)) <= {"left", "right"}
    several = train(multilabel_graph, SMALL).model
    p = several.predict_proba(multilabel_graph)
    np.testing.assert_array_equal(several.predict(multilabel_graph), (p > 0.5).astype(int))
    assert not np.allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("config", [MIXED, SMALL], ids=["mixed", "ngcn"])
def test_scores_are_those_of_the_result(graph: Graph, config: Config) -> None:
    result = train(graph, config)
    found = result.model.evaluate(graph, "val", "test", "train")
    assert found["val"] == pytest.approx(result.val_scores) and found["test"] == pytest.approx(result.test_scores)
    none = graph.with_split(graph.train, graph.val, graph.test & False)
    assert result.model.evaluate(none, "test") == {"test": {}}


def test_other_names_raise_an_error(graph: Graph) -> None:
    names = [f"x{i}" for i in range(12)]
    model = train(named := replace(graph, feature_names=names, class_names=["left", "right"]), SMALL).model
    model.predict(replace(named, feature_names=None))  # of a matrix
    swapped = replace(named, feature_names=[names[1], names[0], *names[2:]])
    for use in (model.predict, model.disagreement, model.evaluate):
        with pytest.raises(GraphError, match="'x1' is where the model has 'x0'; they must be the same"):
            use(swapped)
    with pytest.raises(GraphError, match=r"The classes of the graph .* 'right' is where the model has 'left'"):
        model.evaluate(replace(named, class_names=["right", "left"]), "test")


def test_graphs_in_memory_are_read_in_the_columns_of_the_model() -> None:
    ids = [f"k{i}" for i in range(30)]
    nodes = pd.DataFrame({"id": ids, "age": range(30), "town": ["Rome", "Oslo", "Bern"] * 10, "kind": list("ab") * 15})
    edges = pd.DataFrame({"source": ids[1:], "target": ids[:-1]})
    graph = Graph.from_pandas(nodes, edges, label="kind")
    model = train(graph, SMALL).model
    again = model.read_graph(nodes[["kind", "town", "age", "id"]], edges=edges)
    np.testing.assert_array_equal(again.features, graph.features)
    G = nx.from_pandas_edgelist(edges)
    nx.set_node_attributes(G, nodes.set_index("id")[["town", "age"]].to_dict("index"))
    others = model.read_graph(G)
    order = [ids.index(node) for node in others.node_ids]
    np.testing.assert_array_equal(others.features, graph.features[order])
    with pytest.raises(DatasetError, match="go with a data frame"):
        model.read_graph(G, edges=edges)
    with pytest.raises(DatasetError, match="A networkx graph is needed, not a list"):
        model.read_graph([])


def test_another_number_of_features_raises_an_error(graph: Graph) -> None:
    model = train(graph, SMALL).model
    with pytest.raises(GraphError, match="has 5 features, but the model was trained with 12"):
        model.predict(replace(graph, features=graph.features[:, :5], feature_names=None))


def test_a_baseline_is_a_model_that_says_what_it_cannot_do(graph: Graph, tmp_path: Path) -> None:
    model = train(graph, Config(model="lp")).model
    model.save(tmp_path / "lp")
    again = Model.load(tmp_path / "lp")
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba(graph))
    assert len(predict(again, graph)) == 60 and again.scale_weights() is None
    with pytest.raises(ModelError, match="LP can only predict the graph that it was fitted on, 'crowds'"):
        again.predict(graph.reordered(np.arange(60)[::-1]))
    with pytest.raises(ModelError, match="LP is a baseline without a network"):
        _ = again.network


@pytest.mark.parametrize(
    ("ids", "others", "new"),
    [
        (None, np.arange(60) + 2, [58, 59]),
        (None, [f"{i}" if i else "00" for i in range(60)], [0]),
        (None, np.arange(60) - 1, [0]),
        ([f"p{i}" for i in range(60)], [f"p{i + 1}" for i in range(60)], [59]),
        (np.arange(60) * 10, [str(10 * i) if i else "new" for i in range(60)], [0]),
        (np.arange(60) / 4, np.arange(60) / 4 + 1, [56, 57, 58, 59]),
    ],
)
def test_new_nodes_have_other_ids(graph: Graph, tmp_path: Path, ids: object, others: object, new: list[int]) -> None:
    model = train(replace(graph, node_ids=ids), replace(SMALL, steps=1)).model
    model.save(tmp_path / "model")
    for each in (model, Model.load(tmp_path / "model")):
        assert each.new_nodes(replace(graph, node_ids=others)).nonzero()[0].tolist() == new
        assert not each.new_nodes(replace(graph, node_ids=ids)).any()
    values = json.loads((tmp_path / "model/graph.json").read_text())
    (tmp_path / "model/graph.json").write_text(json.dumps({**values, "node_ids": 61}))
    with pytest.raises(RunError, match=r"graph\.json is damaged"):
        Model.load(tmp_path / "model")
    del values["node_ids"]  # as older versions wrote it
    (tmp_path / "model/graph.json").write_text(json.dumps(values))
    old = Model.load(tmp_path / "model")
    with pytest.raises(ModelError, match="stores no ids of nodes, since it was trained by an older version"):
        old.new_nodes(graph)
    old.save(tmp_path / "again")
    assert "node_ids" not in json.loads((tmp_path / "again/graph.json").read_text())


def test_folders_without_a_model(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no model: it has no config\.yaml"):
        Model.load(tmp_path)
    train(graph, SMALL, folder=tmp_path / "run")
    with pytest.raises(RunError, match=r"a run folder is opened with Run\.open\(folder\)\.model\(\)"):
        Model.load(tmp_path / "run")


@pytest.mark.parametrize("model", ["mixed", "ngcn", "nsage", "dcnn", "walk-coefficients", "cheby"])
def test_training_on_the_reference_path_agrees_with_the_kernels(graph: Graph, model: str) -> None:
    """The path of other devices, run on the CPU: the same dropout masks, so the same losses up to rounding."""
    # In rows of SAGE with one positive unit of few, gradients are 0 but for rounding, and Adam takes only their signs
    config = Config(model=model, hidden=8, steps=8)
    fast = train(graph, config)
    with use_reference():
        reference = train(graph, config)
    np.testing.assert_allclose(fast.history["loss"], reference.history["loss"], rtol=2e-4)
    torch.testing.assert_close(fast.model.logits(graph), reference.model.logits(graph), rtol=1e-2, atol=1e-3)

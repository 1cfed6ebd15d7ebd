"""What inputs are made from: small graphs in every format, and finished and unfinished runs on them."""

from __future__ import annotations

import json
import logging
import os
import pickle
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import scipy.sparse as sp

from tools.fuzz.messy import clean

RUNS = {  # name: arguments of ngcn train
    "gcn": ["tables/nodes.csv", "--edges", "tables/edges.csv", "--model", "gcn", "--steps", "5"],
    "mixed": ["tables/nodes.csv", "--edges", "tables/edges.csv", "--steps", "5", "--hidden", "4"],
    "seeds": ["tables/nodes.csv", "--edges", "tables/edges.csv", "--model", "ngcn", "--steps", "5", "--seeds", "2"],
    "lp": ["tables/nodes.csv", "--edges", "tables/edges.csv", "--model", "lp"],
    "multi": ["tables/several.csv", "--edges", "tables/edges.csv", "--multilabel", "--model", "sage", "--steps", "5"],
    "bare": ["arrays/bare.npz", "--model", "nsage", "--steps", "5", "--recipe", "paper"],
    "messy": ["tables/messy.csv", "--edges", "tables/edges.csv", "--model", "gcn", "--steps", "5"],
}
NODES = 60


def make(folder: Path) -> None:
    """Make all of it, with the command line, in this process: the kernels are compiled then, too."""
    tables(folder / "tables")
    clean(folder / "tables")
    arrays(folder / "arrays")
    os.environ["COLUMNS"] = "120"
    import sklearn.linear_model
    import torch

    import ngcn.estimator
    import ngcn.explain
    import ngcn.report  # noqa: F401
    from ngcn.cli import app

    assert sklearn.linear_model
    torch.set_num_threads(1)
    logging.getLogger("ngcn").addHandler(logging.NullHandler())
    before = Path.cwd()
    os.chdir(folder)
    for name, arguments in RUNS.items():
        command(app, "train", *arguments, "--threads", "1", "--out", f"runs/{name}")
        command(app, "predict", f"runs/{name}", "--all", "--out", "predictions.csv")
        if name != "lp":
            command(app, "report", f"runs/{name}", "--out", "report.html", "--explain", "2")
            command(app, "explain", f"runs/{name}", "--node", "n1" if name != "bare" else "1")
    for graph in ("tables/g.graphml", "arrays/planetoid/", "arrays/sage/"):  # else their inputs would all be errors
        command(
            app, "train", graph, "--model", "gcn", "--steps", "2", "--threads", "1", "--out", f"runs/of-{len(graph)}"
        )
    command(
        app, "train", "tables/g.gexf", "--label", "class", "--model", "gcn", "--steps", "2", "--out", "runs/of-gexf"
    )
    command(app, "export", "runs/gcn", "--format", "torch", "--out", "exported")
    unfinished(folder)
    stored(folder)
    search = [
        str(folder / "tables/nodes.csv"),
        "--edges",
        str(folder / "tables/edges.csv"),
        "--model",
        "gcn",
        "--steps",
        "3",
        "--trials",
        "3",
    ]
    command(app, "tune", *search, "--threads", "1", "--out", "study")
    os.chdir(before)


def command(app: Any, *arguments: str) -> None:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        import contextlib

        with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            try:
                app(list(arguments), prog_name="ngcn")
            except SystemExit as stop:
                assert stop.code in (0, None), arguments


def unfinished(folder: Path) -> None:
    """Runs with checkpoints, stopped after three steps."""
    from ngcn import Config, load_dataset, train

    def stop(step: Any) -> None:
        if step.step == 3:
            raise KeyboardInterrupt

    for name, model in (("stopped", "mixed"), ("stopped-gcn", "gcn")):
        edges = str(folder / "tables/edges.csv")
        graph = load_dataset(str(folder / "tables/nodes.csv"), edges=edges)
        config = Config(dataset=str(folder / "tables/nodes.csv"), edges=edges, model=model, steps=5, hidden=4)
        try:
            train(graph, config, folder=folder / "runs" / name, on_step=stop)
        except KeyboardInterrupt:
            continue


def stored(folder: Path) -> None:
    """Graphs on disk, which the runs of the same tables can be used on; and a use of each, else all would be errors."""
    from ngcn import Graph, load_dataset
    from ngcn.graph import store_graph

    edges = str(folder / "tables/edges.csv")
    store_graph(load_dataset(str(folder / "tables/nodes.csv"), edges=edges), folder / "stored/dense")
    several = load_dataset(str(folder / "tables/several.csv"), edges=edges, multilabel=True)
    store_graph(several, folder / "stored/several")
    bare = load_dataset(str(folder / "arrays/bare.npz"))
    masks = bare.train, bare.val, bare.test
    store_graph(Graph(bare.adjacency, sp.csr_array(bare.features), bare.labels, *masks), folder / "stored/sparse")


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(0)
    ids = [f"n{i}" for i in range(NODES)]
    label = random.integers(0, 3, NODES)
    split = np.array(["train", "val", "test"])[np.arange(NODES) % 3]
    nodes = pd.DataFrame({"id": ids, "label": np.array(["red", "green", "blue"])[label], "split": split})
    nodes = nodes.assign(age=random.integers(18, 80, NODES), size=random.normal(size=NODES).round(3))
    ends = random.integers(0, NODES, (2, 150))
    edges = pd.DataFrame({"source": np.array(ids)[ends[0]], "target": np.array(ids)[ends[1]]})
    return nodes, edges.assign(weight=random.random(150).round(2) + 0.5)


def tables(folder: Path) -> None:
    folder.mkdir()
    nodes, edges = frames()
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    several = nodes.assign(label=[f"{a}|x" if i % 2 else a for i, a in enumerate(nodes["label"])])
    several.to_csv(folder / "several.csv", index=False)
    G = networkx.from_pandas_edgelist(edges, edge_attr="weight")
    for row in nodes.to_dict("records"):
        G.add_node(row.pop("id"), **row)
    networkx.write_graphml(G, folder / "g.graphml")
    for values in G.nodes.values():
        values["class"] = values.pop("label")
    networkx.write_gexf(G, folder / "g.gexf")


def arrays(folder: Path) -> None:
    """A graph in .npz, in Planetoid's and in GraphSAGE's files."""
    folder.mkdir()
    random = np.random.default_rng(0)
    adjacency = sp.csr_matrix(sp.random_array((NODES, NODES), density=0.08, rng=random))
    X = (random.random((NODES, 12)) < 0.3).astype(np.float32)
    labels = np.arange(NODES) % 3
    np.savez(folder / "bare.npz", edges=np.stack(adjacency.nonzero(), 1), node_features=X, node_labels=labels)
    planetoid, sage = folder / "planetoid", folder / "sage"
    planetoid.mkdir()
    sage.mkdir()
    one_hot = np.eye(3, dtype=np.int32)[labels]
    parts = {"x": sp.csr_matrix(X[:10]), "allx": sp.csr_matrix(X[:40]), "tx": sp.csr_matrix(X[40:])}
    parts |= {"y": one_hot[:10], "ally": one_hot[:40], "ty": one_hot[40:]}
    parts["graph"] = {i: adjacency[[i]].nonzero()[1].tolist() for i in range(NODES)}
    for part, value in parts.items():
        (planetoid / f"ind.toy.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (planetoid / "ind.toy.test.index").write_text("\n".join(map(str, range(40, NODES))))
    rows, columns = adjacency.nonzero()
    G = {
        "nodes": [{"id": i, "val": i % 5 == 3, "test": i % 5 == 4} for i in range(NODES)],
        "links": [{"source": int(u), "target": int(v)} for u, v in zip(rows, columns, strict=True)],
    }
    names = [str(i) for i in range(NODES)]
    (sage / "toy-G.json").write_text(json.dumps(G))
    (sage / "toy-id_map.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    (sage / "toy-class_map.json").write_text(json.dumps({name: one_hot[i].tolist() for i, name in enumerate(names)}))
    np.save(sage / "toy-feats.npy", X)

"""Calls of the Python API, as source code with odd arguments."""

from __future__ import annotations

from pathlib import Path
from random import Random

HEAD = """\
import numpy as np, scipy.sparse as sp, torch, ngcn
from ngcn import Config, Graph, Model, NGCNClassifier, Run, knn_graph, load_dataset, predict, train, train_seeds
rng = np.random.default_rng(0)
n = 30
A = sp.random_array((n, n), density=0.1, rng=rng, format="csr")
X = rng.random((n, 8)).astype("f4")
y = np.arange(n) % 3
masks = [np.arange(n) % 3 == i for i in (1, 2, 0)]
graph = Graph(A, X, y, *masks)
config = Config(model="gcn", steps=2)
"""
ODD: tuple[str, ...] = (
    *(
        "None",
        "0",
        "-1",
        "1.5",
        "'a'",
        "b'a'",
        "[]",
        "{}",
        "object()",
        "np.nan",
        "10**30",
        "10**5000",
        "2**62",
        "float('inf')",
    ),
    *("[1, 'a', None]", "[[1], [1, 2]]", "np.zeros(0)", "np.zeros((3, 0))", "X", "y", "A", "graph", "config", "X * 1j"),
    *(
        "X.astype('U')",
        "X.astype(object)",
        "y[:5]",
        "y.astype(float)",
        "y + 0.5",
        "np.where(y == 0, 10**9, y)",
        "-y - 5",
    ),
    *("np.full(n, -1)", "y.astype(object)", "np.array(['a', 1, None] * 10, object)", "masks[0]", "~masks[0]", "y == y"),
    *(
        "A.tocoo()",
        "A.tocsc()",
        "A.tobsr()",
        "A.tolil()",
        "A.todok()",
        "A.todia()",
        "A.toarray()",
        "A[:5]",
        "A * 1j",
        "-A",
        "A * np.inf",
    ),
    *(
        "sp.csr_array((n, n))",
        "sp.csr_array((0, 0))",
        "sp.csr_array((n, 10**9))",
        "np.matrix(X)",
        "memoryview(X)",
        "range(n)",
    ),
    *(
        "[str(i) for i in range(n)]",
        "['a'] * n",
        "list(range(n))",
        "(i for i in range(n))",
        "'x' * n",
        "np.float32(3)",
        "np.int64(2)",
        "True",
    ),
    *(
        "np.ma.array(X, mask=X > 0.5)",
        "torch.tensor(X)",
        "torch.ones(n, requires_grad=True)",
        "np.zeros(n, 'M8[s]')",
        "1e400",
        "lambda *x: 0",
    ),
)
BROKEN = (  # a CSR matrix that is inconsistent
    "A.indptr[-1] = 10**6",
    "A.indptr[3] = -5",
    "A.indptr[:] = A.indptr[::-1].copy()",
    "A.indices[0] = 10**6",
    "A.indices[0] = -1",
    "A.indices = A.indices[:3]",
    "A.data = A.data[:3]",
    "A.indptr = A.indptr[:5]",
    "A.indices = A.indices.astype(float)",
    "A.indptr = A.indptr.astype('f8') * 1e9",
    "A = A.tocsc(); A.indptr[2] = 10**8",
    "A = A.tobsr((2, 2)); A.indices[0] = 10**6",
    "A = A.tobsr((2, 2)); A.indptr[2] = 10**6",
    "A = A.tocoo(); A.coords[0][0] = 10**6",
    "A = A.tocoo(); A.coords = (A.coords[0][:3], A.coords[1])",
    "A = A.todia(); A.offsets[0] = 10**6",
    "A = A.tolil(); A.rows[0] = [10**6]; A.data[0] = [1.0]",
    "A._shape = (10**6, 10**6)",
)
SETTINGS: tuple[str, ...] = (
    "powers",
    "replicas",
    "classifier",
    "layers",
    "mix",
    "hidden",
    "dropout",
    "lr",
    "l2",
    "steps",
    "patience",
    "seed",
)
SETTINGS += (
    "seeds",
    "recipe",
    "metric",
    "balance",
    "refit",
    "features",
    "split",
    "dataset",
    "settings",
    "model",
    "device",
    "bias",
)
PARAMETERS: tuple[str, ...] = (
    "n_neighbors",
    "metric",
    "validation_fraction",
    "class_weight",
    "random_state",
    "features",
    "powers",
    "hidden",
)
PARAMETERS += ("model", "steps", "lr", "dropout", "l2", "patience", "layers", "replicas", "classifier")


def api(draw: Random, fixtures: Path) -> str:
    def odd() -> str:
        return draw.choice(ODD)

    runs = repr(str(fixtures / "runs"))
    fields = [
        "adjacency",
        "features",
        "labels",
        "train",
        "val",
        "test",
        "node_ids",
        "class_names",
        "feature_names",
        "name",
    ]
    good = dict(zip(fields[:6], ["A", "X", "y", "masks[0]", "masks[1]", "masks[2]"], strict=True))
    match draw.randrange(14):
        case 0 | 1 | 2:
            given = good | {name: odd() for name in draw.sample(fields, draw.choice([1, 1, 2]))}
            code = f"g = Graph({', '.join(f'{name}={value}' for name, value in given.items())})\n"
            code += draw.choice(["", "train(g, config)", "print(g, g.fingerprint())", "g.to_pyg()"])
        case 3:
            more = draw.choice(["train(g, config)", "", "g.with_split(*masks)"])
            code = f"{draw.choice(BROKEN)}\ng = Graph(A, X, y, *masks)\n{more}"
        case 4:
            code = (
                f"S = A.copy(); {draw.choice(BROKEN).replace('A', 'S')}\ng = Graph(A, S, y, *masks)\ntrain(g, config)"
            )
        case 5:
            code = f"c = Config({draw.choice(SETTINGS)}={odd()}, {draw.choice(SETTINGS)}2={odd()})".replace(
                "2=", "=", 1
            )
            name, other = draw.sample(SETTINGS, 2)
            code = f"c = Config(**{{'steps': 2, {name!r}: {odd()}, {other!r}: {odd()}}})\n" + draw.choice(
                ["", "from dataclasses import replace\ntrain(graph, replace(c, steps=2, seeds=1))"]
            )
        case 6:
            code = draw.choice(
                [
                    f"train({odd()}, {odd()})",
                    f"train(graph, {odd()})",
                    f"train(graph, config, seed={odd()})",
                    f"train(graph, config, folder={odd()})",
                    f"train_seeds({odd()}, config)",
                    f"train_seeds(graph, config, 'run', threads={odd()})",
                    f"train(graph, config, network={odd()})",
                ]
            )
        case 7:
            a, b = draw.sample(PARAMETERS, 2)
            code = f"m = NGCNClassifier(**{{'steps': 2, {a!r}: {odd()}, {b!r}: {odd()}}}).fit(X, y)\nm.predict(X)"
        case 8:
            code = f"m = NGCNClassifier(model='gcn', steps=2).fit({draw.choice(['X', odd()])}, {odd()}, {draw.choice(['None', odd()])})\nm.predict(X)"
        case 9:
            code = f"m = NGCNClassifier(model='gcn', steps=2).fit(X, y)\nm.{draw.choice(['predict', 'predict_proba'])}({odd()}, {draw.choice(['None', odd()])})"
        case 10:
            code = f"m = NGCNClassifier(model='gcn', steps=2).fit(X, y)\nm.score({draw.choice(['X', odd()])}, {odd()}, {draw.choice(['None', odd()])})"
        case 11:
            name = repr(draw.choice(["gcn", "mixed", "multi", "lp", "absent"]))
            code = f"run = Run.open({runs} + '/' + {name})\nm = run.model({draw.choice(['', '', odd()])})\n"
            code += draw.choice(
                [
                    f"m.predict_proba({odd()})",
                    f"m.predict(run.graph(), {odd()})",
                    f"predict(run, {draw.choice(['None', odd()])}, nodes={odd()})",
                    f"predict(run, threshold={odd()})",
                    f"m.predict_set(run.graph(), coverage={odd()})",
                    f"ngcn.explain_node(run, {odd()})",
                    f"run.scores({odd()})",
                    f"ngcn.write_report(run, {odd()})",
                    f"ngcn.export_torch({odd()}, 'x')",
                    f"m.save({odd()})",
                ]
            )
        case 12:
            code = draw.choice(
                [
                    f"knn_graph({odd()}, {odd()})",
                    f"load_dataset({odd()})",
                    f"load_dataset('cora', split={odd()}, seed={odd()})",
                    f"Graph.from_scipy({odd()}, {odd()}, {odd()})",
                    f"Graph.from_scipy(A, X, {odd()}, masks={odd()})",
                    f"Graph.from_pandas({odd()}, {odd()})",
                    f"Run.open({odd()})",
                    f"Model.load({odd()})",
                    f"Config.from_file({odd()})",
                    f"ngcn.normalize({odd()})",
                ]
            )
        case _:
            how = draw.choice(
                [
                    "torch.set_default_dtype(torch.float64)",
                    "torch.set_grad_enabled(False)",
                    "torch.inference_mode().__enter__()",
                    "np.seterr(all='raise')",
                    "torch.use_deterministic_algorithms(True)",
                    "torch.set_default_dtype(torch.float16)",
                ]
            )
            model = draw.choice(["mixed", "gcn", "sage", "lp", "cheby"])
            code = f"{how}\nr = train(graph, Config(model={model!r}{'' if model == 'lp' else ', steps=3'}), folder='run')\nr.model.predict_proba(graph)"
            code = draw.choice([code, f"{how}\nm = NGCNClassifier(model='mixed', steps=2).fit(X, y)\nm.predict(X)"])
    return HEAD + code + "\n"

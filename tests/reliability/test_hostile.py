"""Damaged and hostile inputs give one clear error, in little memory, and leave nothing behind."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import torch
from conftest import random_graph
from safetensors.torch import load_file, save_file

from ngcn import (
    Config,
    ConfigError,
    DatasetError,
    Graph,
    GraphError,
    Model,
    NGCNClassifier,
    NGCNError,
    Run,
    RunError,
    explain_node,
    export_torch,
    knn_graph,
    normalize,
    train,
    train_seeds,
    write_report,
)
from ngcn.cli._screen import Console
from ngcn.cli.predict import write
from ngcn.files import atomic, new_files, read_bytes
from ngcn.graph import load_dataset
from ngcn.memory import check_memory
from ngcn.report.inspection import inspect_graph
from ngcn.runs import predict
from ngcn.yaml_file import read_yaml

ROOT = Path(__file__).parent.parent.parent
SHORT = Config(model="gcn", steps=3)


@pytest.mark.parametrize("labels", [[0, 1, 10**9], [0, 1, 2**62], [0.0, 1.0, 1e300]])
def test_a_huge_class_number(tmp_path: Path, labels: list) -> None:
    masks = np.eye(3, dtype=bool)
    with pytest.raises(GraphError, match=r"classes|class numbers"):
        train(Graph(np.eye(3), np.eye(3), labels, *masks), SHORT, folder=tmp_path / "run")
    assert not list(tmp_path.iterdir())


COLUMNS = {
    "integers above 2^53": pa.array([2**53 + 1, 2**62, 3, 4]),
    "empty": pa.nulls(4),
    "decimals": pa.array([1, 2, 3, 4]).cast(pa.decimal128(30, 2)),
    "durations": pa.array([1, 2, 3, 4]).cast(pa.duration("s")),
    "lists": pa.array([[1], [2], [], [3]]),
    "structs": pa.array([{"a": 1}] * 4),
    "bytes": pa.array([b"\xff\xfe"] * 4),
    "not UTF-8": pa.array([b"\xff\xfe", b"a", b"b", b"c"]).view(pa.string()),
}


@pytest.mark.parametrize("column", ["x", "label", "id"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_any_column_of_a_parquet_file(tmp_path: Path, kind: str, column: str) -> None:
    nodes = {"id": pa.array(list("abcd")), "label": pa.array(list("xyxy")), "x": pa.array([1.0, 2, 3, 4])}
    pyarrow.parquet.write_table(pa.table({**nodes, column: COLUMNS[kind]}), tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    if kind in ("integers above 2^53", "empty", "decimals", "durations") and column == "x":
        assert load_dataset(f"{tmp_path}/").nodes == 4
    else:
        with pytest.raises(DatasetError):
            load_dataset(f"{tmp_path}/")
        assert not inspect_graph(f"{tmp_path}/").ok


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    train(random_graph(), Config(model="gcn", steps=3), folder=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(finished, tmp_path / "run"))


def use(run: Path) -> None:
    opened = Run.open(run)
    opened.result(0), opened.summary(), opened.model().predict(random_graph())


@pytest.mark.parametrize("value", [None, "a", True, [], {}, [1, "a"], -1, 10**17, {"accuracy": "a"}, {"x": 1.0}])
@pytest.mark.parametrize("file", ["seed-0/result.json", "graph.json", "references.json"])
def test_values_of_other_types_in_a_run_folder(run: Path, file: str, value: object) -> None:
    path = run / file
    if not path.exists():
        path.write_text(json.dumps({"majority": {"val": {"accuracy": 0.5}, "test": {}}}))
    good = json.loads(path.read_text())
    for key in good:
        path.write_text(json.dumps({**good, key: value}))
        try:
            use(run)
        except RunError as error:
            assert any(word in str(error) for word in (path.name, "damaged", "newer version"))
        except NGCNError:
            pass
    path.write_text(json.dumps(good))
    use(run)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "[" * 200_000, '{"val": NaN}', '{"val": 1' + "0" * 5000 + "}", "\xff"]
)
@pytest.mark.parametrize(
    "file", ["seed-0/result.json", "graph.json", "references.json", "config.yaml", "seed-0/metrics.csv"]
)
def test_damaged_files_of_a_run(run: Path, file: str, text: str) -> None:
    (run / file).write_bytes(text.encode("latin-1"))
    with pytest.raises(NGCNError, match=Path(file).name.replace(".", r"\.") + "|weights"):  # of a config, all defaults
        use(run)


@pytest.mark.parametrize(
    "change", [torch.Tensor.double, torch.Tensor.long, lambda X: X[..., None], lambda X: X * np.nan]
)
def test_weights_of_other_types_and_shapes(run: Path, change: Callable) -> None:
    path = run / "seed-0/weights.safetensors"
    tensors = {name: change(value).contiguous() for name, value in load_file(path).items()}
    save_file(tensors, path)
    with pytest.raises(RunError, match="checksum"):
        use(run)
    result = json.loads((run / "seed-0/result.json").read_text())
    del result["weights_sha256"]  # as if someone had made them fit
    (run / "seed-0/result.json").write_text(json.dumps(result))
    if change is torch.Tensor.double:
        use(run)
    else:
        with pytest.raises(RunError, match="damaged"):
            use(run)


@pytest.mark.parametrize("change", [torch.Tensor.float, lambda X: X[:1], lambda X: X * 0])
def test_checkpoints_of_other_types_shapes_and_values(tmp_path: Path, change: Callable) -> None:
    def stop(step: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(random_graph(), SHORT, folder=tmp_path / "run", on_step=stop)
    path = tmp_path / "run/seed-0/checkpoint.safetensors"
    save_file({name: change(value.reshape(-1)).contiguous() for name, value in load_file(path).items()}, path)
    with pytest.raises(RunError, match=r"checkpoint\.safetensors is damaged"):
        train(random_graph(), SHORT, folder=tmp_path / "run", resume=True)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        *("steps: 2020-13-45", "steps: " + "9" * 5000, "steps: 0x" + "f" * 5000, "steps: !!int a", "steps: !!bool a"),
        *("steps: !!timestamp a", "steps: !!python/name:os.system x", "steps: &a [1]\nlr: *a", "x: &a {b: 1}\n<<: *a"),
        *("? [a]\n: 1", "steps: " + "[" * 10_000, BOMB, "steps: " + "1:" * 20_000 + "1", "a: " * 50_000),
    ],
)
def test_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"c\.yaml") as caught:
        Config.from_file(tmp_path / "c.yaml")
    assert len(str(caught.value)) < 1100


def test_a_config_is_a_small_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ConfigError, match="not a regular file"):
            read_yaml(path)
    (tmp_path / "large").write_bytes(b" " * 200_000)
    with pytest.raises(ConfigError, match="more than 100,000 bytes"):
        read_yaml(tmp_path / "large")


@pytest.mark.parametrize(
    "setting",
    [
        {"powers": 10**9},
        {"powers": [10**9]},
        {"powers": range(10**9)},
        {"seeds": 10**8},
        {"hidden": 2**62},
        {"replicas": 10**9},
        {"layers": 10**9},
        {"split": "random:" + "9" * 5000},
        {"steps": 10**5000},
        {"lr": 10**5000},
        {"mix": ["gcn:symmetric:" + "9" * 5000]},
        {"model": "x" * 10**6},
    ],
)
def test_unbounded_settings(setting: dict) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**setting)
    assert len(str(caught.value)) < 1100


def test_a_network_that_does_not_fit_into_memory(tmp_path: Path, graph: Graph) -> None:
    with pytest.raises(ConfigError, match=r"GB of memory, and .* GB are free; use fewer `powers`"):
        train(graph, Config(model="ngcn", hidden=2**16, layers=100, replicas=100), folder=tmp_path / "run")
    assert not list(tmp_path.iterdir())
    with pytest.raises(GraphError):
        check_memory(10**15, "This", "do less", GraphError)


BROKEN: dict[str, Callable] = {
    "indptr too large": lambda A: A.indptr.__setitem__(-1, 10**6),
    "indptr negative": lambda A: A.indptr.__setitem__(3, -5),
    "indptr not ascending": lambda A: A.indptr.__setitem__(slice(None), A.indptr[::-1].copy()),
    "few indices": lambda A: setattr(A, "indices", A.indices[:3]),
    "few data": lambda A: setattr(A, "data", A.data[:3]),
    "short indptr": lambda A: setattr(A, "indptr", A.indptr[:5]),
    "indices of floats": lambda A: setattr(A, "indices", A.indices.astype(float)),
}


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("broken", BROKEN)
def test_inconsistent_sparse_matrices(graph: Graph, broken: str, form: str) -> None:
    masks = graph.train, graph.val, graph.test
    A = sp.csr_array(graph.adjacency).asformat(form)
    BROKEN[broken](A)
    with pytest.raises(GraphError, match=r"inconsistent|leads to"):
        Graph(A, graph.features, graph.labels, *masks)
    with pytest.raises(GraphError, match=r"inconsistent|entry in row|rows"):
        Graph(graph.adjacency, A, graph.labels, *masks)


def test_bombs(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "nodes.csv.gz", "wb") as file:
        for _ in range(300):
            file.write(b"\n" * 2**20)
    (tmp_path / "edges.csv").write_text("source,target\n")
    with pytest.raises(DatasetError, match="unpacks to more than"):
        load_dataset(f"{tmp_path}/")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**26,)})
    with zipfile.ZipFile(tmp_path / "g.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("labels.npy", "w") as file:
            file.write(header.getvalue())
            for _ in range(512):
                file.write(bytes(2**20))
        archive.writestr("adj_indptr.npy", b"")
    with pytest.raises(DatasetError, match="unpacks to"):
        load_dataset(str(tmp_path / "g.npz"))


def test_a_matrix_with_a_negative_number_of_entries(tmp_path: Path) -> None:
    indptr = np.array([0, 2, -1], np.int8)
    matrix = {"data": np.ones(2, np.float32), "indices": np.array([0, 1]), "indptr": indptr, "shape": np.array([2, 2])}
    eye = {"data": np.ones(2), "indices": np.array([1, 0]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2])}
    arrays = {f"{name}_{part}": of[part] for name, of in (("attr", matrix), ("adj", eye)) for part in of}
    np.savez(tmp_path / "g.npz", labels=np.array([0, 1]), **arrays)
    with pytest.raises(DatasetError, match="do not ascend"):
        load_dataset(str(tmp_path / "g.npz"))
    wrong = sp.csr_array((np.ones(2), [0, 1], indptr), shape=(2, 2))
    with pytest.raises(DatasetError, match="do not ascend"):
        Graph.from_scipy(sp.eye_array(2, format="csr"), wrong, [0, 1])
    with pytest.raises(GraphError, match="do not ascend"):
        Graph(wrong, np.eye(2), [0, 1], *np.ones((3, 2), bool))


def test_sparse_features_in_half_precision(tmp_path: Path) -> None:
    X = sp.csr_array((np.ones(4, np.float16), np.arange(4), np.arange(5)), shape=(4, 4))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    arrays = {f"{name}_{part}": array for name in ("attr", "adj") for part, array in parts.items()}
    np.savez(tmp_path / "g.npz", labels=np.array([0, 1, 0, 1]), **arrays)
    assert load_dataset(str(tmp_path / "g.npz")).features.dtype == np.float32
    assert Graph.from_scipy(sp.eye_array(4, format="csr"), X, [0, 1, 0, 1]).features.dtype == np.float32


def test_blank_rows_cost_no_memory(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_bytes(b"id,label\n" + b"\n" * 3_000_000 + b"a,x\n")
    (tmp_path / "edges.csv").write_text("source,target\n")
    with pytest.raises(DatasetError, match="all labels are 'x'"):
        load_dataset(f"{tmp_path}/")


def test_a_position_in_the_memo_of_a_pickle(tmp_path: Path) -> None:
    from ngcn.data.planetoid import unpickle

    (tmp_path / "ind.x.graph").write_bytes(b"\x80\x02]r\x00\x00\x00\x10.")
    with pytest.raises(DatasetError, match="position 268435456"):
        unpickle(tmp_path / "ind.x.graph")


def test_formulas_in_tables(graph: Graph, finished: Path, tmp_path: Path) -> None:
    ids = ["=1+1", "@SUM(A1)", "-2.5", "+x", *map(str, range(graph.nodes - 4))]
    odd = Graph(graph.adjacency, graph.features, graph.labels, graph.train, graph.val, graph.test, node_ids=ids)
    table = predict(Run.open(finished).model(), odd)
    for name, first in (("p.csv", "'=1+1"), ("p.json", "=1+1")):
        write(table, tmp_path / name, multilabel=False)
        assert f"{first}" in (tmp_path / name).read_text()
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:5]] == ["'=1+1", "'@SUM(A1)", "-2.5", "'+x"]


def test_the_terminal_gets_no_control_sequences(capsys: pytest.CaptureFixture) -> None:
    Console().print("a\x1b[31m [/x] [bold]b[/bold] :smile: \u202e")
    assert capsys.readouterr().out == "a\\x1b[31m [/x] [bold]b[/bold] :smile: \\u202e\n"
    assert str(NGCNError("a\x1b[31mb")) == "a\\x1b[31mb"
    assert len(str(NGCNError("x" * 10_000))) == 1000


def test_errors_of_the_file_system_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"out.csv") as caught, atomic(tmp_path / "out.csv"):
        raise OSError(28, "No space left on device")
    assert caught.value.errno == 28
    with pytest.raises(OSError, match=r"/out\.csv/p\.csv'"), atomic(tmp_path / "out.csv" / "p.csv") as temporary:
        (tmp_path / "out.csv").touch()
        temporary.touch()  # as on a read-only file system, it can neither be made nor removed
    with pytest.raises(OSError, match="regular"):
        read_bytes(Path("/dev/zero"))


def test_an_error_removes_what_is_new(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    for folder in (tmp_path, tmp_path / "a" / "b"):
        with pytest.raises(OSError, match="full"), new_files(folder, "old", "new"):
            (folder / "new").touch()
            raise OSError("full")
    assert list(tmp_path.iterdir()) == [tmp_path / "old"]


PATHS = [3, b"x", None, "\0", "x" * 300, [], 1.5]
USES: dict[str, Callable[[Model, Graph, Any], Any]] = {
    "Run.open": lambda model, graph, path: Run.open(path),
    "Model.load": lambda model, graph, path: Model.load(path),
    "Model.save": lambda model, graph, path: model.save(path),
    "export_torch": lambda model, graph, path: export_torch(model, path),
    "load_dataset": lambda model, graph, path: load_dataset(path),
    "predict": lambda model, graph, path: predict(path),
    "explain_node": lambda model, graph, path: explain_node(path, 3),
    "write_report": lambda model, graph, path: write_report(path),
    "train": lambda model, graph, path: train(graph, SHORT, folder=path or 3),
    "train_seeds": lambda model, graph, path: train_seeds(graph, SHORT, path or 3),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("use", USES)
def test_what_is_no_path(finished: Path, graph: Graph, use: str, path: Any) -> None:
    with pytest.raises(NGCNError):
        USES[use](Run.open(finished).model(), graph, path)


@pytest.mark.parametrize("rows", ["a", [1.5], [30], [-1], [[1, 2]], [True] * 30, object()])
def test_rows_are_positions_of_nodes(finished: Path, graph: Graph, rows: Any) -> None:
    model = Run.open(finished).model()
    for use in (model.predict_proba, model.predict):
        with pytest.raises(GraphError, match="rows must be positions of nodes from 0 to 29"):
            use(graph, rows)
    assert (model.predict_proba(graph, [3, 1]) == model.predict_proba(graph)[[3, 1]]).all()  # type: ignore[arg-type]


def test_arguments_of_functions(finished: Path, graph: Graph) -> None:
    model = Run.open(finished).model()
    calls: list[Callable[[], Any]] = [
        lambda: predict(model, 3),  # type: ignore[arg-type]
        lambda: predict(model, graph, threshold="a"),  # type: ignore[arg-type]
        lambda: predict(model, graph, threshold=float("nan")),
        lambda: predict(model, graph, coverage="a"),  # type: ignore[arg-type]
        lambda: model.evaluate(graph, "x"),
        lambda: export_torch(Run.open(finished), "x"),  # type: ignore[arg-type]
        lambda: train(graph, SHORT, on_step=3),  # type: ignore[arg-type]
        lambda: train(graph, SHORT, resume=True),
        lambda: load_dataset("cora", seed="a"),  # type: ignore[arg-type]
        lambda: normalize(3),  # type: ignore[arg-type]
        lambda: normalize(graph.adjacency * 1j),
        lambda: normalize(graph.adjacency[:5]),
        lambda: Graph.from_scipy(3, 3, 3),
        lambda: Graph.from_networkx(3),
        lambda: Graph.from_pyg(3),
        lambda: knn_graph(np.eye(3), 1, metric="x"),
        lambda: knn_graph(np.eye(3) * np.nan, 1),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(NGCNError):
            call()
            raise AssertionError(f"no error in call {number}")


def test_a_node_far_from_all_others(graph: Graph, tmp_path: Path) -> None:
    """Its probability is 0 for logistic regression, with which the model is compared."""
    X = graph.features.toarray()
    X[graph.val] = 1e30
    masks = graph.train, graph.val, graph.test
    train_seeds(Graph(graph.adjacency, X, graph.labels, *masks), replace(SHORT, features="none"), tmp_path / "run")
    assert np.isfinite(Run.open(tmp_path / "run").references["regression"]["val"]["loss"])


@pytest.mark.parametrize("given", [{}, None, "cora", np.eye(3)])
def test_what_is_no_graph(given: object) -> None:
    with pytest.raises(GraphError, match="A Graph is needed"):
        train(given)  # type: ignore[arg-type]


def test_arguments_of_a_graph(graph: Graph) -> None:
    good = {name: getattr(graph, name) for name in ("adjacency", "features", "labels", "train", "val", "test")}
    odd = [{"node_ids": [object() for _ in range(graph.nodes)]}, {"features": np.eye(30) * 1j}, {"class_names": 3}]
    odd += [{"feature_names": memoryview(np.eye(graph.features.shape[1]))}]
    odd += [{"adjacency": graph.adjacency * 1j}, {"features": [[1], [1, 2]]}, {"labels": [[1], [1, 2]]}]
    odd += [{"features": torch.ones(30, 2, requires_grad=True)}, {"node_ids": ["a", 1] * 15, "features": "abc"}]
    for each in odd:
        with pytest.raises(GraphError):
            Graph(**{**good, **each})


def test_arguments_of_the_estimator(graph: Graph) -> None:
    X, y = graph.features.toarray(), graph.labels
    with pytest.raises(ValueError, match="Complex data not supported"):
        NGCNClassifier().fit(sp.csr_array(X * 1j), y)
    model = NGCNClassifier(model="gcn", steps=2).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:5])
    with pytest.raises(TypeError, match="requires grad"):
        model.predict(torch.ones(30, 12, requires_grad=True))


def test_the_modes_of_torch_do_not_matter(graph: Graph) -> None:
    expected = train(graph, SHORT).model.predict_proba(graph)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            found = train(graph, SHORT).model.predict_proba(graph)
        with torch.inference_mode():
            again = train(graph, SHORT).model.predict_proba(graph)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (found == expected).all() and (again == expected).all()


def test_a_short_run_of_the_fuzzer(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--inputs", "60", "--seed", "0", "--keep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr

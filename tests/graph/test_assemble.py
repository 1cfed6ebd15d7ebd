"""Parts become graphs: for training, and with the names of a trained model."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import ngcn.data
from ngcn.data.parts import Block, Parts
from ngcn.errors import DatasetError, GraphError
from ngcn.graph import Schema, for_model, for_training, load_dataset, load_for_model

EDGES = "source,target\n1,2\n"
NODES = "id,label,age,colour,height\n1,cat,3,red,30\n2,,4,green,40\n3,fish,5,blue,50\n"
SCHEMA = Schema(("dog", "cat"), ("height", "colour=blue", "colour=red", "age"))


def write(folder: Path, nodes: str = NODES, edges: str = EDGES, features: str | None = None) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in (("nodes", nodes), ("edges", edges), ("features", features)):
        if text is not None:
            (folder / f"{name}.csv").write_text(text)
    return f"{folder}/"


def parts(*blocks: Block, **fields: object) -> Parts:
    return Parts(adjacency=sp.csr_array(np.eye(4, k=1)), features=blocks, **fields)  # type: ignore[arg-type]


def one_hot(*values: str) -> Block:
    matrix = sp.csr_array(np.eye(4, len(values), dtype=np.float32))
    return Block(matrix, [f"c={value}" for value in values], one_hot="c")


def words(*names: str) -> Block:
    return Block(sp.csr_array(np.tri(4, len(names), dtype=np.float32)), names, sparse=True)


def test_reading_for_a_model_keeps_its_classes_and_features(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = load_for_model(write(tmp_path / "g"), SCHEMA, one_hot=["colour"])
    assert (graph.class_names, graph.feature_names) == SCHEMA[:2]
    np.testing.assert_array_equal(graph.features, [[30, 0, 1, 3], [40, 0, 0, 4], [50, 1, 0, 5]])
    assert graph.labels.tolist() == [1, -1, -1] and graph.test.tolist() == [True, False, False]
    assert "the model does not know 1 value(s) of 'colour', such as 'colour=green'; they are ignored" in caplog.text
    assert "column 'label': 1 label(s), such as 'fish', are not classes of the model; they are unknown" in caplog.text


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            Schema(("cat",), ("age", "colour=red")),
            "3 features, but the model was trained with 2; 'height' is not one .*, and no others",
        ),
        (Schema(("cat",), ("age", "height", "colour=red", "width")), "'width' is missing"),
    ],
)
def test_a_missing_or_extra_column_is_an_error(tmp_path: Path, schema: Schema, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_for_model(write(tmp_path / "g"), schema, one_hot=["colour"])


def test_what_only_training_needs_may_be_missing_for_a_model(tmp_path: Path) -> None:
    path = write(tmp_path / "g", NODES.replace("label", "note"))
    how = {"one_hot": ["colour"], "ignore": ["note", "diary"]}
    graph = load_for_model(path, SCHEMA, **how)
    assert (graph.labels == -1).all() and not graph.test.any()
    assert load_for_model(path, SCHEMA._replace(multilabel=True), **how).labels.shape == (3, 2)
    with pytest.raises(DatasetError, match=r"no column 'diary'; .*: use one of these for `ignore`"):
        load_dataset(path, **how)
    with pytest.raises(DatasetError, match=r"no column 'label'; .* or use another column with `label='COLUMN'`"):
        load_dataset(path, one_hot=["colour"], ignore=["note"])


def test_a_missing_label_column_comes_before_its_text(tmp_path: Path) -> None:
    path = write(tmp_path / "g", "id,kind,age\n1,x,1\n2,y,2\n")
    with pytest.raises(DatasetError, match="no column 'label'"):
        load_dataset(path)
    path = write(tmp_path / "g", "id,kind,age\n1,x,1\n2,y,old\n3,y,2\n")
    with pytest.raises(DatasetError, match="no column 'label'"):
        load_dataset(path)
    with pytest.raises(DatasetError, match="row 3, column 'age': 'old' is not a number"):
        load_for_model(path, Schema(("x", "y"), ("age",)))


def test_the_split_column_is_for_training_only(tmp_path: Path) -> None:
    path = write(tmp_path / "g", "id,label,split,age\n1,x,nobody,1\n2,y,train,2\n")
    assert load_for_model(path, Schema(("x", "y"), ("age",))).test.all()
    with pytest.raises(DatasetError, match="'nobody' is not a split"):
        load_dataset(path)


def test_a_model_may_know_fewer_values_than_training_could_take(tmp_path: Path) -> None:
    rows = "".join(f"{i},{'xy'[i % 2]},{i},town {i}\n" for i in range(1, 1200))
    path = write(tmp_path / "g", f"id,label,age,town\n{rows}")
    with pytest.raises(DatasetError, match=r"'town' has 1199 different values, too many for `one_hot`"):
        load_dataset(path, one_hot=["town"])
    graph = load_for_model(path, Schema(("x", "y"), ("age", "town=town 7")), one_hot=["town"])
    assert graph.features[6].tolist() == [7, 1] and graph.features[:, 1].sum() == 1


def test_words_that_a_model_does_not_know_are_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "g", "id\na\nb\n", "source,target\na,b\n", "id,feature\na,sun\nb,star\n")
    graph = load_for_model(path, Schema(("x", "y"), ("moon", "sun")))
    np.testing.assert_array_equal(graph.features.toarray(), [[0, 1], [0, 0]])
    assert "the model does not know 1 sparse feature(s), such as 'star'" in caplog.text
    with pytest.raises(DatasetError, match="g has 1 feature, but the model was trained with 2; 'moon' is missing"):
        load_for_model(path, Schema(("x", "y"), ("moon", "sun"), node_columns=1))


def test_without_features() -> None:
    with pytest.raises(DatasetError, match="knows its 2 nodes only; train again with the new nodes"):
        for_model(parts(), Schema(("x", "y"), ("0", "1")))
    with pytest.raises(DatasetError, match="but the model was trained with 1, such as 'age'; add them"):
        for_model(parts(), Schema(("x", "y"), ("age",)))
    names = [f"{what}{f' {k} away' if k else ''}" for k in range(5) for what in ("degree", "return")]
    assert for_model(parts(), Schema(("x", "y"), names)).features.shape == (4, 10)


def test_blocks_get_the_order_of_the_model() -> None:
    numbers = Block(np.arange(8, dtype=np.float32).reshape(4, 2), ["a", "b"])
    graph = for_model(
        parts(numbers, one_hot("u", "v"), words("p", "q")),
        Schema(("x", "y"), ("b", "c=w", "c=v", "a", "q", "r", "p"), node_columns=4),
    )
    assert graph.feature_names == ("b", "c=w", "c=v", "a", "q", "r", "p") and graph.node_columns == 4
    wanted = [[1, 0, 0, 0, 0, 0, 1], [3, 0, 1, 2, 1, 0, 1], [5, 0, 0, 4, 1, 0, 1], [7, 0, 0, 6, 1, 0, 1]]
    assert graph.features.tolist() == wanted


def test_sparse_features_do_not_stand_in_for_columns() -> None:
    block = Block(np.ones((4, 1), np.float32), ["a"])
    graph = for_model(parts(block, words("a", "p")), Schema(("x", "y"), ("a", "p"), node_columns=1))
    assert graph.features[:, 0].tolist() == [1] * 4  # the column, not the word of the same name
    with pytest.raises(DatasetError, match="'b' is missing"):
        for_model(parts(block, words("b", "p")), Schema(("x", "y"), ("a", "b", "p"), node_columns=2))
    with pytest.raises(DatasetError, match="has the feature 'a' twice"):
        for_training(parts(block, words("a", "p"), labels=np.arange(4) % 2))


def test_labels_get_the_numbers_of_the_model(caplog: pytest.LogCaptureFixture) -> None:
    schema = Schema(("y", "x"), ("0",))
    X = Block(np.ones((4, 1), np.float32))
    named = for_model(parts(X, labels=np.array([0, 1, 2, -1]), class_names=["x", "y", "z"]), schema)
    assert named.labels.tolist() == [1, 0, -1, -1] and named.test.tolist() == [True, True, False, False]
    assert "1 label(s), such as 'z', are not classes of the model" in caplog.text
    numbered = for_model(parts(X, labels=np.array([0, 1, 1, -1])), schema)
    assert numbered.labels.tolist() == [0, 1, 1, -1] and numbered.class_names == ("y", "x")
    matrix, labelled = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]), np.arange(4) < 3
    several = parts(X, labels=matrix, labelled=labelled, class_names=["x", "y", "z"])
    graph = for_model(several, schema._replace(multilabel=True))
    assert graph.labels.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]] and graph.test.tolist() == labelled.tolist()


def test_published_data_are_used_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    masks = tuple(np.arange(4) == node for node in range(3))
    given = parts(Block(np.ones((4, 1))), labels=np.array([0, 1, 0, 1]), masks=masks, published=True)
    graph = for_training(given)
    assert graph.train.tolist() == masks[0].tolist() and not caplog.messages


def test_errors_name_the_file() -> None:
    given = parts(Block(np.full((4, 1), np.inf)), labels=np.array([0, 1, 0, 1]))
    with pytest.raises(GraphError, match="infinite"), np.errstate(invalid="ignore"):
        for_training(given)
    with pytest.raises(DatasetError, match=r"x\.npz is not a valid graph: .*infinite"), np.errstate(invalid="ignore"):
        for_training(Parts(**{**vars(given), "source": "x.npz"}))
    with pytest.raises(DatasetError, match="no labels"):
        for_training(parts(Block(np.ones((4, 1)))))


def test_errors_of_the_reader() -> None:
    X = Block(np.ones((4, 1), np.float32))
    both = parts(X, training_errors=[DatasetError("first")], errors=[DatasetError("second")])
    with pytest.raises(DatasetError, match="2 problems:\n- second\n- first"):
        for_training(both)
    with pytest.raises(DatasetError, match=r"^second$"):
        for_training(parts(X, errors=[DatasetError("second")]))
    with pytest.raises(DatasetError, match="second"):
        for_model(both, Schema(("x", "y"), ("0",)))


def test_data_do_not_import_graph() -> None:
    """Not even inside a function: `ngcn.data` is below `ngcn.graph`."""
    for path in Path(ngcn.data.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            allowed = ("ngcn.data", "ngcn.errors", "ngcn.files", "ngcn.registry", "ngcn.text")
            assert all(name.startswith(allowed) for name in names if name.startswith("ngcn")), path

import builtins
import contextlib
import os
import pickle
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn.data import catalog
from ngcn.data.planetoid import _CSR, read_planetoid, unpickle
from ngcn.errors import DatasetError
from ngcn.graph import for_training, load_dataset


def test_reads_the_small_set(tiny: Path) -> None:
    graph = for_training(read_planetoid(tiny, "tiny"))
    rows = np.arange(21).reshape(7, 3) % 4
    assert graph.features.toarray().tolist() == [*rows[:5].tolist(), rows[6].tolist(), [0, 0, 0], rows[5].tolist()]
    assert graph.labels.tolist() == [0, 1, 1, 0, 1, 1, -1, 0]
    assert np.flatnonzero(graph.train).tolist() == [0, 1]
    assert np.flatnonzero(graph.val).tolist() == [2, 3, 4]
    assert np.flatnonzero(graph.test).tolist() == [5, 7]
    pairs = {(0, 1), (1, 0), (2, 2), (3, 4), (4, 3), (5, 7), (7, 5)}  # 3 lists 4, but not the other way round
    assert set(zip(*(ends.tolist() for ends in graph.adjacency.nonzero()), strict=True)) == pairs
    assert set(graph.adjacency.data.tolist()) == {1}  # 0 lists 1 twice


class Call:
    """Pickled as a call, which a plain unpickler makes."""

    def __init__(self, function: Callable, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple:
        return self.call


def hostile_pickles(marker: str) -> dict[str, bytes]:
    """Pickles that make the file ``marker`` when they are loaded in the usual way."""
    touch = Call(os.system, f"touch {marker}")
    write = Call(builtins.open, marker, "w")
    csr = sp.csr_matrix(np.eye(2))
    csr.extra = touch
    array_of_objects = np.empty(2, object)
    array_of_objects[0] = touch
    values = {
        "os.system": touch,
        "eval": Call(eval, f"open({marker!r}, 'w')"),
        "exec": Call(exec, f"open({marker!r}, 'w')"),
        "subprocess": Call(subprocess.call, ["touch", marker]),
        "open": write,
        "getattr": Call(getattr, Call(Path, marker), "touch"),  # finds, rather than calls, the means
        "in a list": [1, [2, [write]]],
        "in a graph": defaultdict(list, {0: [1], 1: [touch]}),
        "as a key": {write: 1},
        "as an argument": Call(np.dtype, Call(eval, f"open({marker!r}, 'w') and 'f4'")),
        "in an array": array_of_objects,
        "in a sparse matrix": csr,
        "a method of an admitted type": Call(np.ndarray.tofile, np.zeros(1), marker),
        "numpy's own": Call(np.save, marker, np.zeros(1)),
        "a factory": defaultdict(os.system),
    }
    pickles = {name: pickle.dumps(value, protocol=4) for name, value in values.items()}
    pickles["Python 2, os"] = f"cos\nsystem\n(S'touch {marker}'\ntR.".encode()
    pickles["Python 2, posix"] = f"cposix\nsystem\n(S'touch {marker}'\ntR.".encode()
    pickles["Python 2, eval"] = f'c__builtin__\neval\n(S\'open("{marker}", "w")\'\ntR.'.encode()
    pickles["Python 2, instance"] = f"(S'touch {marker}'\nios\nsystem\n.".encode()
    pickles["a persistent id"] = b"P1\n."
    pickles["an extension"] = b"\x80\x02\x82\x01."
    return pickles


DO_NOT_FIRE = ("getattr", "a factory", "a persistent id", "an extension")  # but lead the way to something that does


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", hostile_pickles("marker"))
def test_runs_nothing_from_a_hostile_pickle(name: str, tiny: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker.npy"
    content = hostile_pickles(str(marker))[name]
    if name not in DO_NOT_FIRE:
        with contextlib.suppress(Exception):  # the file is hostile: loaded in the usual way, it acts
            pickle.loads(content)
        assert marker.exists()
        marker.unlink()

    path = tiny / "ind.tiny.graph"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"ind\.tiny\.graph"):
        unpickle(path)
    with pytest.raises(DatasetError, match=r"ind\.tiny\.graph"):
        read_planetoid(tiny, "tiny")
    assert not marker.exists()


class Pointing:
    """Pickled as an array of numbers whose type then claims to be one of objects: eight bytes become an address."""

    def __reduce__(self) -> tuple:
        state = (3, "|", None, None, None, 8, 8, 63)  # 63: the flags of a type of objects
        as_dtype = type("", (), {"__reduce__": lambda _: (np.dtype, ("i8", False, True), state)})()
        return np.empty(0).__reduce__()[0], (np.ndarray, (0,), b"b"), (1, (1,), as_dtype, False, b"A" * 8)


@pytest.mark.parametrize("value", [Call(np.ndarray, (2, 2), "O", b"A" * 32), Pointing()], ids=["call", "state"])
def test_takes_no_address_from_a_file(value: object, tiny: Path) -> None:
    # not loaded in the usual way: the process would not survive it
    (tiny / "ind.tiny.ally").write_bytes(pickle.dumps(value))
    with pytest.raises(DatasetError, match=r"ind\.tiny\."):
        read_planetoid(tiny, "tiny")


def test_a_file_cannot_change_what_reads_the_next(tiny: Path) -> None:
    state = b"N}X\x05\x00\x00\x00buildc__builtin__\nlist\ns\x86"  # attributes, for the class itself
    (tiny / "ind.tiny.ally").write_bytes(b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n" + state + b"b.")
    before = vars(_CSR).copy()
    with pytest.raises(DatasetError, match=r"ind\.tiny\.ally"):
        unpickle(tiny / "ind.tiny.ally")
    assert vars(_CSR) == before


def test_says_what_a_hostile_pickle_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "ind.evil.x"
    path.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(DatasetError, match=r"ind\.evil\.x is unsafe to load: it refers to os\.system"):
        unpickle(path)


def replaced(part: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / f"ind.tiny.{part}").write_bytes(content) and None


def bad_csr() -> sp.csr_matrix:
    matrix = sp.csr_matrix(np.eye(2, 3, dtype=np.float32))
    matrix.indices[1] = 10**6  # behind scipy's back
    return matrix


def bad_indptr() -> sp.csr_matrix:
    matrix = sp.csr_matrix(np.eye(2, 3, dtype=np.float32))
    matrix.indptr[1] = 10**6
    return matrix


DAMAGE = {
    "missing": (lambda folder: (folder / "ind.tiny.tx").unlink(), "ind.tiny.tx is missing"),
    "no index": (lambda folder: (folder / "ind.tiny.test.index").unlink(), "test.index"),
    "empty": (replaced("allx", b""), "ind.tiny.allx is damaged"),
    "cut short": (replaced("ally", pickle.dumps(np.ones((5, 2)), 4)[:-20]), "ind.tiny.ally is damaged"),
    "text": (replaced("graph", b"hello"), "ind.tiny.graph is damaged"),
    "other type": (replaced("ty", pickle.dumps([1, 2], 4)), "ind.tiny.ty holds a list"),
    "bad indices": (replaced("tx", pickle.dumps(bad_csr(), 4)), "do not fit together"),
    "bad row starts": (replaced("tx", pickle.dumps(bad_indptr(), 4)), "do not fit together .*non-decreasing"),
    "too few labels": (replaced("ally", pickle.dumps(np.ones((2, 2)), 4)), "do not fit together"),
    "node out of range": (replaced("graph", pickle.dumps({0: [99], 1: [0]}, 4)), "do not fit together"),
    "graph of text": (replaced("graph", pickle.dumps({"a": ["b"]}, 4)), "do not fit together"),
    "index of text": (replaced("test.index", b"seven\n"), "do not fit together"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_files_give_one_clear_error(damage: Callable, message: str, tiny: Path) -> None:
    damage(tiny)
    with pytest.raises(DatasetError, match=message):
        read_planetoid(tiny, "tiny")


TRUE_SIZES = {  # nodes, edges, features, training nodes, unknown labels, and papers per class in the original release
    "cora": (2708, 5278, 1433, 140, 0, {"Neural_Networks": 818, "Theory": 351, "Rule_Learning": 180}),
    "citeseer": (3327, 4676, 3703, 120, 15, {"DB": 701, "IR": 668, "Agents": 596, "ML": 590, "HCI": 508, "AI": 249}),
    "pubmed": (19717, 44327, 500, 60, 0, {"Diabetes_Type_1": 7875, "Diabetes_Type_2": 7739}),
}


@pytest.mark.parametrize("name", TRUE_SIZES)
def test_true_datasets(name: str, planetoid_folder: Path) -> None:
    nodes, edges, features, train, unknown, papers = TRUE_SIZES[name]
    graph = load_dataset(name)
    assert (graph.nodes, graph.edges, graph.features.shape[1]) == (nodes, edges, features)
    row = catalog.find(name)
    assert (row.nodes, row.edges, row.features, row.classes) == (nodes, edges, features, graph.classes)
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (train, 500, 1000)
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * graph.classes
    assert (graph.labels == -1).sum() == unknown
    for class_name, count in papers.items():
        assert (graph.labels == graph.class_names.index(class_name)).sum() == count
    assert (graph.adjacency != graph.adjacency.T).nnz == 0


def test_citeseers_isolated_nodes_are_in_no_split(planetoid_folder: Path) -> None:
    graph = load_dataset("citeseer")
    isolated = graph.labels == -1
    assert isolated.sum() == 15
    assert not (isolated & (graph.train | graph.val | graph.test)).any()
    assert graph.features[isolated].nnz == 0


def test_test_rows_follow_the_unsorted_index(planetoid_folder: Path) -> None:
    graph = load_dataset("citeseer")
    index = [int(line) for line in (planetoid_folder / "ind.citeseer.test.index").read_text().split()]
    assert index != sorted(index)
    tx = unpickle(planetoid_folder / "ind.citeseer.tx").build()
    assert (graph.features[index] != tx).nnz == 0
    ty = unpickle(planetoid_folder / "ind.citeseer.ty").build()
    assert graph.labels[index].tolist() == ty.argmax(axis=1).tolist()


def test_a_changed_file_is_an_error_though_it_is_the_users_own(
    planetoid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "data" / "planetoid"
    shutil.copytree(planetoid_folder, copy)
    graph = copy / "ind.citeseer.graph"
    graph.chmod(0o644)
    graph.write_bytes(graph.read_bytes() + b" ")
    monkeypatch.setenv("NGCN_DATA", str(copy.parent))
    with pytest.raises(DatasetError, match=r"ind\.citeseer\.graph is not the published file"):
        load_dataset("citeseer")

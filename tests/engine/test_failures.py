"""Machines and drivers that are killed: the command finishes by itself, or when it is run again, with the same bits."""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from cli.conftest import Process, ngcn, start  # noqa: F401
from cli.test_interrupt import contents, wait_for
from large.conftest import random_graph
from training.conftest import crowds
from training.test_sampled_training import SMALL, communities

from benchmarks.power_law import write
from ngcn import Config, Ray, build, train_seeds
from ngcn.graph import store_graph
from ngcn.large import Prepared, links_of, powers_of, products
from ngcn.large.building import buckets

from .conftest import cluster_of

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """One machine, to which tests add others."""
    with cluster_of([1]) as cluster:
        yield cluster


@contextmanager
def another(machines: Any) -> Iterator[Any]:
    """A machine more, and a function that kills it."""
    node = machines.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=100 << 20)
    killed: list[Any] = []

    def kill() -> None:
        if not killed:
            killed.append(node)
            machines.remove_node(node, allow_graceful=False)

    try:
        yield kill
    finally:
        kill()


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A stored graph, and so little memory that its products have many blocks."""
    monkeypatch.setattr(products, "SMALLEST_BLOCK", 1)
    monkeypatch.setattr(products, "OTHER", 0)
    monkeypatch.setattr(products, "PER_NODE", 0)
    graph = store_graph(random_graph(2000, 10_000, features=9), tmp_path / "graph")
    return (links_of(graph), "symmetric", Prepared(graph), [1, 3]), {"memory": int(2000 * 4 * 3 / 0.85)}


def assert_same(found, expected):
    for k, S in expected.items():
        np.testing.assert_array_equal(found[k][0:2000], S[0:2000])


def test_products_are_the_same_on_one_two_and_three_machines(machines, stored, tmp_path):
    arguments, how = stored
    expected = powers_of(*arguments)
    with another(machines), another(machines), Ray(machines.address).connected(tmp_path) as executor:
        for workers in (1, 2, 3):
            folder = tmp_path / f"{workers}"
            found = powers_of(*arguments, folder=folder, executor=replace(executor, workers=workers), **how)
            assert len(list(folder.glob("3/*.npy"))) > 20
            assert_same(found, expected)


@pytest.mark.parametrize("number", [0, 1])
def test_a_machine_is_lost_during_products(machines, stored, tmp_path, number):
    arguments, how = stored
    after = random.Random(number).random()

    def on_progress(done: int, total: int) -> None:
        if done >= after * total:
            kill()

    with another(machines) as kill, Ray(machines.address).connected(tmp_path) as executor:
        found = powers_of(*arguments, folder=tmp_path / "found", executor=executor, on_progress=on_progress, **how)
    assert_same(found, powers_of(*arguments))


@pytest.mark.parametrize("number", [0, 1])
def test_a_machine_is_lost_during_a_build(machines, tmp_path, monkeypatch, number):
    monkeypatch.setattr(buckets, "LEAST_PIECE", 50_000)
    monkeypatch.setattr(buckets, "BUCKET", 50_000)
    tables = write(tmp_path / "tables", 600_000)
    after = random.Random(number).random()

    def on_progress(stage: str, done: int, total: int) -> None:
        if stage == ("Reading edges", "Sorting edges")[number] and done >= after * total:
            kill()

    expected = build(*tables[::-1], out=tmp_path / "here")
    with another(machines) as kill:
        found = build(*tables[::-1], out=tmp_path / "there", engine=Ray(machines.address), on_progress=on_progress)
    assert contents(found.folder).keys() > {"indices.npy", "features.npy"}
    for name in contents(expected.folder).keys() - {"meta.json", "built.json"}:
        assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes()


def test_a_machine_is_lost_while_seeds_are_trained(machines, tmp_path):
    config = Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=600, patience=None, seeds=4)
    lost: list[float] = []

    def on_progress(board: np.ndarray) -> None:
        if (board[:, 0] > 100).sum() >= 2 and not lost:
            lost.append(board[:, 0].sum())
            kill()

    with another(machines) as kill:
        train_seeds(crowds(), config, tmp_path / "there", engine=Ray(machines.address), on_progress=on_progress)
    train_seeds(crowds(), config, tmp_path / "here", threads=1)
    assert 0 < lost[0] < 4 * 600
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_a_machine_is_lost_during_sampled_training(machines, tmp_path):
    graph = store_graph(communities(), tmp_path / "graph")
    config = Config(model="ngcn", powers=2, steps=12, patience=None, **SMALL)
    lost: list[float] = []

    def on_progress(board: np.ndarray) -> None:
        if board[0, 0] >= 3 and not lost:
            lost.append(board[0, 0])
            kill()

    with another(machines) as kill:
        train_seeds(graph, config, tmp_path / "two", engine=Ray(machines.address), on_progress=on_progress)
    train_seeds(graph, config, tmp_path / "one", engine=Ray(machines.address))
    assert 3 <= lost[0] < 12
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_commands_on_a_graph_on_disk(machines, tmp_path, ngcn):  # noqa: F811
    on = ("--engine", "ray", "--address", machines.address)
    store_graph(communities(), tmp_path / "graph")
    assert ngcn("train", "graph", "--batch", "sampled", "--steps", "4", "--out", "run", *on).exit_code == 0
    assert ngcn("evaluate", "run", *on).exit_code == 0
    for out, engine in (("here.csv", ()), ("there.csv", on)):
        assert ngcn("predict", "run", "--all", "--out", out, *engine).exit_code == 0
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    result = ngcn("evaluate", "run", "cora", *on)
    assert result.exit_code == 2


def test_without_an_address_ray_starts_on_this_machine(machines, tmp_path):
    import ray

    with Ray(workers=1).connected(tmp_path) as executor:
        assert ray.get_runtime_context().gcs_address != machines.address
        assert list(executor.run([partial(pow, 2, 3)])) == [8]


TRAIN = ("train", "cora", "--model", "gcn", "--steps", "800", "--patience", "700", "--seeds", "2")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without Ray."""
    folder = tmp_path_factory.mktemp("whole")
    assert Process(folder, (*TRAIN, "--out", "run", "--threads", "1")).end()[0] == 0
    return folder / "run"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_same_command_continues_after_its_process_was_ended(machines, tmp_path, start, whole, how):  # noqa: F811
    command = (*TRAIN, "--resume", "--out", "run", "--engine", "ray", "--address", machines.address)
    process = start(*command)
    wait_for(lambda: process.steps() >= 50)
    process.send_signal(how)
    code, _, stderr = process.end()
    assert not (tmp_path / "run/result.json").exists()
    if how == signal.SIGINT:
        assert code == 130 and stderr.endswith("Stopped by SIGINT; continue with `ngcn train --resume --out run`.\n")
        assert list(tmp_path.glob("run/seed-*/checkpoint.safetensors"))
    code, _, stderr = start(*command).end()
    assert code == 0, stderr
    assert contents(tmp_path / "run") == contents(whole)


def test_an_interrupted_experiment_says_how_to_continue(machines, tmp_path, start):  # noqa: F811
    command = ("reproduce", "table2", "--datasets", "cora", "--seeds", "1", "--engine", "ray")
    process = start(*command, "--address", machines.address)
    wait_for(lambda: list(tmp_path.glob("results/cells/*.json")))
    process.send_signal(signal.SIGINT)
    code, _, stderr = process.end()
    assert code == 130 and stderr.endswith("Stopped by SIGINT; run the same command again to continue.\n")

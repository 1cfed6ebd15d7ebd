"""Tasks on a real cluster of two nodes; and what is wrong with a cluster, each in one sentence."""

import os
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from ngcn.engine import Ray
from ngcn.engine import cluster as module
from ngcn.engine.nodes import Node, check_nodes
from ngcn.errors import ConfigError, EngineError
from ngcn.version import __version__

GOOD = Node("one (10.0.0.1)", platform.python_version(), __version__, [])


def where(seconds: float = 0.0) -> tuple[int, str]:
    import ray

    time.sleep(seconds)
    return os.getpid(), ray.get_runtime_context().get_node_id()


def fail(error: BaseException) -> None:
    raise error


def die_once(file: Path) -> str:
    """Ends its process the first time."""
    if not file.exists():
        file.touch()
        os._exit(1)
    return "done"


def test_tasks_run_on_all_nodes_and_errors_and_lost_workers_are_handled(cluster, tmp_path):
    polls = []
    with Ray(cluster.address).connected(tmp_path, threads=1, poll=lambda: polls.append(0)) as connected:
        assert (connected.workers, connected.threads) == (2, 1) and not list(tmp_path.iterdir())
        assert sorted(connected.run([partial(pow, i, 2) for i in range(9)])) == [i * i for i in range(9)]
        assert len({node for _, node in connected.run([partial(where, 1.0)] * 4)}) == 2
        assert polls
        with pytest.raises(ConfigError, match="no such setting"):
            list(connected.run([partial(fail, ConfigError("no such setting"))]))
        with pytest.raises(ZeroDivisionError, match="a bug"):
            list(connected.run([partial(fail, ZeroDivisionError("a bug"))]))
        assert list(connected.run([partial(die_once, tmp_path / "died")])) == ["done"]


def test_a_worker_that_is_lost_again_and_again_is_an_error_with_the_reason(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RETRIES", 1)
    with (
        Ray(cluster.address).connected(tmp_path) as connected,
        pytest.raises(EngineError, match=r"lost, more than 1 times: .*died unexpectedly"),
    ):
        list(connected.run([partial(os._exit, 3)]))


def test_closing_cancels_the_tasks(cluster, tmp_path):
    import ray

    with Ray(cluster.address).connected(tmp_path, threads=1) as connected:
        running = connected.run([partial(pow, 1, 1), partial(_touch_later, tmp_path)])
        assert next(running) == 1
        running.close()
        for _ in range(100):  # the task that was interrupted removes its file
            time.sleep(0.1 if list(tmp_path.iterdir()) else 0)
        assert list(tmp_path.iterdir()) == []
        assert ray.is_initialized()
    assert not ray.is_initialized()


def _touch_later(folder: Path) -> None:
    (folder / "begun").touch()
    try:
        for _ in range(1000):
            time.sleep(0.1)
        (folder / "late").touch()
    finally:
        (folder / "begun").unlink()


def test_fewer_cpus_than_workers(cluster, tmp_path):
    with (
        pytest.raises(EngineError, match="has 2 CPUs on 2 machines, fewer than `workers=3`"),
        Ray(cluster.address, workers=3).connected(tmp_path),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere.invalid:6379", "127.0.0.1:port"])
def test_no_cluster_at_the_address(address, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(EngineError, match=f"no Ray cluster at {address}; start one"), Ray(address).connected(tmp_path):
        pass


def test_an_address_of_a_client_server():
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(EngineError, match="ray://host:1 is no address of a head node"):
        Ray("ray://host:1").check()


def test_ray_is_missing(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"not installed: pip install 'ngcn\[ray\]'"):
        Ray().check()


def test_another_version_of_ray(cluster, tmp_path):
    """As Ray reports it, to a process of its own that says it has another version."""
    code = (
        f"import ray; from ngcn import Ray, EngineError; ray.__version__ = '2.0.0'\n"
        f"try: Ray({cluster.address!r}).connected({str(tmp_path)!r}).__enter__()\n"
        "except EngineError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "another version of Ray or Python" in done.stdout and "2.0.0" in done.stdout


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (GOOD._replace(python="3.1.4"), r"one \(10\.0\.0\.1\) runs Python 3\.1\.4, and this process 3\."),
        (GOOD._replace(ngcn="0.0.1"), r"one \(10\.0\.0\.1\) has ngcn 0\.0\.1; install ngcn \d"),
        (GOOD._replace(ngcn=None), r"one \(10\.0\.0\.1\) lacks ngcn; install"),
        (GOOD._replace(unseen=["/results"]), r"one \(10\.0\.0\.1\) does not see /results; put the graph"),
    ],
)
def test_what_machines_lack(node, message):
    check_nodes([GOOD])
    with pytest.raises(EngineError, match=message):
        check_nodes([GOOD, node])

"""Ray clusters of several nodes on this machine."""

import os
import sys

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on 127.0.0.1 only, see ngcn.engine.cluster
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the future default; without it, a warning
    "RAY_worker_niceness": "0",  # Ray's default of 15 starves workers on a busy machine
}

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def cluster_of(cores: list[int], **of_node: Any) -> Iterator[Any]:
    """A cluster with a node for each number of cores. The first is the head node, where the tests run."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
    workers_see = os.pathsep.join(path for path in sys.path if path)  # the functions of these tests, too
    where = {"env_vars": {"PYTHONPATH": workers_see}, **of_node}
    where |= {"node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = cluster_utils.Cluster()
    try:
        for number in cores:
            cluster.add_node(num_cpus=number, **where)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    with cluster_of([1, 1]) as cluster:
        yield cluster

"""Ray clusters on this machine: what a lost machine costs, a killed command, the same scores, overhead and memory.

python -m benchmarks.cluster nodes FOLDER --stage products train predict   # a machine is killed, at 5 random moments
python -m benchmarks.cluster driver FOLDER --stage products train predict  # the command is killed, and repeated
python -m benchmarks.cluster same FOLDER --seeds 5                         # 1, 2 and 3 machines beside none
python -m benchmarks.cluster overhead FOLDER --edges 1e7                   # needs an idle machine

FOLDER takes the generated graph (benchmarks/power_law.py) and all runs. Machines are nodes of `ray.cluster_utils` with
one core each, on 127.0.0.1; the first one also runs the commands. Each line of output is a JSON object.

Of a lost machine and a killed command: seconds more than without, and seconds until more was done than before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on 127.0.0.1 only, see ngcn.engine.cluster
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the future default; without it, a warning
    "RAY_worker_niceness": "0",  # as the command has; Ray's default of 15 starves workers on a busy machine
}

STORE = 200 << 20  # bytes of the object store of a machine
MEMORY = "100MB"  # so little that products have many blocks
STEPS = 60  # of the training that is disturbed
LATEST = 0.9  # of what a stage does: later, it may be over
POLL = 0.02  # seconds


@contextmanager
def cluster_of(machines: int, cores: int = 1) -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        for _ in range(machines):
            add(cluster, cores)
        yield cluster
    finally:
        cluster.shutdown()


def add(cluster: Any, cores: int = 1) -> Any:
    see = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    where = {"node_ip_address": "127.0.0.1", "object_store_memory": STORE, "include_dashboard": False}
    return cluster.add_node(num_cpus=cores, env_vars=see, **where)


def kill(cluster: Any, node: Any) -> None:
    """As if its power failed: SIGKILL for all processes of the machine."""
    import psutil

    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for process in (raylet, *raylet.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    cluster.remove_node(node, allow_graceful=False)


def start(arguments: Sequence[str], cluster: Any = None) -> subprocess.Popen[str]:
    on = ("--engine", "ray", "--address", cluster.address) if cluster else ()
    command = [sys.executable, "-m", "ngcn", *arguments, *on]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> None:
    """Wait; a command that fails ends the benchmark."""
    _, stderr = process.communicate()
    if process.returncode:
        raise SystemExit(f"{process.args!r} returned {process.returncode}:\n{stderr}")


@dataclass(frozen=True)
class Stage:
    """A stage of a command, in a folder of its own.

    Attributes:
        command: without the engine; the same one repeats it.
        begin: makes the folder in which the command runs.
        done: how much of the stage is done, in any unit.
        files: what has to be the same however often the stage was disturbed.
    """

    command: Callable[[Path], list[str]]
    begin: Callable[[Path], None]
    done: Callable[[Path], float]
    files: str


def found_in(folder: Path, files: str) -> str:
    """A digest of the files of this pattern."""
    digest, paths = sha256(), sorted(folder.glob(files))
    assert paths, f"{folder} lacks {files}"
    for path in paths:
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


SMALL = ("--batch", "sampled", "--memory", MEMORY, "--patience", "10000", "--resume")


def tables_of(folder: Path, edges: int) -> Path:
    """The generated tables; this and what follows is made once."""
    tables = folder / f"tables-{edges}"
    if not (tables / "edges.parquet").exists():
        from benchmarks.power_law import write

        write(tables, edges)
    return tables


def graph_of(folder: Path, edges: int) -> Path:
    graph = folder / f"graph-{edges}"
    if not (graph / "meta.json").exists():
        end(start(["build", str(tables_of(folder, edges)), "--out", str(graph)]))
    return graph


def run_of(folder: Path, edges: int) -> Path:
    run = folder / f"run-{edges}"
    if not (run / "result.json").exists():
        end(start(["train", str(graph_of(folder, edges)), *SMALL, "--steps", "10", "--out", str(run)]))
    return run


def link(graph: Path, where: Path, products: bool = False) -> None:
    """A graph of the same files, with or without its products."""
    leave = shutil.ignore_patterns("ngcn-*", *([] if products else ["products"]))
    shutil.copytree(graph, where / "graph", copy_function=os.link, ignore=leave)


def stages(folder: Path, edges: int) -> dict[str, Stage]:
    def with_graph(where: Path, products: bool) -> None:
        if products:
            run_of(folder, edges)  # makes them
        link(graph_of(folder, edges), where, products)

    def train(steps: int, where: Path) -> list[str]:
        return ["train", str(where / "graph"), *SMALL, "--steps", str(steps), "--out", str(where / "run")]

    def build(where: Path) -> list[str]:
        return ["build", str(tables_of(folder, edges)), "--out", str(where / "graph"), "--memory", MEMORY]

    def predict(where: Path) -> list[str]:
        return ["predict", str(run_of(folder, edges)), "--all", "--out", str(where / "found.parquet")]

    return {
        "build": Stage(
            build,
            lambda where: where.mkdir(),
            lambda where: _bytes(where / "graph/.build"),
            "graph/*.npy",
        ),
        "products": Stage(
            partial(train, 1),
            partial(with_graph, products=False),
            lambda where: len(list(where.glob("graph/products/*/*/[!.]*.npy"))),
            "graph/products/*/*/*.npy",
        ),
        "train": Stage(
            partial(train, STEPS),
            partial(with_graph, products=True),
            lambda where: _steps(where / "run"),
            "run/seed-0/[mw]*",  # metrics and weights
        ),
        "predict": Stage(
            predict,
            lambda where: where.mkdir(),
            lambda where: len(list(where.glob(".found.parquet.*/*.npy"))) + len(list(where.glob(".found.parquet.*"))),
            "found.parquet",
        ),
    }


def _bytes(folder: Path) -> float:
    with suppress(OSError):  # a file or the folder was just deleted
        return sum(path.stat().st_size for path in folder.glob("*"))
    return 0.0


def _steps(run: Path) -> float:
    notes = [file.read_bytes() for file in run.glob(".progress/seed-*")]
    return max((float(np.frombuffer(note)[0]) for note in notes if len(note) == 24), default=0.0)


def undisturbed(name: str, stage: Stage, folder: Path, cluster: Any) -> tuple[float, float, str]:
    """Seconds of the command, what the stage does, and a digest of the result, which another run has, too: one without
    a cluster, but for training, which has other dropout masks."""
    results = []
    for engine in (cluster, cluster if name == "train" else None):
        where, done = _empty(folder / "trial"), 0.0
        stage.begin(where)
        begun = time.monotonic()
        process = start(stage.command(where), engine)
        while process.poll() is None:
            done = max(done, stage.done(where))
            time.sleep(POLL)
        end(process)
        results.append((time.monotonic() - begun, done, found_in(where, stage.files)))
    assert results[0][2] == results[1][2], f"{name}: two runs differ"
    return results[0]


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def disturbed(what: str, folder: Path, edges: int, names: Sequence[str], times: int, machines: int) -> None:
    """Kill a machine, or the command, at random moments of a stage."""
    moments = random.Random(0)
    where_to: AbstractContextManager[Any] = cluster_of(machines) if machines else nullcontext()
    with where_to as cluster:
        for name in names:
            stage = stages(folder, edges)[name]
            seconds, whole, expected = undisturbed(name, stage, folder, cluster)
            lost = []
            for _ in range(times):
                where, moment = _empty(folder / "trial"), LATEST * moments.random()
                stage.begin(where)
                begun = time.monotonic()
                process = start(stage.command(where), cluster)
                wait(process, stage, where, moment * whole)
                time.sleep(moments.random() / 2)
                before, hit = stage.done(where), process.poll() is None
                killed = time.monotonic()
                if what == "nodes":
                    kill(cluster, next(iter(cluster.worker_nodes)))
                else:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    process = start(stage.command(where), cluster)
                wait(process, stage, where, before)
                stalled = time.monotonic() - killed
                end(process)
                lost.append((round(time.monotonic() - begun - seconds, 1), round(stalled, 1)))
                same = found_in(where, stage.files) == expected
                _print(killed=what, stage=name, at=before, of=whole, running=hit, same=same, lost_stalled=lost[-1])
                if what == "nodes":
                    add(cluster)
            _print(killed=what, stage=name, edges=edges, machines=machines, undisturbed=round(seconds, 1), lost=lost)


def wait(process: subprocess.Popen[str], stage: Stage, where: Path, before: float) -> None:
    """Until more than that is done, or all."""
    while process.poll() is None and stage.done(where) <= before:
        time.sleep(POLL)


def same(folder: Path, edges: int, seeds: int, steps: int) -> None:
    """Pubmed and a generated graph, trained on 1, 2 and 3 machines and without Ray."""
    given = str(graph_of(folder, edges))
    for name in ("pubmed", given):
        found: dict[str, list[str]] = {"products": [], "weights": []}
        for machines in (0, 1, 2, 3):
            where = _empty(folder / "trial")
            where.mkdir()
            if name == given:
                link(Path(given), where)
            command = ["train", str(where / "graph") if name == given else name, "--batch", "sampled"]
            command += ["--memory", MEMORY] if name == given else []
            command += ["--steps", str(steps), "--seeds", str(seeds), "--out", str(where / "run")]
            begun = time.monotonic()
            if machines:
                with cluster_of(machines) as cluster:
                    end(start(command, cluster))
            else:
                end(start(command))
            tests = [100 * json.loads((where / f"run/seed-{s}/result.json").read_text())["test"] for s in range(seeds)]
            files = {"products": "graph/products/*/*/*.npy", "weights": "run/seed-*/[mw]*"}
            for what, glob in files.items():
                if machines if what == "weights" else name == given:
                    found[what].append(found_in(where, glob))
            _print(
                graph=Path(name).name,
                machines=machines or "no Ray",
                test=round(mean(tests), 2),
                std=round(stdev(tests), 2) if seeds > 1 else None,
                seeds=seeds,
                steps=steps,
                seconds=round(time.monotonic() - begun),
            )
        _print(graph=Path(name).name, same={what: len(set(each)) == 1 for what, each in found.items() if each})


def overhead(folder: Path, edges: int, steps: int, memory: str) -> None:
    """The whole command with and without Ray, with the same cores: seconds; processor seconds of the command, of
    workers and of Ray's other processes; and megabytes of private memory, the most that one of each takes."""
    os.environ.pop("OMP_NUM_THREADS", None)
    seconds = {}
    for engine in ("local", "ray"):
        where = _empty(folder / "trial")
        link(graph_of(folder, edges), where)
        command = ["train", str(where / "graph"), "--batch", "sampled", "--memory", memory, "--steps", str(steps)]
        begun = time.monotonic()
        process = start([*command, "--patience", "10000", "--out", str(where / "run"), "--engine", engine])
        cpu: dict[int, tuple[str, float]] = {}
        peaks: dict[str, int] = {}
        threading.Thread(target=_watch, args=(process, cpu, peaks), daemon=True).start()
        end(process)
        seconds[engine] = round(time.monotonic() - begun, 1)
        processor = {kind: round(sum(t for other, t in cpu.values() if other == kind), 1) for kind in peaks}
        _print(engine=engine, edges=edges, steps=steps, seconds=seconds[engine], processor=processor)
        _print(engine=engine, memory=memory, megabytes=peaks)
    _print(edges=edges, ratio=round(seconds["ray"] / seconds["local"], 2))


def _watch(process: subprocess.Popen[str], cpu: dict[int, tuple[str, float]], peaks: dict[str, int]) -> None:
    import psutil

    command = psutil.Process(process.pid)
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            for each in (command, *command.children(recursive=True)):
                with suppress(OSError, IndexError, psutil.NoSuchProcess):  # it has ended
                    name = "command" if each is command else "worker" if "ray::" in each.cmdline()[0] else "other"
                    cpu[each.pid] = name, sum(each.cpu_times()[:2])
                    anonymous = Path(f"/proc/{each.pid}/status").read_text().partition("RssAnon:")[2].split()[0]
                    peaks[name] = max(peaks.get(name, 0), int(anonymous) // 1000)
        time.sleep(5 * POLL)


def _print(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["nodes", "driver", "same", "overhead"])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--edges", type=float, default=1e6)
    arguments.add_argument("--stage", nargs="+", default=["build", "products", "train", "predict"])
    arguments.add_argument("--times", type=int, default=5, help="Moments at which something is killed, in each stage.")
    arguments.add_argument("--machines", type=int, default=3, help="Of nodes and driver; 0 is without Ray.")
    arguments.add_argument("--seeds", type=int, default=5, help="Of same.")
    arguments.add_argument("--steps", type=int, default=100, help="Of same and overhead.")
    arguments.add_argument("--memory", default="4GB", help="Of overhead.")
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    folder, edges = given.folder.absolute(), int(given.edges)
    if given.what == "same":
        same(folder, edges, given.seeds, given.steps)
    elif given.what == "overhead":
        overhead(folder, edges, given.steps, given.memory)
    else:
        disturbed(given.what, folder, edges, given.stage, given.times, given.machines)


if __name__ == "__main__":
    main()

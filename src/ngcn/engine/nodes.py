"""What the machines of a cluster say about themselves, and what is wrong with them."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from ngcn.errors import EngineError
from ngcn.version import __version__


class Node(NamedTuple):
    """What a machine of the cluster says about itself."""

    name: str
    python: str
    ngcn: str | None
    unseen: list[str]  # the folders that it does not see


def check_nodes(nodes: Sequence[Node]) -> None:
    """Raise an error if a machine has another version of ngcn or Python, or does not see the storage."""
    python = platform.python_version()
    for node in nodes:
        if node.python.split(".")[:2] != python.split(".")[:2]:
            raise EngineError(f"{node.name} runs Python {node.python}, and this process {python}; use one version.")
        if node.ngcn != __version__:
            has = f"has ngcn {node.ngcn}" if node.ngcn else "lacks ngcn"
            raise EngineError(f"{node.name} {has}; install ngcn {__version__} there, as on this machine.")
        if node.unseen:
            raise EngineError(
                f"{node.name} does not see {node.unseen[0]}; put the graph and the results on storage that all "
                "machines mount at the same path."
            )


def ask(ray: Any, nodes: Sequence[dict[str, Any]], paths: Sequence[Path | str]) -> dict[str, Node]:
    """Ask every machine at once. Leaves out those that have been lost, which Ray may list for some time."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def answer(name: str, files: list[str]) -> Any:
        """Pickled with its code, as it is nested: ngcn may be missing there."""
        import platform
        from contextlib import suppress
        from pathlib import Path

        found: str | None = None
        with suppress(ImportError):
            from ngcn.version import __version__ as found
        unseen = [str(Path(file).parent) for file in files if not Path(file).exists()]
        return name, platform.python_version(), found, unseen

    with _tokens(paths) as files:
        asked = {
            node["NodeID"]: ray.remote(answer)
            .options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))
            .remote(f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})", files)
            for node in nodes
        }
        found = {}
        for name, ref in asked.items():
            with suppress(ray.exceptions.TaskUnschedulableError, ray.exceptions.NodeDiedError):
                found[name] = Node(*ray.get(ref))
        return found


@contextmanager
def _tokens(paths: Sequence[Path | str]) -> Iterator[list[str]]:
    """The files, and a new file in each of the folders: another machine may have a folder of the same name."""
    given = [Path(path).absolute() for path in paths]
    files = [path for path in given if path.is_file()]
    new = [path / f".ngcn-{uuid4().hex}" for path in given if path not in files]
    try:
        for file in new:
            file.touch()
        yield list(map(str, [*new, *files]))
    finally:
        for file in new:
            file.unlink(missing_ok=True)

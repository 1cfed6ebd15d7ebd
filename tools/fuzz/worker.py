"""Run inputs: import ngcn once, fork a process for a batch of inputs, limit the time and memory of each."""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.fuzz.families import FAMILIES, Input

SECONDS = 20.0  # of the processor; a longer case hangs
STILL = 60.0  # seconds in which it neither computes nor waits for a processor; a longer case hangs, too
MEMORY = 3 << 30  # bytes that a case may use beyond those of this process
OUTPUT = 1 << 30  # bytes of a file that it may write
BATCH, LARGE = 40, 400 << 20  # inputs of a process, which ends early once it has grown by so many bytes
UNCAUGHT = 70  # the exit code of an exception that nothing caught


@dataclass
class Case:
    """An input that has run. ``status`` is what os.wait4 says; ``grown`` the memory that it used, in bytes."""

    number: int
    family: str
    command: str
    folder: Path
    before: set[str]
    status: int
    seconds: float
    grown: int
    out: str
    err: str

    @property
    def after(self) -> set[str]:
        return names(self.folder)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} - {"out.txt", "err.txt"}


class Worker:
    """Makes what inputs need once: imports, compiled kernels, finished runs."""

    def __init__(self, scratch: Path, families: Sequence[str] | None = None) -> None:
        self.started = time.monotonic()
        self.scratch = scratch
        self.families = list(families or FAMILIES)
        self.fixtures = scratch / "fixtures"
        self.fixtures.mkdir()
        from tools.fuzz.fixtures import make

        make(self.fixtures)
        gc.collect()
        gc.freeze()

    def run(self, seed: int, numbers: range) -> Iterator[Case]:
        """Each input is made here, so that it is known whatever becomes of the process that runs it."""
        here = Path.cwd()
        given = iter(numbers)
        number = next(given, None)
        while number is not None:
            reading, writing = os.pipe()
            asking, telling = os.pipe()
            child = os.fork()
            if not child:
                os.close(telling)
                os.close(reading)
                _serve(asking, writing)
            os.close(writing)
            os.close(asking)
            left = BATCH
            try:
                while number is not None and left:
                    family, made, folder = self._make(seed, number)
                    before, started = names(folder), time.monotonic()
                    os.write(telling, json.dumps([str(folder), made.arguments, made.code]).encode() + b"\n")
                    status, grown, seconds, ended = _wait(child, reading, started)
                    out, err = (_text(folder / name) for name in ("out.txt", "err.txt"))
                    yield Case(number, family, str(made), folder, before, status, seconds, grown, out, err)
                    shutil.rmtree(folder, ignore_errors=True)
                    number, left = next(given, None), 0 if ended or grown > LARGE or family == "api" else left - 1
            finally:
                os.close(telling)
                os.close(reading)
                if not _ended(child):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                os.chdir(here)

    def _make(self, seed: int, number: int) -> tuple[str, Input, Path]:
        draw = random.Random(f"{seed}-{number}")
        family = draw.choice(self.families)
        folder = self.scratch / f"case-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return family, FAMILIES[family](draw, folder, self.fixtures), folder


def _serve(asking: int, writing: int) -> None:
    """In the forked process: run the inputs that arrive."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with os.fdopen(asking) as inputs:
            for line in inputs:
                folder, arguments, code = json.loads(line)
                os.write(writing, bytes([_one(Input(arguments, code), Path(folder))]))
    finally:
        os._exit(0)


def _one(given: Input, folder: Path) -> int:
    """The exit code of an input."""
    os.chdir(folder)
    for number, name in ((1, "out.txt"), (2, "err.txt")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    code = UNCAUGHT
    try:
        code = given.run()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code & 0xFF


def _wait(child: int, reading: int, started: float) -> tuple[int, int, float, bool]:
    """The status of an input, the memory and time it used, and whether its process has ended."""
    base, seconds, still, now = _use(os.getpid())[1], 0.0, 0.0, started
    before, grown, killed = _use(child)[0], 0, False
    while True:
        ready = select.select([reading], [], [], 0.02)[0]
        processor, size, computes = _use(child)
        if not computes and processor - before <= seconds:  # else a busy machine may keep it waiting
            still += time.monotonic() - now
        grown, seconds, now = max(grown, size - base), max(seconds, processor - before), time.monotonic()
        took = seconds if still < STILL else still
        if ready:
            if code := os.read(reading, 1):
                return code[0] << 8, grown, took, False
            return os.waitpid(child, 0)[1], grown, took, True
        if not killed and (took > SECONDS or grown > MEMORY):
            os.kill(child, signal.SIGKILL)
            killed = True


def _ended(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _use(process: int) -> tuple[float, int, bool]:
    """Seconds of the processor and bytes of memory that it and its children have used; whether one of them computes,
    or would if a processor were free."""
    seconds, size, computes = 0.0, 0, False
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            computes |= (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD"
            for child in (task / "children").read_text().split():
                more = _use(int(child))
                seconds, size, computes = seconds + more[0], size + more[1], computes or more[2]
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]  # and of ended children
        size += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
        seconds += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):  # it has just ended
        pass
    return seconds, size, computes


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[:100_000] if path.exists() else ""

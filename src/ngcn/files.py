"""Read files within bounds. Write files that are either the previous version or the complete new one, whatever happens
while they are written."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

LARGEST = 1 << 40  # bytes; nothing that is read at once is larger
UNPACKED, HUGE = 256 << 20, 2 << 30  # bytes that any file may unpack to; above, its ratio is limited, and then more so
TEXT, ARRAYS, ANYTHING = 50, 500, 20  # how many times its size: text, arrays that are mostly 0, and above HUGE


def user_path(text: str) -> Path:
    """A path in which ~ stands for the home folder, if there is one."""
    with suppress(RuntimeError):
        return Path(text).expanduser()
    return Path(text)


def is_url(path: Any) -> bool:
    """Whether a path is a URL.

    Example:
        >>> is_url("s3://bucket/edges.parquet"), is_url("./edges.parquet")
        (True, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+:/", str(path)) is not None


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; not where its name is too long, or its folder cannot be read."""
    with suppress(OSError):
        return path.exists()
    return False


def open_regular(path: Path, most: int = LARGEST) -> BinaryIO:
    """Open a regular file to read. A device or a pipe, and a file of more than ``most`` bytes, are an OSError."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # never waits for a pipe
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size > most:
        file.close()
        number = errno.EFBIG if stat.S_ISREG(status.st_mode) else errno.EINVAL
        why = f"It has more than {most:,} bytes" if number == errno.EFBIG else "It is not a regular file"
        raise OSError(number, why, str(path))
    return file


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    with open_regular(path, most) as file:
        return file.read()


def gunzip(packed: bytes) -> bytes:
    """The content of a gzip file; an OSError if it becomes too large."""
    parts, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        while part := file.read(1 << 24):
            parts.append(part)
            size += len(part)
            if unpacks_too_far(size, len(packed), TEXT):
                raise OSError(errno.EFBIG, f"It unpacks to more than {size:,} bytes from {len(packed):,}")
    return b"".join(parts)


def unpacks_too_far(unpacked: int, packed: int, ratio: int = ARRAYS) -> bool:
    """Whether a compressed file is a bomb, or damaged: it becomes large, and unusually many times its size."""
    return unpacked > max(UNPACKED, ratio * packed) or unpacked > max(HUGE, ANYTHING * packed)


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file next to ``path`` to write to, which takes its place at the end, and only if all went well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.filename in (None, str(temporary)):  # the user knows the other name
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise
    finally:
        with suppress(OSError):  # of a folder that cannot be written to, which was the first error
            temporary.unlink(missing_ok=True)


@contextmanager
def new_files(folder: Path, *names: str) -> Iterator[None]:
    """Make a folder for these files. After an error, what was not there before is removed."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    new = [folder / name for name in names if not (folder / name).exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except Exception:
        for path in new:
            path.unlink(missing_ok=True)
        for path in made:
            with suppress(OSError):  # a folder that holds something else stays
                path.rmdir()
        raise


def lock(folder: Path) -> int | None:
    """Lock a folder: a descriptor to close, or None if another process or thread has it. Ends with its process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        pass  # a file system without locks
    return descriptor


def write_text(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: dict[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def remove_leftovers(folder: Path) -> None:
    """What a killed process left half-written in this folder."""
    for leftover in folder.glob(".*.tmp"):
        if re.fullmatch(r"\..+\.\d+\.tmp", leftover.name):  # as `atomic` calls them
            leftover.unlink(missing_ok=True)

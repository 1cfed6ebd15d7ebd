import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ngcn.data import catalog
from ngcn.data.catalog import DATASETS, fetch, whereabouts
from ngcn.errors import DatasetError
from ngcn.graph import load_dataset

NOBODY = "http://127.0.0.1:1/"


def test_what_exists_on_a_bare_machine(clean: Path) -> None:
    available = {name: whereabouts(dataset)[0] for name, dataset in DATASETS.items()}
    assert available == {
        "cora": "embedded",
        "citeseer": "download",
        "pubmed": "download",
        "ppi": "download",
        "ppi-rebuilt": "files needed",
        "ppi-synthetic": "generated",
    }
    assert not clean.exists()  # looking makes nothing


@pytest.mark.parametrize("name", ["citeseer", "pubmed", "ppi"])
def test_every_checksum_is_a_sha256(name: str) -> None:
    unknown = [file for file, checksum in catalog.find(name).files.items() if checksum is None]
    assert unknown == (["ppi-id_map.json"] if name == "ppi" else [])
    checksums = [checksum for checksum in catalog.find(name).files.values() if checksum]
    assert all(len(checksum) == 64 and int(checksum, 16) for checksum in checksums)
    assert len(set(checksums)) == len(checksums)


def test_synthetic_says_that_it_is_not_ppi() -> None:
    assert "not PPI results" in catalog.find("ppi-synthetic").description


def test_the_users_folder_comes_before_the_cache(
    clean: Path, tiny: Path, tiny_dataset: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_dataset(NOBODY)
    clean.mkdir()
    for path in tiny.iterdir():
        (clean / "planetoid").mkdir(exist_ok=True)
        (clean / "planetoid" / path.name).write_bytes(path.read_bytes())
    assert fetch("tiny") == clean / "planetoid"
    monkeypatch.setenv("NGCN_DATA", str(tiny.parent))
    assert fetch("tiny") == tiny
    assert whereabouts(DATASETS["tiny"])[0] == "in $NGCN_DATA"
    (tiny / "ind.tiny.x").unlink()  # not whole any more
    assert fetch("tiny") == clean / "planetoid"


@pytest.mark.parametrize("place", ["NGCN_DATA", "NGCN_CACHE"])
def test_a_wrong_checksum_is_an_error_wherever_the_file_is(
    place: str, clean: Path, tiny: Path, tiny_dataset: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_dataset(NOBODY)
    monkeypatch.setenv(place, str(tiny.parent))
    assert load_dataset("tiny").nodes == 8
    (tiny / "ind.tiny.y").write_bytes((tiny / "ind.tiny.ally").read_bytes())  # a good file, but another one
    with pytest.raises(DatasetError) as raised:
        load_dataset("tiny")
    message = str(raised.value)
    assert str(tiny / "ind.tiny.y") in message and "delete it and run `ngcn datasets fetch tiny`" in message


def test_names_the_alternatives(clean: Path) -> None:
    with pytest.raises(DatasetError, match=r"no dataset 'coar', nor a file .*; did you mean cora"):
        load_dataset("coar")
    with pytest.raises(DatasetError, match="no dataset 'coar'"):
        fetch("coar")


def test_a_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NGCN_DATA", str(tmp_path / "typo"))
    with pytest.raises(DatasetError, match=r"NGCN_DATA is set to .*typo, which is not a folder"):
        load_dataset("citeseer")
    assert load_dataset("cora").nodes == 2708  # needs no folder


def test_ppi_says_which_files_and_where(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "ppi", replace(DATASETS["ppi"], source=NOBODY + "ppi.zip"))
    for ask in (load_dataset, fetch):
        with pytest.raises(DatasetError) as raised:
            ask("ppi")
        for part in ("ppi-G.json", "ppi-feats.npy", "ppi-class_map.json", "ppi-id_map.json", "set NGCN_DATA"):
            assert part in str(raised.value)


def test_fetching_what_needs_no_files(clean: Path) -> None:
    assert (fetch("cora") / "cora.npz").is_file()
    with pytest.raises(DatasetError, match="nothing to fetch for ppi-synthetic"):
        fetch("ppi-synthetic")


def test_the_cache_is_where_the_system_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NGCN_CACHE", raising=False)
    assert catalog.cache_folder().is_absolute()
    assert "ngcn" in str(catalog.cache_folder())


def test_the_catalog_is_quick_to_import() -> None:
    check = """
import sys, ngcn
before = set(sys.modules)
import ngcn.data.catalog
print([name for name in ("numpy", "scipy", "torch", "pooch", "requests") if name in set(sys.modules) - before])
"""
    assert subprocess.check_output([sys.executable, "-c", check], text=True).strip() == "[]"

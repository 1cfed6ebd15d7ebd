"""PPI with labels that were put together again from the Gene Ontology. Its scores are close to PPI's, not equal."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ngcn.data.graphsage import standardised
from ngcn.data.parts import Block, Parts, both_ways
from ngcn.errors import DatasetError

FEATURES, LABELS = 50, 121


def read_rebuilt_ppi(folder: str | Path, name: str = "ppi-rebuilt") -> Parts:
    """Read ``topology.npz``, ``features.npz`` and ``labels.npz``, whose rows belong to the same nodes.

    Features and labels are packed bits. Features are standardised as those of PPI, see
    :func:`~ngcn.data.graphsage.read_graphsage`.
    """
    folder = Path(folder)
    try:
        arrays = [np.load(folder / f"{part}.npz", allow_pickle=False) for part in ("topology", "features", "labels")]
        topology, features, labels = arrays
        genes = [file["entrez"] for file in arrays]
        split, edges = topology["split"], topology["edges"]
        X = np.unpackbits(features["x_bits"], axis=1)[:, :FEATURES]
        y = np.unpackbits(labels["y_bits"], axis=1)[:, :LABELS]
        names = [str(term) for term in labels["go"]]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise DatasetError(f"The files of {name} in {folder} cannot be read: {error}.") from error
    if not all(np.array_equal(rows, genes[0]) for rows in genes):
        raise DatasetError(f"The files of {name} in {folder} do not fit together: their nodes differ.")
    return Parts(
        adjacency=both_ways(edges[:, 0], edges[:, 1], len(split)),
        features=[Block(standardised(X, split == 0))],
        labels=y,
        masks=(split == 0, split == 1, split == 2),
        class_names=names,
        name=name,
        source=str(folder),
        published=True,
    )

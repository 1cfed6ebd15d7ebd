"""A dataset of PPI's size and shape with synthetic features and labels. Its scores are not PPI results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ngcn.data.parts import Block, Parts, both_ways
from ngcn.errors import DatasetError

FEATURES, LABELS, DENSITY = 50, 121, 0.3  # as PPI has them
POWERS = 4  # the teacher uses powers 0 to 3
EDGES = 818_716
GRAPH_SIZES = (
    *(1554, 1388, 2273, 2349, 1587, 1835, 1029, 2500, 602, 3326, 2407, 1884, 1825, 3497, 2807, 2333, 2664, 3037, 2829),
    *(3180, 3210, 3304, 3214, 2310),
)
SPLIT = (20, 2, 2)  # graphs for training, validation and test


def make_ppi_like(topology: str | Path | None = None, name: str = "ppi-synthetic", *, seed: int = 0) -> Parts:
    r"""Generate random features, and labels that a multi-scale teacher assigns.

    Features X are standard normal. With T the row-stochastic adjacency with self-loops, label c of a node is 1
    where :math:`\sum_k m_{kc} \, \mathrm{standardise}(T^k X W_k)_c` is among the highest of all nodes; W is random, and
    m favours one power k for each label, so that no single scale explains all labels.

    Args:
        topology: an .npz file, or a folder with ``topology.npz``. It has ``edges`` (pairs of nodes, each edge once) and
            ``split`` (0 training, 1 validation, 2 test, for each node). If not given, a topology is generated.
        name, seed: the name of the graph, and the seed of all random draws.
    """
    random = np.random.default_rng(seed)
    edges, split = _generate_topology(random) if topology is None else _read_topology(Path(topology))
    nodes = len(split)
    adjacency = both_ways(edges[:, 0], edges[:, 1], nodes)
    X = random.standard_normal((nodes, FEATURES), np.float32)
    labels = _teach(adjacency, X, random)
    masks = (split == 0, split == 1, split == 2)
    return Parts(adjacency=adjacency, features=[Block(X)], labels=labels, masks=masks, name=name, published=True)


def _teach(adjacency: sp.csr_array, X: np.ndarray, random: np.random.Generator) -> np.ndarray:
    looped = adjacency + sp.eye_array(adjacency.shape[0], dtype=np.float32, format="csr")
    T = sp.csr_array(looped.multiply(1 / looped.sum(axis=1)[:, None]))
    m = random.dirichlet([0.5] * POWERS, LABELS).T.astype(np.float32)
    scores = np.zeros((len(X), LABELS), np.float32)
    for weights in m:
        seen = X @ random.standard_normal((FEATURES, LABELS), np.float32)
        scores += weights * (seen - seen.mean(axis=0)) / seen.std(axis=0)
        X = T @ X
    densities = random.permutation(np.linspace(0.05, 2 * DENSITY - 0.05, LABELS))  # some frequent, some rare
    thresholds = [np.quantile(score, 1 - density) for score, density in zip(scores.T, densities, strict=True)]
    return scores > np.array(thresholds, np.float32)


def _read_topology(path: Path) -> tuple[np.ndarray, np.ndarray]:
    path = path / "topology.npz" if path.is_dir() else path
    try:
        with np.load(path, allow_pickle=False) as file:
            return file["edges"], file["split"]
    except (OSError, ValueError, KeyError) as error:
        raise DatasetError(f"{path} cannot be read as a topology: {error}.") from error


def _generate_topology(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Generate Chung-Lu graphs with heavy-tailed degrees, of the sizes of PPI's graphs."""
    sizes = np.array(GRAPH_SIZES)
    starts = np.cumsum(sizes) - sizes
    counts = np.diff(np.round(EDGES * np.cumsum(sizes) / sizes.sum()), prepend=0).astype(int)
    parts = []
    for start, size, count in zip(starts, sizes, counts, strict=True):
        weight = random.lognormal(sigma=1.1, size=size)  # degrees have PPI's quantiles
        pairs = np.empty(0, np.int64)
        while len(pairs) < count:  # some pairs are drawn more than once
            ends = np.sort(random.choice(size, (2, count), p=weight / weight.sum()), axis=0)
            pairs = np.union1d(pairs, ends[0] * size + ends[1])
        parts.append(start + np.stack(np.divmod(random.choice(pairs, count, replace=False), size), axis=1))
    return np.concatenate(parts), np.repeat(np.repeat([0, 1, 2], SPLIT), sizes)

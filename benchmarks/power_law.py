"""A generated graph of any size: heavy-tailed degrees, and classes that take neighbourhoods of two sizes to tell.

python -m benchmarks.power_law FOLDER --edges 1e6                # nodes.parquet and edges.parquet
python -m benchmarks.power_law FOLDER --edges 1e6 --shuffle      # the same graph, its nodes in no useful order

Nodes form communities, and communities form regions. Both have one of four topics, and a node's class is the pair. Its
features are noise with a little of the topic of its community, and much less of that of its region: averages over close
neighbours tell the first, those over nodes several edges away the second.

Edges end in the community, in the region or anywhere; rank r in each of these is chosen with a probability that
is proportional to r^(-2/3), so that degrees have a power law with exponent 2.5. Some edges are repeated.

Nothing in memory grows with the graph but a topic for each community.
"""

from __future__ import annotations

import argparse
from math import gcd
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES, FEATURES, DEGREE = 16, 64, 10  # edges per node
TOPICS = 4
COMMUNITY, REGION = 16, 1280  # nodes
INSIDE, NEAR = 0.45, 0.3  # shares of edges that stay in the community, and in the region
SIGNAL = (1.2, 0.35)  # lengths of what a topic adds to the features, for community and region; noise has length 8
TRAIN, VAL, TEST = 0.007, 0.003, 0.1  # shares of the nodes; others have no label
CHUNK = 1 << 17  # rows that are made together


def write(
    folder: Path | str, edges: int, *, seed: int = 0, shuffle: bool = False, text_ids: bool = False
) -> tuple[Path, Path]:
    """Write nodes.parquet and edges.parquet; return their paths.

    Args:
        folder: where; it is created.
        edges: rows of the table of edges; there is a node for ten of them.
        seed: of all random draws.
        shuffle: put the nodes into an order that has nothing to do with communities.
        text_ids: ids such as "n17"; numbers otherwise.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    nodes = max(REGION, edges // DEGREE)
    # Row r of the table is node r * step of the model: a bijection, which needs no memory.
    step = _coprime(nodes, 0.382) if shuffle else 1
    topics = _topics(nodes, seed)
    means = _means(seed)
    with pq.ParquetWriter(folder / "nodes.parquet", _node_schema(text_ids), **_PLAIN) as writer:
        for at in range(0, nodes, CHUNK):
            rows = np.arange(at, min(nodes, at + CHUNK))
            writer.write_batch(_node_rows(rows, rows * step % nodes, topics, means, seed, text_ids))
    back, id_type = pow(step, -1, nodes), _id_type(text_ids)
    schema = pa.schema([("source", id_type), ("target", id_type)])
    with pq.ParquetWriter(folder / "edges.parquet", schema, compression="lz4", use_dictionary=False) as writer:
        for at in range(0, edges, CHUNK):
            ends = _ends(at, min(edges, at + CHUNK), edges, nodes, seed)
            columns = [_ids(end * back % nodes, text_ids) for end in ends]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return folder / "nodes.parquet", folder / "edges.parquet"


_PLAIN = {"compression": "none", "use_dictionary": False}  # noise cannot be compressed


def _random(seed: int, what: int, at: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, what, at])


def _coprime(number: int, share: float) -> int:
    """A number near this share of another, without a common divisor."""
    found = max(1, int(number * share))
    while gcd(found, number) > 1:
        found += 1
    return found


def _topics(nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The topics of all communities and of all regions."""
    random = _random(seed, 0)
    near, wide = (random.integers(TOPICS, size=-(-nodes // size)).astype(np.uint8) for size in (COMMUNITY, REGION))
    return near, wide


def _means(seed: int) -> list[np.ndarray]:
    """``(topics, features)`` what a topic of a community, and one of a region, adds to the features."""
    directions = np.linalg.qr(_random(seed, 1).standard_normal((FEATURES, 2 * TOPICS)))[0].T
    return [length * directions[i::2].astype(np.float32) for i, length in enumerate(SIGNAL)]


def _id_type(text_ids: bool) -> pa.DataType:
    return pa.string() if text_ids else pa.int64()


def _ids(numbers: np.ndarray, text_ids: bool) -> pa.Array:
    return pa.array(np.char.add("n", numbers.astype(str)) if text_ids else numbers, _id_type(text_ids))


def _node_schema(text_ids: bool) -> pa.Schema:
    features = [(f"x{column}", pa.float32()) for column in range(FEATURES)]
    return pa.schema([("id", _id_type(text_ids)), ("label", pa.string()), ("split", pa.string()), *features])


def _node_rows(
    rows: np.ndarray,
    nodes: np.ndarray,
    topics: tuple[np.ndarray, np.ndarray],
    means: list[np.ndarray],
    seed: int,
    text_ids: bool,
) -> pa.RecordBatch:
    random = _random(seed, 2, int(rows[0]))
    near, wide = topics[0][nodes // COMMUNITY], topics[1][nodes // REGION]
    X = random.standard_normal((FEATURES, len(rows)), np.float32)
    X += means[0].T[:, near] + means[1].T[:, wide]
    part = np.searchsorted(np.cumsum([TRAIN, VAL, TEST]), random.random(len(rows)), side="right")
    names = [f"class {number:02}" for number in range(CLASSES)]
    label = np.where(part < 3, near.astype(np.int64) * TOPICS + wide, -1)
    columns = [
        _ids(rows, text_ids),
        _named(label, names),
        _named(np.where(part < 3, part, -1), ["train", "val", "test"]),
    ]
    return pa.record_batch([*columns, *map(pa.array, X)], schema=_node_schema(text_ids))


def _named(numbers: np.ndarray, names: list[str]) -> pa.Array:
    """The names of these numbers; null for -1."""
    return pa.array(names).take(pa.array(numbers, mask=numbers < 0))


def _ends(start: int, stop: int, edges: int, nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some of the edges. Their sources are close to each other, as in files that are sorted by source."""
    random = _random(seed, 3, start)
    places = random.integers(start, stop, size=stop - start)
    source = (places.astype(np.float64) * nodes / edges).astype(np.int64)
    where = random.random(len(source))
    anywhere = where >= INSIDE + NEAR
    size = np.where(anywhere, nodes, np.where(where < INSIDE, COMMUNITY, REGION))
    first = np.where(anywhere, 0, source // size * size)
    rank = (np.minimum(size, nodes - first) * random.random(len(source)) ** 3).astype(np.int64)  # the last are smaller
    popular = rank * _coprime(nodes, 0.618) % nodes  # the most popular nodes of all are in different regions
    return source, np.where(anywhere, popular, first + rank)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--edges", type=float, default=1e6)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--shuffle", action="store_true")
    arguments.add_argument("--text-ids", action="store_true")
    given = arguments.parse_args()
    nodes, edges = write(
        given.folder, int(given.edges), seed=given.seed, shuffle=given.shuffle, text_ids=given.text_ids
    )
    print(f"{nodes} and {edges}: {pq.read_metadata(nodes).num_rows:,} nodes, {int(given.edges):,} edges")


if __name__ == "__main__":
    main()
